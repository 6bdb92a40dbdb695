"""Say what goes when something is forgotten: a pure function of what is kept and of what is asked for.

A record goes with any turn that it rests on, and with any words that only forgotten turns of its session say: models
read a turn beside its neighbours. What was made of it goes too; what a record that is forgotten by itself was made of
goes with it, for it says the same. This module does not know what becomes of the rest.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langgraph_engram.errors import InvalidInput
from langgraph_engram.formats.requests import check_name
from langgraph_engram.schema import Boundary, Decision, Event, PendingTask, Record, Synthesis, Turn
from langgraph_engram.stores.index import (
    BOUNDARIES,
    DECISIONS,
    EVENTS,
    PENDING_TASKS,
    RECORDS,
    SYNTHESES,
    TURNS,
    Kind,
    ScopeIndex,
)
from langgraph_engram.text.tokens import content_stems

WHERE = "`engram show --user USER --kind {} --json` lists the ids"


@dataclass(frozen=True)
class Target:
    """What is asked for, as it was named; nothing named is all of the scope."""

    session_id: str | None = None
    turn_id: str | None = None
    """Our id of a turn, or the one it has in its source."""
    record_id: str | None = None

    @property
    def is_everything(self) -> bool:
        """Say whether all of the scope is asked for."""
        return self.session_id is None and self.turn_id is None and self.record_id is None


def make_target(session_id: object, turn_id: object, record_id: object) -> Target:
    """Check what a caller names.

    Raises:
        InvalidInput: A name is none, or a record is named beside a session or a turn.
    """
    given = {"session_id": session_id, "turn_id": turn_id, "record_id": record_id}
    named = {name: check_name(name, value) for name, value in given.items() if value is not None}
    if "record_id" in named and len(named) > 1:
        raise InvalidInput("a record is named beside a session or a turn: forget one of them, then the other")
    return Target(**named)


def turns_meant(target: Target, index: ScopeIndex) -> list[Turn]:
    """Give the turns that a session or a turn is named for; none for a record.

    Raises:
        InvalidInput: No such turn is kept here, or several sessions have one of that name in their source.
    """
    if target.record_id is not None:
        return []
    turns = index.turns.items if target.session_id is None else index.turns.in_session(target.session_id)
    if target.turn_id is None:
        return list(turns)
    found = [one for one in turns if target.turn_id in (one.turn_id, one.external_id)]
    if not found:
        where = "" if target.session_id is None else f" in session {target.session_id!r}"
        raise InvalidInput(f"unknown turn {target.turn_id!r}{where}: {WHERE.format('turns')}")
    if len(found) > 1:
        sessions = ", ".join(repr(one.session_id) for one in found)
        raise InvalidInput(f"several turns are called {target.turn_id!r}: name the session too, one of {sessions}")
    return found


ORDER: tuple[Kind[Any], ...] = (SYNTHESES, DECISIONS, RECORDS, BOUNDARIES, EVENTS, PENDING_TASKS, TURNS)
"""The order in which things go: what the choice rests on goes last, so that one that is cut off can be made again."""


@dataclass(frozen=True)
class StoredScope:
    """What is kept of a scope."""

    index: ScopeIndex
    decisions: Sequence[Decision]
    pending_tasks: Sequence[PendingTask]


@dataclass(frozen=True)
class Erased:
    """What goes, whole."""

    turns: Sequence[Turn] = ()
    events: Sequence[Event] = ()
    boundaries: Sequence[Boundary] = ()
    records: Sequence[Record] = ()
    syntheses: Sequence[Synthesis] = ()
    decisions: Sequence[Decision] = ()
    pending_tasks: Sequence[PendingTask] = ()
    words: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By session, the stems that only forgotten turns of it hold."""

    def ids(self) -> dict[str, list[str]]:
        """Give the ids of what goes, by the name of its kind, in the order in which it goes."""
        return {kind.name: [kind.id_of(one) for one in getattr(self, kind.name)] for kind in ORDER}

    def texts(self) -> set[str]:
        """Give what was said and drawn in what goes, word for word: a narrative may well tell what is left."""
        said = [text for turn in self.turns for text in (turn.text, *turn.captions)]
        return {text for text in (*said, *(one.content for one in self.records)) if text.strip()}

    def echoes(self, session_id: str, texts: Iterable[str]) -> bool:
        """Say whether texts of a session hold a word that only forgotten turns of it said."""
        only = self.words.get(session_id, frozenset())
        return bool(only) and not only.isdisjoint(stem for text in texts for stem in content_stems(text))


def select_erased(held: StoredScope, target: Target) -> Erased:
    """Choose what goes.

    Raises:
        InvalidInput: What is named is not kept here.
    """
    if target.is_everything:
        return _everything(held)
    if target.record_id is not None:
        return _without_record(held, target.record_id)
    turns = turns_meant(target, held.index)
    if target.turn_id is None and target.session_id is not None:
        _require_known(held, target.session_id)
        return _without_turns(held, turns, target.session_id)
    return _without_turns(held, turns, None)


