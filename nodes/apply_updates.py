"""Carry out what was decided on near-duplicates: make what a merge makes, mark what it replaces, link conflicts."""

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
        """Return the run's records with what was made of them, and the older records that change."""
        stored = self.store.index(state["request"].scope).records
        own = {record.record_id: record for record in state["records"]}
        cited = [record_id for proposal in state["proposals"] for record_id in proposal.decision.pair]
        known = {record_id: record for record_id in cited if (record := own.get(record_id) or stored.get(record_id))}
        changed: dict[str, Record] = {}
        made: list[Record] = []
        for proposal in state["proposals"]:
            new, marked = carry_out(proposal, known)
            made += new
            changed |= {record.record_id: record for record in marked}
            known |= changed  # several conflicts may link one record
        return {
            "records": [*(changed.get(record_id, record) for record_id, record in own.items()), *made],
            "changed": [record for record_id, record in changed.items() if record_id not in own],
            "decisions": [proposal.decision for proposal in state["proposals"]],
        }
