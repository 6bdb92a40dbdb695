"""Forget: choose what goes, take it from checkpoints and store, and look whether anything is left.

Whatever cuts it off, asking for the same again does the rest: checkpoints go first, and of the store last what the
choice rests on.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import uuid4

from langgraph.checkpoint.base import BaseCheckpointSaver

from langgraph_engram.consolidation.merging import as_active, as_superseded
from langgraph_engram.erasure.checkpoints import ErasureMarks, Residue, threads_with
from langgraph_engram.erasure.selection import Erased, StoredScope, Target, select_erased
from langgraph_engram.pending import UNFINISHED, is_cut_off, pending_task, stored_turns
from langgraph_engram.results import ErasureReceipt
from langgraph_engram.runner import delete_threads
from langgraph_engram.schema import Boundary, Event, PendingTask, Record, Scope, Turn
from langgraph_engram.segmentation.boundaries import relink_boundary
from langgraph_engram.segmentation.titles import EventNamer
from langgraph_engram.settings import SegmentSettings
from langgraph_engram.stores.base import Changes, Store
from langgraph_engram.stores.index import EVENTS

PART_FORGOTTEN = "a part of what it rested on was forgotten"


@dataclass(frozen=True)
class Cleanup:
    """What is left of a scope, and how it is to stand."""

    held: StoredScope
    gone: Erased
    run_id: str
    """Under which what is to be done again is noted."""
    settings: SegmentSettings

    def events(self) -> list[Event]:
        """Give the events that lose a turn or whose names echo what goes, as they stand without it."""
        lost = {turn.turn_id for turn in self.gone.turns}
        kept = self._kept_events()
        changed = [one for one in kept if not lost.isdisjoint((*one.turn_ids, *one.context_turn_ids))]
        echoing = [one for one in kept if one not in changed and self._echoes(one)]
        return [self._without(event, lost) for event in [*changed, *echoing]]

    def boundaries(self, events: Sequence[Event]) -> list[Boundary]:
        """Give the boundaries beside what goes or changes, told by the names that events have now.

        Args:
            events: The events that change.
        """
        index, gone = self.held.index, {one.boundary_id for one in self.gone.boundaries}
        now = {one.event_id: one for one in [*self._kept_events(), *events]}
        changed = {one.event_id for one in (*events, *self.gone.events)}
        beside = [
            one
            for one in index.boundaries.items
            if one.boundary_id not in gone
            and one.to_event_id in now
            and (
                not changed.isdisjoint((one.from_event_id or "", one.to_event_id))
                or self.gone.echoes(one.session_id, [one.text])
            )
        ]
        return [self._retold(one, now) for one in beside]

    def records(self) -> list[Record]:
        """Give the records that something replaced which goes, as they stand without it.

        Where what goes was replaced in its turn, they stay replaced by that.
        """
        gone = {one.record_id: one for one in self.gone.records}
        return [
            self._freed(one, gone)
            for one in self.held.index.records.items
            if one.record_id not in gone and one.superseded_by in gone
        ]

    def pending_tasks(self, freed: Sequence[Record]) -> list[PendingTask]:
        """Give what is to be done again: drawn, decided on, told; and what was to be done already of what is left.

        Args:
            freed: The records that stand again.
        """
        parts = {one for record in self.gone.records for one in record.derived_from}
        apart = [one for one in freed if one.status == "active" and one.record_id in parts]
        told = {one for synthesis in self.gone.syntheses for one in synthesis.covered_record_ids}
        gone = {one.record_id for one in self.gone.records}
        cites = [self.held.index.records.get(one) for one in told - gone]
        return [
            *self._undone(),
            *self._enqueue(self._to_draw(), "extract"),
            *self._enqueue(_cited(apart), "consolidate"),
            *self._enqueue(_cited(one for one in cites if one), "synthesize"),
        ]

    def _kept_events(self) -> list[Event]:
        gone = {one.event_id for one in self.gone.events}
        return [one for one in self.held.index.events.items if one.event_id not in gone]

    def _echoes(self, event: Event) -> bool:
        return self.gone.echoes(event.session_id, [event.summary, *event.topics, *event.keywords])

    def _without(self, event: Event, lost: set[str]) -> Event:
        turns = stored_turns(self.held.index, [one for one in event.turn_ids if one not in lost])
        session = [one for one in self.held.index.session_turns(event.session_id) if one.turn_id not in lost]
        left = {
            "turn_ids": [one for one in event.turn_ids if one not in lost],
            "context_turn_ids": [one for one in event.context_turn_ids if one not in lost],
            "started_at": turns[0].said_at if turns else event.started_at,
            "ended_at": turns[-1].said_at if turns else event.ended_at,
        }
        return EventNamer(session, self.settings).named(event.model_copy(update=left))

    def _retold(self, boundary: Boundary, now: Mapping[str, Event]) -> Boundary:
        later = now[boundary.to_event_id]
        earlier = now.get(boundary.from_event_id or "") or _before(later, now.values())
        first = stored_turns(self.held.index, later.turn_ids)[: self.settings.boundary_side]
        return relink_boundary(boundary, earlier, later, first)

    def _freed(self, record: Record, gone: Mapping[str, Record]) -> Record:
        successor, seen = record.superseded_by or "", {record.record_id}
        while successor in gone and successor not in seen:
            seen.add(successor)
            successor = gone[successor].superseded_by or ""
        by = self.held.index.records.get(successor)
        return as_superseded([record], by)[0] if by and by.record_id not in {*gone, *seen} else as_active(record)

    def _undone(self) -> list[PendingTask]:
        """Give what was pending of turns that go or are not to be drawn from, for the turns beside them."""
        dropped = {turn.turn_id for turn in self.gone.turns} or _cited(self.gone.records)
        return [
            one
            for note in self.gone.pending_tasks
            if not note.awaits_approval
            for one in self._enqueue(
                set(note.turn_ids) - dropped, note.step, UNFINISHED if is_cut_off(note) else PART_FORGOTTEN
            )
        ]

    def _to_draw(self) -> set[str]:
        """Give the turns that lost a record with another turn; what a merge was made of stands again."""
        lost = {turn.turn_id for turn in self.gone.turns}
        if not lost:
            return set()
        return _cited(one for one in self.gone.records if not one.derived_from) - lost

    def _enqueue(self, turn_ids: Iterable[str], step: str, reason: str = PART_FORGOTTEN) -> list[PendingTask]:
        """Note turns that are left, session by session."""
        by_session: dict[str, list[Turn]] = {}
        lost = {turn.turn_id for turn in self.gone.turns}
        for turn in stored_turns(self.held.index, [one for one in turn_ids if one not in lost]):
            by_session.setdefault(turn.session_id, []).append(turn)
        return [pending_task(self.run_id, turns, step, reason) for turns in by_session.values()]


def _before(later: Event, events: Iterable[Event]) -> Event | None:
    """Give the event just before another: of its own session if there is one, else of all."""
    each = list(events)
    own = [one for one in each if one.session_id == later.session_id and one.seq < later.seq]
    others = [
        one for one in each if one.session_id != later.session_id and EVENTS.sort_key(one) < EVENTS.sort_key(later)
    ]
    return max(own, key=lambda one: one.seq, default=None) or max(others, key=EVENTS.sort_key, default=None)


def _cited(records: Iterable[Record]) -> set[str]:
    return {one for record in records for one in record.source_turn_ids}


@dataclass(frozen=True)
class Eraser:
    """Forget what is kept in a store and its checkpoints."""

    store: Store
    checkpointer: BaseCheckpointSaver[str] | None
    settings: SegmentSettings

    def forget(self, scope: Scope, target: Target) -> ErasureReceipt:
        """Forget what is asked for, after the runs of the scope that are under way.

        Raises:
            InvalidInput: What is named is not kept here.
            StoreError: The store could not do it; asked again, it does the rest.
        """
        with self.store.writing(scope), self.store.committing(scope):
            held = StoredScope(self.store.index(scope), self.store.decisions(scope), self.store.pending_tasks(scope))
            gone = select_erased(held, target)
            marks = marks_of(held, gone)
            threads, runs = list[str](), 0
            if self.checkpointer:
                threads = threads_with(self.checkpointer, scope, None if target.is_everything else marks)
                runs = delete_threads(self.checkpointer, threads)
            changes = self._changes(held, gone, target, threads)
            self.store.commit(scope, changes)
            left = Residue(self.store, self.checkpointer).left(scope, marks, of_everything=target.is_everything)
        return _receipt(scope, target, gone, changes, runs, left)

    def _changes(self, held: StoredScope, gone: Erased, target: Target, threads: list[str]) -> Changes:
        if target.is_everything:
            return Changes(removed=gone.ids())
        left = Cleanup(held, gone, str(uuid4()), self.settings)
        events, freed = left.events(), left.records()
        unawaited = [one for one in held.pending_tasks if one.awaits_approval and one.run_id in threads]
        return Changes(
            events=events,
            boundaries=left.boundaries(events),
            pending_tasks=left.pending_tasks(freed),
            changed=freed,
            completed=[one.pending_id for one in unawaited],
            removed=gone.ids(),
        )


def marks_of(held: StoredScope, gone: Erased) -> ErasureMarks:
    """Give what to look for: the ids of what goes, and its texts, but those that what is left says too."""
    ids = frozenset(one for kind in gone.ids().values() for one in kind)
    said = [one.indexed_text for one in held.index.turns.items if one.turn_id not in ids]
    drawn = [one.content for one in held.index.records.items if one.record_id not in ids]
    left = "\0".join([*said, *drawn])
    return ErasureMarks(ids, frozenset(text for text in gone.texts() if text not in left))


def _receipt(
    scope: Scope, target: Target, gone: Erased, changes: Changes, runs: int, left: list[str]
) -> ErasureReceipt:
    again: list[PendingTask] = list(changes.pending_tasks)
    return ErasureReceipt(
        scope=scope,
        session_id=target.session_id,
        turn_id=target.turn_id,
        record_id=target.record_id,
        **{name: len(ids) for name, ids in gone.ids().items()},
        runs=runs,
        changed=len(changes.events) + len(changes.boundaries) + len(changes.changed),
        pending=len({turn_id for one in again for turn_id in one.turn_ids}),
        residue=left,
    )
