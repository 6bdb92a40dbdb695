"""Write a run's results in one idempotent commit: what is new first, then what it marks.

The same commit completes the run; where a synthesis may be due now, that is what it leaves pending.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import cast

from langgraph.types import Overwrite

from langgraph_engram.consolidation.merging import MAX_ATTEMPTS, Applied, apply_decisions, missed_ids, undecided_tasks
from langgraph_engram.consolidation.pairing import PairFinder
from langgraph_engram.pending import (
    UNFINISHED,
    completed_ids,
    is_done_by_another,
    pending_tasks_by_session,
    pending_tasks_for,
    records_to_decide,
    stored_turns,
)
from langgraph_engram.schema import Event, Pair, PendingTask, Record
from langgraph_engram.segmentation.events import EventBuilder, rebase
from langgraph_engram.segmentation.segmenter import Segmenter
from langgraph_engram.state import WriteState
from langgraph_engram.stores.base import Changes, Store
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.summarization.scheduling import Scheduler, changed_syntheses

CLOSED_MEANWHILE = "another run closed what this one waited with"


@dataclass(frozen=True)
class Persist:
    """Commit events, boundaries, records and decisions; complete the run. Reads everything before it."""

    store: Store
    segmenter: Segmenter
    scheduler: Scheduler
    finder: PairFinder

    def __call__(self, state: WriteState) -> WriteState:
        """Carry out the decisions, write the results and what could not be done, and mark syntheses that get stale.

        Other runs may have written since this one began, and none can between the reading and the commit: events are
        rebased on what stands now. Where records that it decided about were changed, or near-duplicates were stored
        that it could not see, nothing is written and it decides anew; what it may not decide anew is left out and
        pending. Where something that it read was forgotten, or another run has done its work, nothing is written.
        """
        scope = state["request"].scope
        with self.store.committing(scope):
            index, pending = self.store.index(scope), self.store.pending_tasks(scope)
            worked_on = {turn_id for task in state["tasks"] for turn_id in task.turn_ids}
            if any(turn_id not in index.turns for turn_id in worked_on):  # what it extracted may hold forgotten words
                return {"events": [], "boundaries": [], "records": [], "is_overtaken": False}
            applied = apply_decisions(state["proposals"], state["records"], index.records)
            if is_done_by_another(state["tasks"], pending):
                return _written(applied, [])
            records = records_to_decide(state["records"], state["tasks"], index)
            missed = missed_ids(state["pairs"], self._pairs_now(state, records, index))
            if (applied.outdated or missed) and _may_decide_anew(state, index):
                failures = Overwrite([task for task in state["failures"] if task.step != "consolidate"])
                return {"is_overtaken": True, "proposals": [], "failures": cast(list[PendingTask], failures)}
            left = undecided_tasks(state["run_id"], index, records, applied.outdated, missed)
            self.store.commit(scope, self._changes(state, applied, left, index, pending))
        return _written(applied, left)

    def _pairs_now(self, state: WriteState, records: Mapping[str, Record], index: ScopeIndex) -> Sequence[Pair]:
        """Return the near-duplicates among what stands now; those that the run saw where nobody has written since."""
        if state.get("checked_revision", index.revision) == index.revision or _is_half_written(state, index):
            return state["pairs"]
        return self.finder.find(state["request"].scope, [*records.values()]).pairs

    def _changes(
        self,
        state: WriteState,
        applied: Applied,
        left: Sequence[PendingTask],
        index: ScopeIndex,
        pending: Sequence[PendingTask],
    ) -> Changes:
        events, boundaries, own = rebase(
            EventBuilder(state["request"].scope.key, self.segmenter.limits),
            index,
            state["session_ids"],
            state["events"],
            state["boundaries"],
            applied.records,
            close_earlier=self.scheduler.settings.enabled,
        )
        records = [*own, *applied.changed]
        syntheses = changed_syntheses(index, records)
        due: list[PendingTask] = []
        if self.scheduler.has_work(index, syntheses):
            to_summarize = [task.turn_ids for task in state["tasks"]] + [event.turn_ids for event in events]
            turn_ids = chain.from_iterable(to_summarize)
            due = pending_tasks_by_session(state["run_id"], stored_turns(index, turn_ids), "synthesize", UNFINISHED)
        failures = [*state["failures"], *left, *self._unread(state, events, index)]
        return Changes(
            events=events,
            boundaries=boundaries,
            records=own,
            syntheses=syntheses,
            decisions=applied.decisions,
            pending_tasks=[*failures, *due],
            changed=applied.changed,
            completed=completed_ids(state["run_id"], state["tasks"], failures, pending),
        )

    def _unread(self, state: WriteState, events: Sequence[Event], index: ScopeIndex) -> list[PendingTask]:
        """Return tasks for turns of events that another run closed meanwhile, and that this one waited with."""
        if not self.segmenter.waits:
            return []
        stored = filter(None, (index.events.get(event.event_id) for event in events))
        given = [*filter(self.segmenter.reads, [*state["events"], *stored])]
        read = {turn_id for event in given for turn_id in event.turn_ids}
        closed = (event for event in events if event.status == "closed")
        missed = ([turn_id for turn_id in event.turn_ids if turn_id not in read] for event in closed)
        failed = ((stored_turns(index, turn_ids), CLOSED_MEANWHILE) for turn_ids in missed)
        return pending_tasks_for(state["run_id"], "extract", failed)


def _is_half_written(state: WriteState, index: ScopeIndex) -> bool:
    """Return whether a commit of this run was cut off: what it began is to be finished, not decided anew."""
    return any(record.record_id in index.records for record in state["records"])


def _may_decide_anew(state: WriteState, index: ScopeIndex) -> bool:
    """Return whether a run may decide anew: not what it began to write or asked a person about, nor endlessly."""
    is_asked = any(proposal.waits for proposal in state["proposals"])
    return state["attempts"] < MAX_ATTEMPTS and not is_asked and not _is_half_written(state, index)


def _written(applied: Applied, left: list[PendingTask]) -> WriteState:
    return {"records": applied.records, "decisions": applied.decisions, "failures": left, "is_overtaken": False}
