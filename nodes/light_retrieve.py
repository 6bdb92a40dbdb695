"""Retrieve evidence by the light routes; no model is asked."""

from dataclasses import dataclass

from langgraph_engram.filters import conditions_of
from langgraph_engram.retrieval.search import Retriever, Search
from langgraph_engram.state import ReadState, RecallRequest
from langgraph_engram.stores.base import Store
from langgraph_engram.tracing import retrieval


@dataclass(frozen=True)
class LightRetrieve:
    """Retrieve passages. Reads `request`, `revision`, `query`; sets `evidence`, `more`, `intent`, adds to `notes`."""

    store: Store
    retriever: Retriever

    def __call__(self, state: ReadState) -> ReadState:
        """Return the passages, best first, and a note for each route without data and for too small a budget."""
        with retrieval(state["query"]) as traced:
            update = self._retrieve(state)
            traced += update["evidence"]
        return update

    def _retrieve(self, state: ReadState) -> ReadState:
        request, notes = state["request"], state.get("notes", [])
        index = self.store.index(request.scope, state.get("revision")).as_of(request.as_of, request.branches)
        if not len(index.turns) and not len(index.records):
            return {"evidence": [], "more": 0, "notes": [*notes, _nothing_remembered(request)]}
        limits = request.budget, request.stop, request.limit
        read = frozenset(state.get("read_ids", ()))
        search = Search(state["intent"], request.mode, *limits, conditions_of(request.filters), read)
        found = self.retriever.retrieve(index, search)
        fresh = [passage for passage in found.evidence if passage.evidence_id not in read]
        update: ReadState = {"evidence": fresh, "more": found.more}
        if state["intent"].sort == "idle" and fresh:
            update["intent"] = state["intent"].model_copy(update={"sort": "question"})
        return {**update, "notes": list(dict.fromkeys([*notes, *found.notes]))}


def _nothing_remembered(request: RecallRequest) -> str:
    whose = f"user {request.user_id}" + (f" with agent {request.agent_id}" if request.agent_id else "")
    if request.as_of:
        return f"nothing that was said by {request.as_of.date()} is remembered for {whose}"
    return f"nothing is remembered yet for {whose}"
