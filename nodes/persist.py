"""Write a run's results in one idempotent commit: what is new first, then what it marks.

The same commit completes the run; where a synthesis is due now, that is what it leaves pending.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from langgraph.types import Overwrite

from langgraph_engram.consolidation.conflicts import UpdatedRecords
from langgraph_engram.consolidation.pairing import PairFinder
from langgraph_engram.pending import completed_ids, is_completed
from langgraph_engram.schema import PendingTask
from langgraph_engram.segmentation.events import EventBuilder
from langgraph_engram.segmentation.rebase import rebase
from langgraph_engram.settings import SegmentSettings, SynthesisSettings, UpdateSettings
from langgraph_engram.state import WriteState
from langgraph_engram.stores.base import Changes, Store
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.summarization.scheduling import ScopeView, changed_syntheses, due_tasks

NOTHING_KEPT: WriteState = {
    "events": [], "boundaries": [], "records": [], "recheck": False, "changed": [], "decisions": [],
}  # fmt: skip
"""What a run leaves that worked on what was forgotten."""


@dataclass(frozen=True)
class Persist:
    """Commit events, boundaries, records and decisions; complete the run. Reads everything before it."""

    store: Store
    segment: SegmentSettings
    synthesis: SynthesisSettings
    update: UpdateSettings

    def __call__(self, state: WriteState) -> WriteState:
        """Write the run's results, what could not be done, and mark syntheses that changes make stale.

        Other runs may have written since this one began: its events are rebased on what stands now, and no run can
        write between the reading and the commit. Where records that it decided about were changed, or near-duplicates
        were stored that it could not see, nothing is written and it decides anew, or what it decided about them is
        dropped and pending. Where something that it read was forgotten meanwhile, nothing is written: what is left of
        it is pending, for a retry.

        Returns:
            Whether the run is to look again, and what is written in place of what was decided, where a decision was
            dropped or something was forgotten.
        """
        scope = state["request"].scope
        with self.store.committing(scope):
            index, tasks = self.store.index(scope), self.store.pending_tasks(scope)
            if _is_forgotten(state, index):
                return NOTHING_KEPT
            if _is_completed(state, tasks):
                return {"recheck": False}
            updated = _updated_records(state)
            kept, dropped = updated.without_outdated(index)
            missed = self._missed_ids(state, updated, index)
            is_changed = kept is not updated
            may_recheck = updated.may_recheck(index, state.get("rechecks", 0), state.get("proposals", []))
            if (is_changed or missed) and may_recheck:
                return _recheck(state, updated, index)
            kept = kept.relinked(index)
            noted = [*dropped, *updated.missed_tasks(index, missed, dropped)]
            self.store.commit(scope, self._changes(state, kept, noted, index, tasks))
        redone: WriteState = {
            "records": [*kept.records], "changed": [*kept.changed], "decisions": [*kept.decisions],
        }  # fmt: skip
        return {**(redone if is_changed else {}), "failures": noted, "recheck": False}

    def _missed_ids(self, state: WriteState, updated: UpdatedRecords, index: ScopeIndex) -> set[str]:
        revision = state.get("checked_revision", index.revision)
        finder = PairFinder(self.store, self.update)
        return updated.missed_ids(state["request"].scope, index, finder, state.get("pairs", []), revision)

    def _changes(
        self,
        state: WriteState,
        kept: UpdatedRecords,
        noted: Sequence[PendingTask],
        index: ScopeIndex,
        tasks: Sequence[PendingTask],
    ) -> Changes:
        run = rebase(
            EventBuilder(state["request"].scope.key, self.segment),
            index,
            state["session_ids"],
            state.get("events", []),
            state.get("boundaries", []),
            kept.written,
            close_earlier=self.synthesis.enabled and self.synthesis.at_session_close,
        )
        records = [*run.records, *kept.changed]
        syntheses = changed_syntheses(index, records)
        sessions = dict.fromkeys([*reversed(state["session_ids"]), *(event.session_id for event in run.events)])
        view = ScopeView(index, run.events, records, syntheses)
        due = due_tasks(state["run_id"], view, sessions, self.synthesis, state["turns"])
        failures = [*state.get("failures", []), *noted]
        return Changes(
            events=run.events,
            boundaries=run.boundaries,
            records=run.records,
            syntheses=syntheses,
            decisions=kept.decisions,
            pending_tasks=[*failures, *due],
            changed=kept.changed,
            completed=completed_ids(state["run_id"], state.get("retried", []), failures, tasks),
        )


def _is_forgotten(state: WriteState, index: ScopeIndex) -> bool:
    """Return whether a turn or a stored record that a run works on is gone: what it extracted may hold words of it."""
    return any(turn.turn_id not in index.turns for turn in state["turns"]) or any(
        record_id not in index.records for record_id in state.get("reloaded", [])
    )


def _is_completed(state: WriteState, tasks: Sequence[PendingTask]) -> bool:
    is_retry = bool(state["request"].retry_turn_ids)
    return is_completed(state["run_id"], state["turns"], state.get("retried", []), tasks, is_retry=is_retry)


def _updated_records(state: WriteState) -> UpdatedRecords:
    return UpdatedRecords(
        state["run_id"],
        state.get("records", []),
        state.get("changed", []),
        state.get("decisions", []),
        dict.fromkeys(state.get("reloaded", [])),
    )


def _recheck(state: WriteState, updated: UpdatedRecords, index: ScopeIndex) -> WriteState:
    """Return what a run goes on with: its records as they were before it decided on any, and nothing decided."""
    failures = [task for task in state.get("failures", []) if task.step != "consolidate"]
    return {
        "records": updated.undecided(index),
        "proposals": [],
        "recheck": True,
        "changed": [],
        "decisions": [],
        "failures": cast(list[PendingTask], Overwrite(failures)),
    }
