"""Write a run's results in one idempotent commit: what is new first, then what it marks (DESIGN, step 7)."""

from collections.abc import Collection
from dataclasses import dataclass

from langgraph_engram.nodes.receive import run_pending_id
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
        """Give the pendings this run puts an end to: its own, and those of the turns it did again."""
        if not state["turns"]:
            return []
        redone = set(state["request"].retry_turn_ids)
        failed = {failure.pending_id for failure in state.get("failures", [])}
        before = [
            one.pending_id
            for one in self.store.pendings(state["request"].scope)
            if redone and redone.issuperset(one.turn_ids)
        ]
        return [
            one
            for one in dict.fromkeys([run_pending_id(state["run_id"], state["turns"]), *before])
            if one not in failed
        ]


def stale(index: ScopeIndex, changed: Collection[str]) -> list[Synthesis]:
    """Give the active syntheses that cover a changed record, as stale."""
    return [
        synthesis.model_copy(update={"status": "stale"})
        for synthesis in index.syntheses.items
        if synthesis.status == "active" and not set(changed).isdisjoint(synthesis.covered_record_ids)
    ]
