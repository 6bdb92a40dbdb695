"""Select what is erased when something is forgotten: a pure function of what is stored and of the target.

A record is erased with any turn that it cites, and if it contains words that only forgotten turns of its session said:
models read a turn beside its neighbours. Records merged from it are erased too. If a single record is forgotten, the
records that it was merged from are erased with it, because they say the same.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from langgraph_engram.errors import InvalidInput
from langgraph_engram.inspection import find_one
from langgraph_engram.lineage import merged_from, reached
from langgraph_engram.pending import stored_turns
from langgraph_engram.requests import check_name
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


@dataclass(frozen=True)
class Target:
    """What is to be forgotten; without any id, everything of the scope."""

    session_id: str | None = None
    turn_id: str | None = None
    """The id of a turn, or its external id."""
    record_id: str | None = None
    left: frozenset[str] | None = None
    """The ids of the turns of an erasure that was cut off, in place of those names."""

    @property
    def is_everything(self) -> bool:
        """Whether everything of the scope is to be forgotten."""
        return self == Target()

    def of_whole_id(self, index: ScopeIndex) -> "Target":
        """Return the target with the whole id of its record."""
        if self.record_id is None:
            return self
        return replace(self, record_id=find_one(index.records, self.record_id).record_id)


def make_target(session_id: object, turn_id: object, record_id: object) -> Target:
    """Return a target of valid ids."""
    values = {"session_id": session_id, "turn_id": turn_id, "record_id": record_id}
    ids = {name: check_name(name, value) for name, value in values.items() if value is not None}
    if "record_id" in ids and len(ids) > 1:
        raise InvalidInput("a record is named beside a session or a turn: forget one of them, then the other")
    return Target(ids.get("session_id"), ids.get("turn_id"), ids.get("record_id"))


ERASURE_ORDER: tuple[Kind[Any], ...] = (PENDING_TASKS, SYNTHESES, DECISIONS, RECORDS, BOUNDARIES, EVENTS, TURNS)
"""The order of erasure: what the selection depends on goes last, so that an interrupted erasure can be repeated."""


@dataclass(frozen=True)
class StoredScope:
    """What is stored for a scope."""

    index: ScopeIndex
    decisions: Sequence[Decision]
    pending_tasks: Sequence[PendingTask]
    """All but those to forget something."""


@dataclass(frozen=True)
class Erased:
    """Everything that is erased."""

    turns: Sequence[Turn] = ()
    events: Sequence[Event] = ()
    boundaries: Sequence[Boundary] = ()
    records: Sequence[Record] = ()
    syntheses: Sequence[Synthesis] = ()
    decisions: Sequence[Decision] = ()
    pending_tasks: Sequence[PendingTask] = ()
    lost_stems: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By session, the content stems that only erased turns of it contain."""

    def ids(self) -> dict[str, list[str]]:
        """Return the ids by the name of their kind, in the order of erasure."""
        return {kind.name: [kind.id_of(item) for item in getattr(self, kind.name)] for kind in ERASURE_ORDER}

    @cached_property
    def turn_ids(self) -> frozenset[str]:
        """The ids of the erased turns."""
        return frozenset(turn.turn_id for turn in self.turns)

    @cached_property
    def record_ids(self) -> frozenset[str]:
        """The ids of the erased records."""
        return frozenset(record.record_id for record in self.records)

    def texts(self) -> set[str]:
        """Return the texts of erased turns and records. Those of syntheses may be about what is left."""
        turns = [text for turn in self.turns for text in (turn.text, *turn.captions)]
        return {text for text in (*turns, *(record.content for record in self.records)) if text.strip()}

    def is_repeated_in(self, session_id: str, texts: Iterable[str]) -> bool:
        """Return whether texts of a session contain a word that only erased turns of it said."""
        lost = self.lost_stems.get(session_id, frozenset())
        return bool(lost) and not lost.isdisjoint(stem for text in texts for stem in content_stems(text))


def select_erased(stored: StoredScope, target: Target) -> Erased:
    """Select what is erased."""
    if target.is_everything:
        return _select_everything(stored)
    if target.record_id is not None:
        return _select_record(stored, target.record_id)
    if target.left is not None:
        return _select_turns(stored, stored_turns(stored.index, list(target.left)), None, target.left)
    turns = _target_turns(target, stored.index)
    if target.turn_id is None and target.session_id is not None:
        _require_session(stored, target.session_id)
        return _select_turns(stored, turns, target.session_id)
    return _select_turns(stored, turns, None)


def _target_turns(target: Target, index: ScopeIndex) -> list[Turn]:
    """Return the turns of the session, or those with the id, that a target names."""
    turns = index.turns.items if target.session_id is None else index.turns.in_session(target.session_id)
    if target.turn_id is None:
        return list(turns)
    found = [turn for turn in turns if target.turn_id in (turn.turn_id, turn.external_id)]
    if not found:
        found = [find_one(index.turns, target.turn_id)]
        if target.session_id not in (None, found[0].session_id):
            raise InvalidInput(f"turn {target.turn_id!r} is of session {found[0].session_id!r}: name that one, or none")
    if len(found) > 1:
        sessions = ", ".join(repr(turn.session_id) for turn in found)
        raise InvalidInput(f"several turns are called {target.turn_id!r}: name the session too, one of {sessions}")
    return found


