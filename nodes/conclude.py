"""Sum up a read run as the recollection that its caller gets: answer, verdict, evidence, cost (DESIGN section 5)."""

from typing import Literal

from langgraph_engram.prompts.write_answer import UNKNOWN
from langgraph_engram.results import Recollection, total
from langgraph_engram.retrieval.citations import is_unknown, with_citations
from langgraph_engram.state import ReadState


def conclude(state: ReadState) -> ReadState:
    """Give the result of a search or a recall. Reads everything; sets `recollection`."""
    searching = state["request"].mode == "search"
    pool = state["evidence"] if searching else state["pool"]
    answer = None if searching else with_citations(state.get("answer", ""), pool)
    recollection = Recollection(
        query=state["request"].query,
        answer=answer or (None if searching else UNKNOWN),
        verdict=verdict_of(state, answer),
        evidence=pool,
        missing=state.get("missing", []),
        notes=state.get("notes", []),
        rounds=state["round"],
        went_deep=state["went_deep"],
        run_id=state["run_id"],
        usage=total(state.get("usage", [])),
    )
    return {"recollection": recollection, "begun_for": None}


def verdict_of(state: ReadState, answer: str | None) -> Literal["sufficient", "partial", "absent"]:
    """Judge the result: absent without evidence or answer, sufficient when nothing is missing, else partial."""
    if state["request"].mode == "search":
        return "sufficient" if state.get("sufficient") else ("partial" if state["evidence"] else "absent")
    if not state["pool"] or not answer or is_unknown(answer):
        return "absent"
    return "partial" if state.get("missing") else "sufficient"
