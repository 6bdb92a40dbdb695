"""Define what travels along the edges of the read graph. Keys stand in the order in which they are filled."""

import operator
from typing import Annotated

from typing_extensions import TypedDict

from langgraph_engram.results import Recollection, UsageEntry
from langgraph_engram.schema import Evidence, Frozen, Intent
from langgraph_engram.state.requests import RecallRequest


class BatchSelection(Frozen):
    """What one batch of the deep selection named."""

    place: int
    """Where the batch begins among the candidates."""
    evidence_ids: list[str]


class SelectInput(TypedDict):
    """What one batch of the deep selection is given."""

    query: str
    intent: Intent
    batch: list[Evidence]
    place: int


class ReadInput(TypedDict):
    """What the read graph is called with."""

    request: RecallRequest


class ReadState(TypedDict, total=False):
    """The state of the read graph."""

    request: RecallRequest
    """Set by the caller."""
    begun_for: RecallRequest | None
    """Set by `parse_intent`, cleared by `conclude`: the request that the run under way answers."""
    run_id: str
    """Set by `parse_intent`."""
    started_at: float
    """Set by `parse_intent`: seconds of the wall clock, for the time budget."""
    round: int
    """Set by `parse_intent`, raised by `reflect`."""
    query: str
    """Set by `parse_intent`, rewritten by `reflect`: what is looked for in this round."""
    asked_queries: list[str]
    """Set by `parse_intent`, grown by `reflect`."""
    intent: Intent
    """Set by `parse_intent`."""
    evidence: list[Evidence]
    """Set by `light_retrieve`: what this round found, best first, within the budget."""
    pool: list[Evidence]
    """Set by `parse_intent`, grown by `judge_sufficiency` and `backtrack`: everything found so far that was kept,
    without repeats."""
    notes: list[str]
    """Set by `light_retrieve`."""
    sufficient: bool
    """Set by `judge_sufficiency`."""
    answer: str
    """Set by `judge_sufficiency` or `write_answer`."""
    selections: Annotated[list[BatchSelection], operator.add]
    """Added to by each `deep_select`, emptied by `gather_selection`."""
    selected_ids: list[str]
    """Set by `gather_selection`: evidence ids that matter."""
    went_deep: bool
    """Set by `gather_selection`."""
    missing: list[str]
    """Set by `reflect`."""
    seen: int
    """Set by `reflect`: pieces in the pool when it last looked further."""
    doubted: str
    """Set by `reflect`: the answer for which it last looked further."""
    done: bool
    """Set by `reflect`."""
    usage: Annotated[list[UsageEntry], operator.add]
    """Added to by every step that asks a model."""
    recollection: Recollection
    """Set by `conclude`."""