def _select_everything(stored: StoredScope) -> Erased:
    index = stored.index
    return Erased(
        turns=index.turns.items,
        events=index.events.items,
        boundaries=index.boundaries.items,
        records=index.records.items,
        syntheses=index.syntheses.items,
        decisions=stored.decisions,
        pending_tasks=stored.pending_tasks,
    )


def _require_session(stored: StoredScope, session_id: str) -> None:
    index = stored.index
    known = any(kind.in_session(session_id) for kind in (index.turns, index.events, index.boundaries, index.records))
    if not known and all(task.session_id != session_id for task in stored.pending_tasks):
        raise InvalidInput(
            f"unknown session {session_id!r}",
            command="`engram show --user USER --kind turns --json` lists the sessions",
        )


def _select_record(stored: StoredScope, record_id: str) -> Erased:
    """Select what is erased with a record."""
    records = {record.record_id: record for record in stored.index.records.items}
    parts = reached([record_id], lambda key: [part for part in records[key].derived_from if part in records])
    gone = _with_merged(parts, records)
    cited = {turn_id for gone_id in gone for turn_id in records[gone_id].source_turn_ids}
    to_extract = [
        task for task in stored.pending_tasks if task.step == "extract" and not cited.isdisjoint(task.turn_ids)
    ]
    target_last = [gone_id for gone_id in gone if gone_id != record_id] + [record_id]
    return Erased(
        records=[records[gone_id] for gone_id in target_last],
        syntheses=_affected_syntheses(stored.index, set(gone), {records[gone_id].event_id for gone_id in gone}),
        decisions=_affected_decisions(stored.decisions, set(gone)),
        pending_tasks=to_extract,
    )


def _select_turns(
    stored: StoredScope, turns: Sequence[Turn], session_id: str | None, gone: Iterable[str] = ()
) -> Erased:
    """Select what is erased with turns, and with a whole session where one is named; `gone` may be erased already."""
    index = stored.index
    ids = {turn.turn_id for turn in turns}.union(gone)
    by_stems = Erased(lost_stems=_lost_stems(index, turns))
    records = {record.record_id: record for record in index.records.items}
    direct = {
        record.record_id
        for record in records.values()
        if record.session_id == session_id
        or not ids.isdisjoint(record.source_turn_ids)
        or by_stems.is_repeated_in(record.session_id, _texts_of(record))
    }
    erased = _with_merged(direct, records)
    events = [event for event in index.events.items if event.session_id == session_id or ids.issuperset(event.turn_ids)]
    event_ids = {event.event_id for event in events}
    changed = {
        event.event_id for event in index.events.items if not ids.isdisjoint((*event.turn_ids, *event.context_turn_ids))
    }
    return Erased(
        turns=turns,
        events=events,
        boundaries=[
            boundary
            for boundary in index.boundaries.items
            if boundary.session_id == session_id or boundary.to_event_id in event_ids
        ],
        records=[records[record_id] for record_id in erased],
        syntheses=_affected_syntheses(index, {*erased}, changed | {records[key].event_id for key in erased}),
        decisions=_affected_decisions(stored.decisions, {*erased}),
        pending_tasks=[
            task for task in stored.pending_tasks if task.session_id == session_id or not ids.isdisjoint(task.turn_ids)
        ],
        lost_stems=by_stems.lost_stems,
    )


def _lost_stems(index: ScopeIndex, turns: Sequence[Turn]) -> dict[str, frozenset[str]]:
    """Return, by session, the content stems that these turns contain and no other turn of their session does."""
    ids = {turn.turn_id for turn in turns}
    lost: dict[str, frozenset[str]] = {}
    for session_id in dict.fromkeys(turn.session_id for turn in turns):
        session = index.turns.in_session(session_id)
        left = {stem for turn in session if turn.turn_id not in ids for stem in content_stems(turn.indexed_text)}
        gone = {stem for turn in turns if turn.session_id == session_id for stem in content_stems(turn.indexed_text)}
        lost[session_id] = frozenset(gone - left)
    return lost


def _texts_of(record: Record) -> list[str]:
    return [record.indexed_text, record.time_text, record.location, record.reject_reason, *record.keywords]


def _with_merged(record_ids: Iterable[str], records: Mapping[str, Record]) -> list[str]:
    """Return ids of records with those of all records merged from them, directly or not."""
    merged = merged_from(records.values())
    return reached(record_ids, lambda key: merged.get(key, ()))


def _affected_syntheses(index: ScopeIndex, records: set[str], events: set[str]) -> list[Synthesis]:
    """Return the syntheses that cover one of these records or start from one of these events."""
    return [
        synthesis
        for synthesis in index.syntheses.items
        if not records.isdisjoint(synthesis.covered_record_ids) or not events.isdisjoint(synthesis.seed_event_ids)
    ]


def _affected_decisions(decisions: Sequence[Decision], records: set[str]) -> list[Decision]:
    return [decision for decision in decisions if not records.isdisjoint((*decision.pair, decision.result_id or ""))]
