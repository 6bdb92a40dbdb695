"""Select what is erased when something is forgotten, and repair what is left: pure functions of what is stored.

A record is erased with any turn that it cites, and if it contains words that only forgotten turns of its session said:
models read a turn beside its neighbours. Records merged from it are erased too. If a single record is forgotten, the
records that it was merged from are erased with it, because they say the same. What is left is repaired.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from langgraph_engram.branches import way_to
from langgraph_engram.consolidation.merging import as_active, as_superseded, without_conflicts
from langgraph_engram.errors import InvalidInput
from langgraph_engram.history import find_one
from langgraph_engram.pending import UNFINISHED, is_cut_off, pending_tasks_by_session, stored_turns
from langgraph_engram.requests import check_name
from langgraph_engram.schema import Boundary, Decision, Event, PendingTask, Record, Turn, reached
from langgraph_engram.segmentation.events import name_by_keywords, relink_boundary
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.stores.kinds import EVENTS, SEARCHABLE, UNSEARCHED, Kind, ScopeItems
from langgraph_engram.text.words import content_stems

PART_FORGOTTEN = "a part of what it rested on was forgotten"


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
        named = self.record_id
        return self if named is None else replace(self, record_id=find_one(index.records, named).record_id)


def make_target(session_id: object, turn_id: object, record_id: object) -> Target:
    """Return a target of valid ids."""
    values = {"session_id": session_id, "turn_id": turn_id, "record_id": record_id}
    ids = {name: check_name(name, value) for name, value in values.items() if value is not None}
    if "record_id" in ids and len(ids) > 1:
        raise InvalidInput("a record is named beside a session or a turn: forget one of them, then the other")
    return Target(ids.get("session_id"), ids.get("turn_id"), ids.get("record_id"))


@dataclass(frozen=True)
class StoredScope:
    """What is stored for a scope."""

    index: ScopeIndex
    decisions: Sequence[Decision]
    pending_tasks: Sequence[PendingTask]
    """All but those to forget something."""


@dataclass(frozen=True)
class Erased(ScopeItems):
    """Everything that is erased."""

    lost_stems: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By session, the content stems that only erased turns of it contain."""

    def ids(self) -> dict[str, list[str]]:
        """Return the ids by the name of their kind, in the order of erasure.

        What the selection depends on goes last, so that an interrupted erasure can be repeated.
        """
        order: tuple[Kind[Any], ...] = (*UNSEARCHED, *reversed(SEARCHABLE))
        return {kind.name: [kind.id_of(item) for item in getattr(self, kind.name)] for kind in order}

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
    index = stored.index
    if target.is_everything:
        kinds: dict[str, Any] = {kind.name: index.of_kind(kind).items for kind in SEARCHABLE}
        return Erased(**kinds, decisions=stored.decisions, pending_tasks=stored.pending_tasks)
    if target.record_id is not None:
        return _select_record(stored, target.record_id)
    if target.left is not None:
        return _select_turns(stored, stored_turns(index, target.left), None, target.left)
    if target.turn_id is not None:
        return _select_turns(stored, _turns_called(target.turn_id, target.session_id, index), None)
    session_id = str(target.session_id)
    kinds_of_session = (index.turns, index.events, index.boundaries, index.records)
    known = any(kind.in_session(session_id) for kind in kinds_of_session)
    if not known and all(task.session_id != session_id for task in stored.pending_tasks):
        raise InvalidInput(
            f"unknown session {session_id!r}",
            command="`engram show --user USER --kind turns --json` lists the sessions",
        )
    return _select_turns(stored, index.turns.in_session(session_id), session_id)


def _turns_called(turn_id: str, session_id: str | None, index: ScopeIndex) -> list[Turn]:
    """Return the turn of an id or an external id, of a session where one is named."""
    turns = index.turns.items if session_id is None else index.turns.in_session(session_id)
    found = [turn for turn in turns if turn_id in (turn.turn_id, turn.external_id)]
    if not found:
        found = [find_one(index.turns, turn_id)]
        if session_id not in (None, found[0].session_id):
            raise InvalidInput(f"turn {turn_id!r} is of session {found[0].session_id!r}: name that one, or none")
    if len(found) > 1:
        sessions = ", ".join(repr(turn.session_id) for turn in found)
        raise InvalidInput(f"several turns are called {turn_id!r}: name the session too, one of {sessions}")
    return found


def _select_record(stored: StoredScope, record_id: str) -> Erased:
    """Select what is erased with a record, which goes last."""
    records = {record.record_id: record for record in stored.index.records.items}
    parts = reached([record_id], lambda key: [part for part in records[key].derived_from if part in records])
    gone = _with_merged(parts, records)
    cited = _cited(gone)
    tasks = [task for task in stored.pending_tasks if task.step == "extract" and not cited.isdisjoint(task.turn_ids)]
    target_last = sorted(gone, key=lambda record: record.record_id == record_id)
    return _with_records(Erased(pending_tasks=tasks), stored, target_last)


