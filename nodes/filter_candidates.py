"""Find the near-duplicates of the run's new records (DimMem section 3.4)."""

from dataclasses import dataclass

from langgraph_engram.consolidation.pairing import PairFinder
from langgraph_engram.settings import UpdateSettings
from langgraph_engram.state import WriteState
from langgraph_engram.stores.base import Store


@dataclass(frozen=True)
class FilterCandidates:
    """Pair near-duplicates. Reads `request`, `records`; sets `pairs`, `filtered`, `checked_revision`, `rechecks`."""

    store: Store
    settings: UpdateSettings

    def __call__(self, state: WriteState) -> WriteState:
        """Return the pairs of active records to decide on, each with a new record in it, and how many there were."""
        found = PairFinder(self.store, self.settings).find(state["request"].scope, state["records"])
        update: WriteState = {"pairs": found.pairs, "filtered": found.counts}
        if found.revision is None:
            return update
        return {**update, "checked_revision": found.revision, "rechecks": state.get("rechecks", 0) + 1}
