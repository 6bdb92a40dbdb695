"""Find the near-duplicates of the run's new records (DimMem section 3.4)."""

from dataclasses import dataclass

from langgraph_engram.consolidation.pairing import PairFinder
from langgraph_engram.pending import records_to_decide
from langgraph_engram.state import WriteState
from langgraph_engram.stores.base import Store


@dataclass(frozen=True)
class FilterCandidates:
    """Pair near-duplicates. Reads `records`, `tasks`; sets `pairs`, `filtered`, `checked_revision`, `attempts`."""

    store: Store
    finder: PairFinder

    def __call__(self, state: WriteState) -> WriteState:
        """Return the pairs of active records to decide on, each with a new record in it, and how many there were."""
        scope = state["request"].scope
        records = records_to_decide(state["records"], state["tasks"], self.store.index(scope))
        found = self.finder.find(scope, [*records.values()])
        update: WriteState = {"pairs": found.pairs, "filtered": found.counts}
        if found.revision is None:
            return update
        return {**update, "checked_revision": found.revision, "attempts": state["attempts"] + 1}