def _select_turns(
    stored: StoredScope, turns: Sequence[Turn], session_id: str | None, gone: Iterable[str] = ()
) -> Erased:
    """Select what is erased with turns, and with a whole session where one is named; `gone` may be erased already."""
    index = stored.index
    ids = {turn.turn_id for turn in turns}.union(gone)
    events = [event for event in index.events.items if event.session_id == session_id or ids.issuperset(event.turn_ids)]
    event_ids = {event.event_id for event in events}
    erased = Erased(
        turns=turns,
        events=events,
        boundaries=[
            boundary
            for boundary in index.boundaries.items
            if boundary.session_id == session_id or boundary.to_event_id in event_ids
        ],
        pending_tasks=[
            task for task in stored.pending_tasks if task.session_id == session_id or not ids.isdisjoint(task.turn_ids)
        ],
        lost_stems=_lost_stems(index, turns),
    )
    records = {record.record_id: record for record in index.records.items}
    direct = {
        record.record_id
        for record in records.values()
        if record.session_id == session_id
        or not ids.isdisjoint(record.source_turn_ids)
        or erased.is_repeated_in(
            record.session_id,
            [record.indexed_text, record.time_text, record.location, record.reject_reason, *record.keywords],
        )
    }
    changed = [event.event_id for event in index.events.items if not ids.isdisjoint(_turn_ids_of(event))]
    return _with_records(erased, stored, _with_merged(direct, records), changed)


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


def _with_merged(record_ids: Iterable[str], records: Mapping[str, Record]) -> list[Record]:
    """Return records by id, with all that were merged from them, directly or not."""
    merged: defaultdict[str, list[str]] = defaultdict(list)
    for record in records.values():
        for part in record.derived_from:
            merged[part].append(record.record_id)
    return [records[record_id] for record_id in reached(record_ids, lambda key: merged.get(key, ()))]


def _with_records(
    erased: Erased, stored: StoredScope, records: Sequence[Record], changed_event_ids: Iterable[str] = ()
) -> Erased:
    """Add records, and the syntheses and decisions that rest on them, or on events that change."""
    ids, event_ids = {record.record_id for record in records}, {record.event_id for record in records}
    event_ids.update(changed_event_ids)
    return replace(
        erased,
        records=records,
        syntheses=[
            synthesis
            for synthesis in stored.index.syntheses.items
            if not ids.isdisjoint(synthesis.covered_record_ids) or not event_ids.isdisjoint(synthesis.seed_event_ids)
        ],
        decisions=[
            decision for decision in stored.decisions if not ids.isdisjoint((*decision.pair, decision.result_id or ""))
        ],
    )


def _turn_ids_of(event: Event) -> tuple[str, ...]:
    return (*event.turn_ids, *event.context_turn_ids)


def _cited(records: Iterable[Record]) -> set[str]:
    return {turn_id for record in records for turn_id in record.source_turn_ids}


