"""Carry out what was decided about look-alikes: make what a merge makes, and mark what is merged or superseded."""

from dataclasses import dataclass

from langgraph_engram.consolidation.merging import carry_out
from langgraph_engram.schema import Record
from langgraph_engram.state import WriteState
from langgraph_engram.stores.base import Store


@dataclass(frozen=True)
class ApplyUpdates:
    """Carry out decisions. Reads `request`, `records`, `proposals`; sets `changed`, `decisions`, changes `records`.

    Nothing is written yet: `persist` drops the decisions about records that were changed meanwhile.
    """

    store: Store

    def __call__(self, state: WriteState) -> WriteState:
        """Return the run's records with what was made of them, and the older records whose status changes."""
        shelf = self.store.index(state["request"].scope).records
        own = {record.record_id: record for record in state["records"]}
        cited = [one for proposal in state["proposals"] for one in proposal.decision.pair]
        known = {one: record for one in cited if (record := own.get(one) or shelf.get(one))}
        changed: dict[str, Record] = {}
        made: list[Record] = []
        for proposal in state["proposals"]:
            new, marked = carry_out(proposal, known)
            made += new
            changed |= {record.record_id: record for record in marked}
        return {
            "records": [*(changed.get(one, record) for one, record in own.items()), *made],
            "changed": [record for one, record in changed.items() if one not in own],
            "decisions": [proposal.decision for proposal in state["proposals"]],
        }
