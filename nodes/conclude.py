"""Conclude a read run with the recollection that its caller gets: answer, verdict, evidence, cost."""

from collections.abc import Sequence
from dataclasses import dataclass

from langgraph_engram.prompts.write_answer import UNKNOWN, is_unknown
from langgraph_engram.results import Recollection, Verdict, total
from langgraph_engram.schema import Evidence
from langgraph_engram.settings import RetrieveSettings
from langgraph_engram.state import ReadState
from langgraph_engram.stores.base import Store


@dataclass(frozen=True)
class Conclude:
    """Conclude a search or a recall. Reads everything; sets `recollection`, and counts what was recalled."""

    store: Store
    settings: RetrieveSettings

    def __call__(self, state: ReadState) -> ReadState:
        """Return the result: the evidence alone for a search, else the answer that rests on the pool."""
        searching = state["request"].mode == "search"
        pool = state["evidence"] if searching else state["pool"]
        answer = state.get("answer", "")
        verdict = self._search_verdict(state) if searching else self._verdict(state, answer)
        quoted = state.get("quoted", False) and not searching
        if not answer or (quoted and verdict == "absent"):
            answer, quoted = UNKNOWN, False
        turn_ids = {turn.turn_id for passage in pool for turn in passage.turns}
        self.store.note_recalled(state["request"].scope, turn_ids)
        recollection = Recollection(
            query=state["request"].query,
            sort=state["intent"].sort,
            breadth=state["intent"].breadth or "narrow",
            answer=None if searching else answer,
            quoted=quoted,
            verdict=verdict,
            evidence=pool,
            missing=state.get("missing", []),
            notes=state.get("notes", []),
            items=state.get("items", []),
            selection=state.get("selection"),
            rounds=state["round"],
            went_deep=state["went_deep"],
            run_id=state["run_id"],
            usage=total(state.get("usage", [])),
        )
        return {"recollection": recollection, "current_request": None}

    def _verdict(self, state: ReadState, answer: str) -> Verdict:
        """Return absent without evidence or answer, sufficient where a language model misses nothing, else partial."""
        items = state.get("items", [])
        counts_nothing = bool(items) and not any(item.counts for item in items)
        if not state["pool"] or not answer or is_unknown(answer) or counts_nothing:
            return "absent"
        if state.get("quoted"):
            return self._relevance_verdict(state["pool"])
        return "partial" if state.get("missing") else "sufficient"

    def _search_verdict(self, state: ReadState) -> Verdict:
        """Return partial where something bears on a message, or is relevant to a question."""
        if state["intent"].sort == "question":
            return self._relevance_verdict(state["evidence"])
        return "partial" if state["evidence"] else "absent"

    def _relevance_verdict(self, evidence: Sequence[Evidence]) -> Verdict:
        """Return partial where a passage is relevant, else absent."""
        best = max((passage.relevance for passage in evidence), default=0.0)
        return "partial" if evidence and best >= self.settings.relevance_threshold else "absent"
