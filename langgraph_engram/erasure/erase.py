"""Forget: select what is erased, delete it from checkpoints and store, and verify that nothing is left.

An erasure is announced by a pending task. One that is cut off is completed by repeating it, or by `finish`: checkpoints
are deleted first, and what the selection depends on is deleted from the store last.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from uuid import uuid4

from langgraph.checkpoint.base import BaseCheckpointSaver

from langgraph_engram.consolidation.merging import as_active, as_superseded, without_conflicts
from langgraph_engram.erasure.checkpoints import ErasureMarks, Residue, threads_with
from langgraph_engram.erasure.selection import Erased, StoredScope, Target, select_erased
from langgraph_engram.errors import InvalidInput
from langgraph_engram.pending import (
    FORGET,
    RECEIVE,
    UNFINISHED,
    is_cut_off,
    is_unreceived,
    pending_tasks_by_session,
    stored_turns,
    tasks_of_runs,
)
from langgraph_engram.results import ErasureReceipt
from langgraph_engram.runner import delete_threads
from langgraph_engram.schema import Boundary, Event, PendingTask, Record, Scope, make_id
from langgraph_engram.segmentation.boundaries import relink_boundary
from langgraph_engram.segmentation.events import EventNamer
from langgraph_engram.stores.base import Changes, Store
from langgraph_engram.stores.index import EVENTS, ScopeIndex

LOG = logging.getLogger(__name__)
CUT_OFF = "it was announced, and did not reach its end"
PART_FORGOTTEN = "a part of what it rested on was forgotten"


@dataclass(frozen=True)
class Eraser:
    """Erase memories from a store and its checkpoints."""

    store: Store
    checkpointer: BaseCheckpointSaver[str] | None

    def forget(self, scope: Scope, target: Target) -> ErasureReceipt:
        """Erase the target, after the current runs of the scope.

        It is announced as a pending task first, so that `finish` does the rest where it is cut off.
        """
        with self.store.writing(scope), self.store.committing(scope):
            stored, announced = self._stored(scope)
            try:
                target = target.of_whole_id(stored.index)
                erased = select_erased(stored, target)
            except InvalidInput:
                self._overwrite(scope, stored, announced)
                raise
            if task := _announcement(target, erased):
                self.store.commit(scope, Changes(pending_tasks=[task]))
                announced.append(task)
            marks = _marks_of(stored, erased)
            threads, runs = list[str](), 0
            if self.checkpointer:
                threads = threads_with(self.checkpointer, scope, None if target.is_everything else marks)
                runs = delete_threads(self.checkpointer, threads)
            changes = self._changes(stored, erased, target, threads)
            finished = _finished(announced, stored.index, erased)
            self.store.commit(scope, replace(changes, completed=[*changes.completed, *finished]))
            residue = Residue(self.store, self.checkpointer).find(scope, marks, of_everything=target.is_everything)
            residue += [
                f"words that another checkpoint may hold: {task.reason}"
                for task in erased.pending_tasks
                if is_unreceived(task, stored.index) and task.run_id not in threads
            ]
        return _receipt(scope, target, erased, changes, runs, residue)

    def finish(self, scope: Scope) -> None:
        """Finish the erasures of a scope that were announced and cut off."""
        for task in self.store.pending_tasks(scope):
            if task.step == FORGET:
                left = frozenset(task.turn_ids) if task.record_id is None else None
                with suppress(InvalidInput):
                    receipt = self.forget(scope, Target(record_id=task.record_id, left=left))
                    LOG.info("what was being forgotten is: %d turns, %d records", receipt.turns, receipt.records)
                    for where in receipt.residue:
                        LOG.warning("what was being forgotten is still found: %s", where)

    def _stored(self, scope: Scope) -> tuple[StoredScope, list[PendingTask]]:
        """Return what is stored, and apart from it what is announced to be erased."""
        tasks = self.store.pending_tasks(scope)
        stored = StoredScope(self.store.index(scope), self.store.decisions(scope), tasks_of_runs(tasks))
        return stored, [task for task in tasks if task.step == FORGET]

    def _overwrite(self, scope: Scope, stored: StoredScope, announced: Sequence[PendingTask]) -> None:
        """Overwrite what an erasure that was cut off may have left of a target that is gone."""
        if finished := _finished(announced, stored.index, Erased()):
            self.store.commit(scope, Changes(completed=finished))
        self.store.secure_delete(scope)

    def _changes(self, stored: StoredScope, erased: Erased, target: Target, threads: list[str]) -> Changes:
        if target.is_everything:
            return Changes(removed=erased.ids())
        cleanup = Cleanup(stored, erased, str(uuid4()))
        events, restored = cleanup.events(), cleanup.records()
        without_run = [task for task in stored.pending_tasks if task.awaits_approval and task.run_id in threads]
        return Changes(
            events=events,
            boundaries=cleanup.boundaries(events),
            pending_tasks=cleanup.pending_tasks(restored),
            changed=restored,
            completed=[task.pending_id for task in without_run],
            removed=erased.ids(),
        )


@dataclass(frozen=True)
class Cleanup:
    """Repair what is left of a scope: events, boundaries, records and pending tasks that depended on what is erased."""

    stored: StoredScope
    erased: Erased
    run_id: str
    """The run id of new pending tasks."""

    def events(self) -> list[Event]:
        """Return the events that lose a turn or whose titles repeat erased words, as they are without it."""
        lost = self.erased.turn_ids
        remaining = self._remaining_events()
        shorter = [event for event in remaining if not lost.isdisjoint((*event.turn_ids, *event.context_turn_ids))]
        repeating = [event for event in remaining if event not in shorter and self._repeats_erased(event)]
        return [without_turns(self.stored.index, event, lost) for event in [*shorter, *repeating]]

    def boundaries(self, events: Sequence[Event]) -> list[Boundary]:
        """Return the boundaries beside what is erased or changed, described with the current titles of events."""
        index, erased = self.stored.index, {boundary.boundary_id for boundary in self.erased.boundaries}
        current = {event.event_id: event for event in [*self._remaining_events(), *events]}
        changed = {event.event_id for event in (*events, *self.erased.events)}
        affected = [
            boundary
            for boundary in index.boundaries.items
            if boundary.boundary_id not in erased
            and boundary.to_event_id in current
            and (
                not changed.isdisjoint((boundary.from_event_id or "", boundary.to_event_id))
                or self.erased.is_repeated_in(boundary.session_id, [boundary.text])
            )
        ]
        return [self._describe_again(boundary, current) for boundary in affected]

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
        uncovered = [self.stored.index.records.get(record_id) for record_id in covered - self.erased.record_ids]
        return [
            *self._still_pending(),
            *self._enqueue(self._turns_to_extract(), "extract"),
            *self._enqueue(_cited(unmerged), "consolidate"),
            *self._enqueue(_cited(record for record in uncovered if record), "synthesize"),
        ]

    def _remaining_events(self) -> list[Event]:
        erased = {event.event_id for event in self.erased.events}
        return [event for event in self.stored.index.events.items if event.event_id not in erased]

    def _repeats_erased(self, event: Event) -> bool:
        return self.erased.is_repeated_in(event.session_id, [event.summary, *event.topics, *event.keywords])

    def _describe_again(self, boundary: Boundary, current: Mapping[str, Event]) -> Boundary:
        later = current[boundary.to_event_id]
        earlier = current.get(boundary.from_event_id or "") or _event_before(later, current.values())
        first_turns = stored_turns(self.stored.index, later.turn_ids)[:1]
        return relink_boundary(boundary, earlier, later, first_turns)

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

    def _turns_to_extract(self) -> set[str]:
        """Return the turns that lost a record which cites an erased turn too; the parts of a merge are restored."""
        if not self.erased.turns:
            return set()
        return _cited(record for record in self.erased.records if not record.derived_from) - self.erased.turn_ids

    def _enqueue(self, turn_ids: Iterable[str], step: str, reason: str = PART_FORGOTTEN) -> list[PendingTask]:
        """Return a pending task for each session of the turns that are left."""
        turns = stored_turns(self.stored.index, list(set(turn_ids) - self.erased.turn_ids))
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
    return EventNamer(session).named(event.model_copy(update=update))


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


def _announcement(target: Target, erased: Erased) -> PendingTask | None:
    """Return the task to erase something; none where no turn and no record is. Of turns it holds the ids alone."""
    unreceived = {turn_id for task in erased.pending_tasks if task.step == RECEIVE for turn_id in task.turn_ids}
    turn_ids = sorted(erased.turn_ids | unreceived)
    if not turn_ids and target.record_id is None:
        return None
    return PendingTask(
        pending_id=make_id(FORGET, target.record_id or "", *turn_ids),
        run_id="",
        session_id=target.session_id or "",
        turn_ids=turn_ids,
        step=FORGET,
        reason=CUT_OFF,
        since=datetime.now(UTC),
        record_id=target.record_id,
    )


def _finished(announced: Iterable[PendingTask], index: ScopeIndex, erased: Erased) -> list[str]:
    """Return the ids of the announced tasks of which nothing is left once something is erased."""
    return [
        pending_id
        for pending_id, task in {task.pending_id: task for task in announced}.items()
        if (task.record_id is None or task.record_id in erased.record_ids or task.record_id not in index.records)
        and all(turn_id in erased.turn_ids or turn_id not in index.turns for turn_id in task.turn_ids)
    ]


def _cited(records: Iterable[Record]) -> set[str]:
    return {turn_id for record in records for turn_id in record.source_turn_ids}


def _marks_of(stored: StoredScope, erased: Erased) -> ErasureMarks:
    """Return what to search for: the ids of what is erased, and its texts that nothing left contains."""
    ids = frozenset(item_id for of_kind in erased.ids().values() for item_id in of_kind)
    unreceived = frozenset(task.run_id for task in erased.pending_tasks if task.step == RECEIVE)
    turns = [turn.indexed_text for turn in stored.index.turns.items if turn.turn_id not in ids]
    records = [record.content for record in stored.index.records.items if record.record_id not in ids]
    left = "\0".join([*turns, *records])
    return ErasureMarks(ids | unreceived, frozenset(text for text in erased.texts() if text not in left))


def _receipt(
    scope: Scope, target: Target, erased: Erased, changes: Changes, runs: int, residue: list[str]
) -> ErasureReceipt:
    return ErasureReceipt(
        scope=scope,
        session_id=target.session_id,
        turn_id=target.turn_id,
        record_id=target.record_id,
        **{name: len(ids) for name, ids in erased.ids().items()},
        runs=runs,
        changed=len(changes.events) + len(changes.boundaries) + len(changes.changed),
        pending=len({turn_id for task in changes.pending_tasks for turn_id in task.turn_ids}),
        residue=residue,
    )
