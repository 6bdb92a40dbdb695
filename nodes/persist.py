"""Write a run's results in one idempotent commit: what is new first, then what it marks (DESIGN, step 7)."""

from collections.abc import Collection
from dataclasses import dataclass

from langgraph_engram.schema import Synthesis
from langgraph_engram.state import WriteState
from langgraph_engram.stores.scope_index import ScopeIndex
from langgraph_engram.stores.store import Changes, Store


@dataclass(frozen=True)
class Persist:
    """Commit events, boundaries, records and decisions; settle the run. Reads everything before it."""

    store: Store

    def __call__(self, state: WriteState) -> WriteState:
        """Write the run's results, what could not be done, and mark syntheses that changes make stale."""
        scope = state["request"].scope
        changed = state.get("changed", [])
        settled = self._settled(state)
        self.store.commit(
            scope,
            Changes(
                events=state.get("events", []),
                boundaries=state.get("boundaries", []),
                records=state.get("records", []),
                syntheses=stale(self.store.index(scope), {record.record_id for record in changed}),
                decisions=state.get("decisions", []),
                pendings=state.get("failures", []),
                changed=changed,
                settled=settled,
            ),
        )
        return {}

    def _settled(self, state: WriteState) -> list[str]:
        """Give the pendings this run puts an end to: all whose turns it has done, its own failures aside."""
        done = {*state["request"].retry_turn_ids, *(turn.turn_id for turn in state["turns"])}
        failed = {failure.pending_id for failure in state.get("failures", [])}
        pendings = self.store.pendings(state["request"].scope)
        return [one.pending_id for one in pendings if done.issuperset(one.turn_ids) and one.pending_id not in failed]


def stale(index: ScopeIndex, changed: Collection[str]) -> list[Synthesis]:
    """Give the active syntheses that cover a changed record, as stale."""
    return [
        synthesis.model_copy(update={"status": "stale"})
        for synthesis in index.syntheses.items
        if synthesis.status == "active" and not set(changed).isdisjoint(synthesis.covered_record_ids)
    ]
