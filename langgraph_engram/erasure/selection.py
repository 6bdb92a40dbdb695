"""Say what goes when something is forgotten: a pure function of what is kept and of what is asked for.

A record goes with any turn that it rests on, and with any words that only forgotten turns of its session say: models
read a turn beside its neighbours. What was made of it goes too; what a record that is forgotten by itself was made of
goes with it, for it says the same. This module does not know what becomes of the rest.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langgraph_engram.erasure.target import WHERE, Target, turns_meant
from langgraph_engram.errors import InvalidInput
from langgraph_engram.language.tokens import content_stems
from langgraph_engram.schema import Boundary, Decision, Event, Pending, Record, Synthesis, Turn
from langgraph_engram.stores.kinds import BOUNDARIES, DECISIONS, EVENTS, PENDINGS, RECORDS, SYNTHESES, TURNS, Kind
from langgraph_engram.stores.scope_index import ScopeIndex

ORDER: tuple[Kind[Any], ...] = (SYNTHESES, DECISIONS, RECORDS, BOUNDARIES, EVENTS, PENDINGS, TURNS)
"""The order in which things go: what the choice rests on goes last, so that one that is cut off can be made again."""


@dataclass(frozen=True)
class Held:
    """What is kept of a scope."""

    index: ScopeIndex
    decisions: Sequence[Decision]
    pendings: Sequence[Pending]


@dataclass(frozen=True)
class Gone:
    """What goes, whole."""

    turns: Sequence[Turn] = ()
    events: Sequence[Event] = ()
    boundaries: Sequence[Boundary] = ()
    records: Sequence[Record] = ()
    syntheses: Sequence[Synthesis] = ()
    decisions: Sequence[Decision] = ()
    pendings: Sequence[Pending] = ()
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


def what_goes(held: Held, target: Target) -> Gone:
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


def _everything(held: Held) -> Gone:
    index = held.index
    return Gone(
        turns=index.turns.items,
        events=index.events.items,
        boundaries=index.boundaries.items,
        records=index.records.items,
        syntheses=index.syntheses.items,
        decisions=held.decisions,
        pendings=held.pendings,
    )


def _require_known(held: Held, session_id: str) -> None:
    shelves = (held.index.turns, held.index.events, held.index.boundaries, held.index.records)
    known = any(shelf.in_session(session_id) for shelf in shelves)
    if not known and all(one.session_id != session_id for one in held.pendings):
        raise InvalidInput(f"unknown session {session_id!r}: {WHERE.format('turns')}")


def _without_record(held: Held, record_id: str) -> Gone:
    records = {one.record_id: one for one in held.index.records.items}
    if record_id not in records:
        raise InvalidInput(f"unknown record {record_id!r}: {WHERE.format('records')}")
    gone = made_from(with_parts(record_id, records), records)
    drawn = {turn_id for one in gone for turn_id in records[one].source_turn_ids}
    events = {records[one].event_id for one in gone}
    undrawn = [one for one in held.pendings if one.step == "extract" and not drawn.isdisjoint(one.turn_ids)]
    last = [one for one in gone if one != record_id] + [record_id]
    return Gone(
        records=[records[one] for one in last],
        syntheses=_syntheses(held.index, set(gone), events),
        decisions=_decisions(held.decisions, set(gone)),
        pendings=undrawn,
    )


def _without_turns(held: Held, turns: Sequence[Turn], session_id: str | None) -> Gone:
    """Choose what goes with turns, and with a session that goes whole."""
    index = held.index
    ids = {turn.turn_id for turn in turns}
    words = Gone(words=words_lost(index, turns))
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
    return Gone(
        turns=turns,
        events=events,
        boundaries=[
            one for one in index.boundaries.items if one.session_id == session_id or one.to_event_id in without
        ],
        records=[records[one] for one in gone],
        syntheses=_syntheses(index, set(gone), touched),
        decisions=_decisions(held.decisions, set(gone)),
        pendings=[one for one in held.pendings if one.session_id == session_id or not ids.isdisjoint(one.turn_ids)],
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