def _everything(held: StoredScope) -> Erased:
    index = held.index
    return Erased(
        turns=index.turns.items,
        events=index.events.items,
        boundaries=index.boundaries.items,
        records=index.records.items,
        syntheses=index.syntheses.items,
        decisions=held.decisions,
        pending_tasks=held.pending_tasks,
    )


def _require_known(held: StoredScope, session_id: str) -> None:
    shelves = (held.index.turns, held.index.events, held.index.boundaries, held.index.records)
    known = any(shelf.in_session(session_id) for shelf in shelves)
    if not known and all(one.session_id != session_id for one in held.pending_tasks):
        raise InvalidInput(f"unknown session {session_id!r}: {WHERE.format('turns')}")


def _without_record(held: StoredScope, record_id: str) -> Erased:
    records = {one.record_id: one for one in held.index.records.items}
    if record_id not in records:
        raise InvalidInput(f"unknown record {record_id!r}: {WHERE.format('records')}")
    gone = made_from(with_parts(record_id, records), records)
    drawn = {turn_id for one in gone for turn_id in records[one].source_turn_ids}
    events = {records[one].event_id for one in gone}
    undrawn = [one for one in held.pending_tasks if one.step == "extract" and not drawn.isdisjoint(one.turn_ids)]
    last = [one for one in gone if one != record_id] + [record_id]
    return Erased(
        records=[records[one] for one in last],
        syntheses=_syntheses(held.index, set(gone), events),
        decisions=_decisions(held.decisions, set(gone)),
        pending_tasks=undrawn,
    )


def _without_turns(held: StoredScope, turns: Sequence[Turn], session_id: str | None) -> Erased:
    """Choose what goes with turns, and with a session that goes whole."""
    index = held.index
    ids = {turn.turn_id for turn in turns}
    words = Erased(words=words_lost(index, turns))
    records = {one.record_id: one for one in index.records.items}
    first = {
        one.record_id
        for one in records.values()
        if one.session_id == session_id
        or not ids.isdisjoint(one.source_turn_ids)
        or words.echoes(one.session_id, texts_of(one))
    }
    gone = made_from(first, records)
    events = [one for one in index.events.items if one.session_id == session_id or ids.issuperset(one.turn_ids)]
    touched = {one.event_id for one in index.events.items if not ids.isdisjoint((*one.turn_ids, *one.context_turn_ids))}
    touched |= {records[one].event_id for one in gone}
    without = {one.event_id for one in events}
    return Erased(
        turns=turns,
        events=events,
        boundaries=[
            one for one in index.boundaries.items if one.session_id == session_id or one.to_event_id in without
        ],
        records=[records[one] for one in gone],
        syntheses=_syntheses(index, set(gone), touched),
        decisions=_decisions(held.decisions, set(gone)),
        pending_tasks=[
            one for one in held.pending_tasks if one.session_id == session_id or not ids.isdisjoint(one.turn_ids)
        ],
        words=words.words,
    )


def words_lost(index: ScopeIndex, turns: Sequence[Turn]) -> dict[str, frozenset[str]]:
    """Give, by session, the content stems that these turns hold and no other turn of their session does."""
    ids = {turn.turn_id for turn in turns}
    lost: dict[str, frozenset[str]] = {}
    for session_id in dict.fromkeys(turn.session_id for turn in turns):
        left = {one for turn in index.turns.in_session(session_id) if turn.turn_id not in ids for one in _stems(turn)}
        said = {one for turn in turns if turn.session_id == session_id for one in _stems(turn)}
        lost[session_id] = frozenset(said - left)
    return lost


def texts_of(record: Record) -> list[str]:
    """Give what a record says, in all its dimensions."""
    return [record.indexed_text, record.time_text, record.location, record.reject_reason, *record.keywords]


def made_from(first: Iterable[str], records: Mapping[str, Record]) -> list[str]:
    """Give ids of records with those of all that was merged of them, however often."""
    gone = dict.fromkeys(first)
    while further := [
        one for one, record in records.items() if one not in gone and not gone.keys().isdisjoint(record.derived_from)
    ]:
        gone |= dict.fromkeys(further)
    return list(gone)


def with_parts(record_id: str, records: Mapping[str, Record]) -> list[str]:
    """Give a record's id with those of all that it was merged of, however often."""
    found, left = {record_id: None}, [record_id]
    while left:
        parts = [one for one in records[left.pop()].derived_from if one in records and one not in found]
        found |= dict.fromkeys(parts)
        left += parts
    return list(found)


def _syntheses(index: ScopeIndex, records: set[str], events: set[str]) -> list[Synthesis]:
    """Give the syntheses that tell one of these records, or go back to one of these events."""
    return [
        one
        for one in index.syntheses.items
        if not records.isdisjoint(one.covered_record_ids) or not events.isdisjoint(one.seed_event_ids)
    ]


def _decisions(trail: Sequence[Decision], records: set[str]) -> list[Decision]:
    return [one for one in trail if not records.isdisjoint((*one.pair, one.result_id or ""))]


def _stems(turn: Turn) -> list[str]:
    return content_stems(turn.indexed_text)
