"""Sum up a read run as the recollection that its caller gets: answer, verdict, evidence, cost (DESIGN section 5)."""

import re
from typing import Literal

from langgraph_engram.prompts.write_answer import UNKNOWN
from langgraph_engram.results import Recollection
from langgraph_engram.state import ReadState
from langgraph_engram.usage import total

CITATION = re.compile(r"\s*\[(\d+(?:\s*,\s*\d+)*)\]")


def conclude(state: ReadState) -> ReadState:
    """Give the result of a search or a recall. Reads everything; sets `recollection`."""
    searching = state["request"].mode == "search"
    pool = state["evidence"] if searching else state["pool"]
    answer = None if searching else without_unknown_citations(state.get("answer", ""), len(pool))
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
    if not state["pool"] or not answer or answer.casefold().startswith(UNKNOWN.rstrip(".").casefold()):
        return "absent"
    return "partial" if state.get("missing") else "sufficient"


def without_unknown_citations(answer: str, count: int) -> str:
    """Take out citations of pieces that were never shown."""

    def keep(match: re.Match[str]) -> str:
        known = [number for number in map(int, match.group(1).split(",")) if 1 <= number <= count]
        lead = match.group()[: len(match.group()) - len(match.group().lstrip())]
        return f"{lead}[{', '.join(map(str, known))}]" if known else ""

    return CITATION.sub(keep, answer).strip()
