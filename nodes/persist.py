"""Write a run's results in one idempotent commit: what is new first, then what it marks (DESIGN, step 7).

What the run has done is settled by the same commit; where a synthesis is due now, that is what it leaves pending.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from langgraph_engram.consolidation.conflicts import may_recheck, missed_ids, missed_tasks, recheck, without_outdated
from langgraph_engram.nodes.filter_candidates import FilterCandidates
from langgraph_engram.pending import UNFINISHED, is_cut_off
from langgraph_engram.schema import Event, PendingTask, Record, Synthesis
from langgraph_engram.segmentation.events import EventBuilder
from langgraph_engram.segmentation.rebase import ended_by, rebase_boundaries, rebase_events, rebase_records
from langgraph_engram.settings import SegmentSettings, SynthesisSettings
from langgraph_engram.state import WriteState
from langgraph_engram.stores.base import Changes, Store
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.summarization.scheduling import SynthesisState, due_jobs, pending_syntheses

NOTHING_KEPT: WriteState = {
    "events": [], "boundaries": [], "records": [], "recheck": False, "changed": [], "decisions": [],
}  # fmt: skip
"""What a run leaves that worked on what was forgotten."""


@dataclass(frozen=True)
class Persist:
    """Commit events, boundaries, records and decisions; settle the run. Reads everything before it."""

    store: Store
    segment: SegmentSettings
    synthesis: SynthesisSettings
    look: FilterCandidates
    """What the run looked for look-alikes with."""

    def __call__(self, state: WriteState) -> WriteState:
        """Write the run's results, what could not be done, and mark syntheses that changes make stale.

        Other runs may have written since this one began: what it cut is put on what stands now, and no run can write
        between the reading and the commit. Where records that it decided about were changed, or look-alikes were stored
        that it could not see, nothing is written and it decides anew, or what it decided about them is dropped and
        pending. Where something that it read was forgotten meanwhile, nothing is written: what is left of it is
        pending, for a retry.

        Returns:
            Whether the run is to look again, and what is written in place of what was decided, where a decision was
            dropped or something was forgotten.
        """
        scope = state["request"].scope
        with self.store.committing(scope):
            index, pending_tasks = self.store.index(scope), self.store.pending_tasks(scope)
            if is_forgotten(state, index):
                return NOTHING_KEPT
            if is_done(state, pending_tasks):
                return {"recheck": False}
            redone = without_outdated(state, index)
            unseen = missed_ids(state, index, self.look)
            if (redone or unseen) and may_recheck(state, index):
                return recheck(state, index)
            dropped = redone.get("failures", [])
            noted = [*dropped, *missed_tasks(state, index, unseen, dropped)]
            failures = [*state.get("failures", []), *noted]
            self.store.commit(scope, self._changes({**state, **redone, "failures": failures}, index, pending_tasks))
        return {**redone, "failures": noted, "recheck": False}

    def _changes(self, state: WriteState, index: ScopeIndex, pending_tasks: Sequence[PendingTask]) -> Changes:
        builder = EventBuilder(state["request"].scope.key, self.segment)
        own = rebase_events(builder, index, state["session_id"], state.get("events", []))
        events = [*own, *self._ended(state, index, own)]
        records = rebase_records(own_records(state), index, events)
        changed = state.get("changed", [])
        outdated = stale(index, changed_ids(index, [*records, *changed]))
        return Changes(
            events=events,
            boundaries=rebase_boundaries(state.get("boundaries", []), index, state["session_id"], own),
            records=records,
            syntheses=outdated,
            decisions=state.get("decisions", []),
            pending_tasks=[*state.get("failures", []), *self._due(state, index, events, records, outdated)],
            changed=changed,
            completed=completed_by(state, pending_tasks),
        )

    def _ended(self, state: WriteState, index: ScopeIndex, events: Sequence[Event]) -> list[Event]:
        """Give the events that end earlier sessions, where sessions are told at their end."""
        tells = self.synthesis.enabled and self.synthesis.at_session_close
        return ended_by(index, state["session_id"], events) if tells else []

    def _due(
        self,
        state: WriteState,
        index: ScopeIndex,
        events: Sequence[Event],
        records: Sequence[Record],
        outdated: Sequence[Synthesis],
    ) -> list[PendingTask]:
        """Note the syntheses that are due once this is written, so that a run that ends here is not the end of them."""
        standing = SynthesisState(index, events, [*records, *state.get("changed", [])], outdated)
        jobs = due_jobs(
            standing, dict.fromkeys([state["session_id"], *(one.session_id for one in events)]), self.synthesis
        )
        return pending_syntheses(state["run_id"], index, jobs, [UNFINISHED] * len(jobs), state["turns"])


def is_forgotten(state: WriteState, index: ScopeIndex) -> bool:
    """Say whether a turn or a stored record that a run works on is gone: all that it has drawn may hold words of it."""
    turns = (turn.turn_id for turn in state["turns"])
    return any(one not in index.turns for one in turns) or any(
        one not in index.records for one in state.get("reloaded", [])
    )


def own_records(state: WriteState) -> list[Record]:
    """Give a run's records without those it only took up: another run may have changed them meanwhile."""
    reloaded = set(state.get("reloaded", []))
    return [one for one in state.get("records", []) if one.record_id not in reloaded or one.status != "active"]


def is_done(state: WriteState, pending_tasks: Sequence[PendingTask]) -> bool:
    """Say whether what a run is about is settled already: by its own commit, or by a retry that took it for dead."""
    retried = {one.pending_id for one in state.get("retried", []) if one.step != "synthesize"}
    if state["request"].retry_turn_ids:
        return bool(retried) and retried.isdisjoint(one.pending_id for one in pending_tasks)
    return bool(state["turns"]) and not any(one.run_id == state["run_id"] and is_cut_off(one) for one in pending_tasks)


def completed_by(state: WriteState, pending_tasks: Sequence[PendingTask]) -> list[str]:
    """Give the ids of the pending_tasks that a run puts an end to, its own failures and syntheses aside."""
    own = [one for one in pending_tasks if one.run_id == state["run_id"]]
    done = [one.pending_id for one in [*own, *state.get("retried", [])] if one.step != "synthesize"]
    failed = {failure.pending_id for failure in state.get("failures", [])}
    return [one for one in dict.fromkeys(done) if one not in failed]


def changed_ids(index: ScopeIndex, records: Sequence[Record]) -> set[str]:
    """Give the ids of stored records that are written with another status."""
    stored = {record.record_id: index.records.get(record.record_id) for record in records}
    return {one.record_id for one in records if (old := stored[one.record_id]) and old.status != one.status}


def stale(index: ScopeIndex, changed: Collection[str]) -> list[Synthesis]:
    """Give the active syntheses that cover a changed record, as stale."""
    return [
        synthesis.model_copy(update={"status": "stale"})
        for synthesis in index.syntheses.items
        if synthesis.status == "active" and not set(changed).isdisjoint(synthesis.covered_record_ids)
    ]