@dataclass(frozen=True)
class Cleanup:
    """Repair what is left of a scope: events, boundaries, records and pending tasks that depended on what is erased."""

    stored: StoredScope
    erased: Erased
    run_id: str
    """The run id of new pending tasks."""

    def turns(self) -> list[Turn]:
        """Return the turns of threads that were said after an erased one, after what that was said after itself."""
        index, lost = self.stored.index, self.erased.turn_ids
        left = (turn for turn in index.turns.items if turn.after in lost and turn.turn_id not in lost)
        ways = ((turn, (up.turn_id for up in way_to(index, turn.after) if up.turn_id not in lost)) for turn in left)
        return [turn.model_copy(update={"after": next(way, "")}) for turn, way in ways]

    def events(self) -> list[Event]:
        """Return the events that lose a turn or whose titles repeat erased words, as they are without it."""
        lost = self.erased.turn_ids
        return [
            without_turns(self.stored.index, event, lost)
            for event in self._remaining_events()
            if not lost.isdisjoint(_turn_ids_of(event))
            or self.erased.is_repeated_in(event.session_id, [event.summary, *event.topics, *event.keywords])
        ]

    def boundaries(self, events: Sequence[Event]) -> list[Boundary]:
        """Return the boundaries beside what is erased or changed, described with the current titles of events."""
        index, erased = self.stored.index, {boundary.boundary_id for boundary in self.erased.boundaries}
        current = {event.event_id: event for event in [*self._remaining_events(), *events]}
        changed = {event.event_id for event in (*events, *self.erased.events)}
        described: list[Boundary] = []
        for boundary in index.boundaries.items:
            earlier_id, later = boundary.from_event_id or "", current.get(boundary.to_event_id)
            if boundary.boundary_id in erased or later is None:
                continue
            is_beside = not changed.isdisjoint((earlier_id, later.event_id))
            if is_beside or self.erased.is_repeated_in(boundary.session_id, [boundary.text]):
                earlier = current.get(earlier_id) or _event_before(later, current.values())
                described.append(relink_boundary(index, boundary, earlier, later))
        return described

    def records(self) -> list[Record]:
        """Return the records that an erased record superseded, active again, and those that it was in conflict with.

        Where the erased record was superseded itself, they stay superseded by its successor.
        """
        erased = {record.record_id: record for record in self.erased.records}
        left = [record for record in self.stored.index.records.items if record.record_id not in erased]
        return [
            without_conflicts(self._restored(record, erased) if record.superseded_by in erased else record, erased)
            for record in left
            if record.superseded_by in erased or not erased.keys().isdisjoint(record.conflicts_with)
        ]

    def pending_tasks(self, restored: Sequence[Record]) -> list[PendingTask]:
        """Return the steps to repeat for the turns that are left, and those that were pending already."""
        parts = {part for record in self.erased.records for part in record.derived_from}
        unmerged = [record for record in restored if record.status == "active" and record.record_id in parts]
        covered = {record_id for synthesis in self.erased.syntheses for record_id in synthesis.covered_record_ids}
        not_merged = [record for record in self.erased.records if not record.derived_from]  # parts of a merge come back
        uncovered = [self.stored.index.records.get(record_id) for record_id in covered - self.erased.record_ids]
        return [
            *self._still_pending(),
            *self._enqueue(_cited(not_merged) if self.erased.turns else (), "extract"),
            *self._enqueue(_cited(unmerged), "consolidate"),
            *self._enqueue(_cited(record for record in uncovered if record), "synthesize"),
        ]

    def _remaining_events(self) -> list[Event]:
        erased = {event.event_id for event in self.erased.events}
        return [event for event in self.stored.index.events.items if event.event_id not in erased]

    def _restored(self, record: Record, erased: Mapping[str, Record]) -> Record:
        successor_id, seen = record.superseded_by or "", {record.record_id}
        while successor_id in erased and successor_id not in seen:
            seen.add(successor_id)
            successor_id = erased[successor_id].superseded_by or ""
        successor = self.stored.index.records.get(successor_id)
        if successor and successor.record_id not in {*erased, *seen}:
            return as_superseded([record], successor)[0]
        return as_active(record)

    def _still_pending(self) -> list[PendingTask]:
        """Return erased tasks for the turns that are left, or that may still be extracted from."""
        dropped = self.erased.turn_ids or _cited(self.erased.records)
        return [
            remaining
            for task in self.erased.pending_tasks
            if not task.awaits_approval
            for remaining in self._enqueue(
                set(task.turn_ids) - dropped, task.step, UNFINISHED if is_cut_off(task) else PART_FORGOTTEN
            )
        ]

    def _enqueue(self, turn_ids: Iterable[str], step: str, reason: str = PART_FORGOTTEN) -> list[PendingTask]:
        """Return a pending task for each session of the turns that are left."""
        turns = stored_turns(self.stored.index, set(turn_ids) - self.erased.turn_ids)
        return pending_tasks_by_session(self.run_id, turns, step, reason)


def without_turns(index: ScopeIndex, event: Event, lost: AbstractSet[str]) -> Event:
    """Return an event without turns that are lost, under a title of what is left."""
    turn_ids = [turn_id for turn_id in event.turn_ids if turn_id not in lost]
    turns = stored_turns(index, turn_ids)
    session = [turn for turn in index.session_turns(event.session_id) if turn.turn_id not in lost]
    update = {
        "turn_ids": turn_ids,
        "context_turn_ids": [turn_id for turn_id in event.context_turn_ids if turn_id not in lost],
        "started_at": turns[0].said_at if turns else event.started_at,
        "ended_at": turns[-1].said_at if turns else event.ended_at,
    }
    (named,) = name_by_keywords([event.model_copy(update=update)], session)
    return named


def _event_before(later: Event, events: Iterable[Event]) -> Event | None:
    """Return the event just before another: of its session if there is one, else of all."""
    candidates = list(events)
    own = [event for event in candidates if event.session_id == later.session_id and event.seq < later.seq]
    others = [
        event
        for event in candidates
        if event.session_id != later.session_id and EVENTS.sort_key(event) < EVENTS.sort_key(later)
    ]
    return max(own, key=lambda event: event.seq, default=None) or max(others, key=EVENTS.sort_key, default=None)
