"""Reload stored records whose near-duplicates could not be decided on, so that a retry decides on them."""

from dataclasses import dataclass

from langgraph_engram.pending import records_to_consolidate
from langgraph_engram.state import WriteState
from langgraph_engram.stores.base import Store


@dataclass(frozen=True)
class ReloadRecords:
    """Put stored records beside the run's own. Reads `retried`, `records`; sets `reloaded`, adds to `records`."""

    store: Store

    def __call__(self, state: WriteState) -> WriteState:
        """Return the run's records and those to decide on again."""
        own = {record.record_id for record in state["records"]}
        stored = records_to_consolidate(state.get("retried", []), self.store.index(state["request"].scope))
        reloaded = [record for record in stored if record.record_id not in own]
        return {"records": [*state["records"], *reloaded], "reloaded": [record.record_id for record in reloaded]}
