"""Hold every number of the read graph, each with its symbol, source, default and bounds."""

from typing import Literal

from pydantic import Field

from langgraph_engram.settings.group import Group


class RetrieveSettings(Group):
    """The light routes and their fusion."""

    routes: list[Literal["lexical", "dense", "dimension", "boundary", "synthesis", "turn"]] = [
        "lexical", "dense", "dimension", "boundary", "synthesis", "turn",
    ]  # fmt: skip
    intent: Literal["rules", "model"] = "rules"
    """Who reads the query. Rules cost nothing; `search` always reads by them."""
    fusion: Literal["weighted", "reciprocal_rank", "ordered_dedup", "event_score", "concatenate"] = "weighted"
    top_k: int = Field(20, ge=1)
    """Records that each route gives under the papers' fusions (DimMem: 20; StructMem: 60)."""
    synthesis_k: int = Field(5, ge=0)
    """Syntheses beside the records (StructMem section 3.4)."""
    neighbours: list[float] = [0.6, 0.4, 0.2]
    """Weights of the records one, two, ... places before and after in a record's score; none under the papers'."""
    turn_neighbours: list[float] = [1.0, 1.0, 0.5]
    """The same for turns."""
    lexical_weight: float = Field(0.4, ge=0)
    dense_weight: float = Field(0.3, ge=0)
    own_dense_weight: float = Field(0.5, ge=0)
    """The dense route without what neighbours lend."""
    turn_weight: float = Field(0.75, ge=0)
    dimension_weight: float = Field(0.25, ge=0)
    event_weight: float = Field(0.1, ge=0)
    synthesis_weight: float = Field(0.05, ge=0)
    """Weights of the routes in the weighted fusion."""
    own_voice: bool = True
    """Search for what is asked about one person in that person's words: "I" for the name."""
    by_parts: bool = True
    """Search for each of two things whose times a query compares, too."""
    speaker_weight: float = Field(0.5, ge=0)
    """What records of a person whom the query names gain in the weighted fusion."""
    told_then_weight: float = Field(0.65, ge=0)
    """What records gain that were told within the time the query is about."""
    answer_weight: float = Field(0.45, ge=0)
    """What records gain that hold what the expected answer is made of: a time, a place, a name, a number."""
    content_weight: float = Field(0.25, ge=0)
    """What records gain that name something, where the query expects no such answer."""
    length_weight: float = Field(0.25, ge=0)
    """What records gain by each factor of e that they say more, from 100 characters on."""
    question_weight: float = Field(0.5, ge=0)
    """What records lose that ask instead of tell."""
    voice_weight: float = Field(0.8, ge=0)
    """What an assistant's words lose, unless the query asks for them."""
    superseded_margin: float = Field(0.25, ge=0)
    """How much better than what took its place a superseded record must be found, if the query is not for the past."""
    image_weight: float = Field(0.15, ge=0)
    """What records lose that only say what an image shows."""
    repeat_factor: float = Field(0.06, ge=0, le=1)
    """Fall of each further record from a turn that is in the list already: distinct evidence first."""
    join_factor: float = Field(0.85, ge=0, le=1)
    """Share of a piece's score from which a further record of the same turn joins the piece."""
    exchange_factor: float = Field(0.65, ge=0, le=1)
    """Share from which a record of another turn of the same exchange joins it; a turn more is worth more."""
    exchange_reach: int = Field(2, ge=0)
    """Turns apart that sentences are one exchange, in what a search shows; 0 for pieces of one turn."""
    session_factor: float = Field(0.1, ge=0, le=1)
    """Fall of each further piece of a session, where what is asked for adds up over sessions; 0 under the papers'."""
    boundary_k: int = Field(10, ge=1)
    """k, boundary anchors (ES-Mem section 3.3)."""
    boundary_window: int = Field(3, ge=0)
    """w, events on each side of an anchor (ES-Mem section 3.3)."""
    boundary_alpha: float = Field(0.7, ge=0, le=1)
    """alpha, weight of the summary against the anchor (ES-Mem Eq. 7)."""
    rrf_k: int = Field(60, ge=1)
    """The constant of reciprocal rank fusion."""
    type_weight: float = Field(0.15, ge=0)
    time_weight: float = Field(0.30, ge=0)
    location_weight: float = Field(0.20, ge=0)
    phrase_weight: float = Field(0.0, ge=0)
    token_weight: float = Field(0.0, ge=0)
    """Weights of the dimension score, renormalised over the constraints a query has (DimMem Eq. 7). The paper gives
    keywords .15 each; under `engram` the lexical route holds them already, by stems."""
    unknown_credit: float = Field(0.5, ge=0, le=1)
    """Credit of a record that leaves a constrained dimension open. The papers give none."""
    rerank_model: str | None = None
    """A cross-encoder, on the hub or in a folder, that puts the best pieces in a new order; none for no such step."""
    rerank_n: int = Field(50, ge=1)
    """Pieces that it reads."""
    budget: int = Field(2000, ge=50)
    """Tokens of evidence that a result may hold."""


class DeepSettings(Group):
    """When and how deep retrieval runs (HyMem section 3.3)."""

    sufficiency: Literal["judged", "always", "never"] = "judged"
    """Whether the light answer is judged, taken as it is, or not asked for."""
    light_k: int = Field(12, ge=1)
    """k, pieces shown to the light answer at most."""
    least_share: float = Field(0.5, ge=0, le=1)
    """Share of the best piece's score under which a piece is not shown to it; the best three are."""
    whole_turns: bool = True
    """Whether an answer is written from whole turns in the order of time, or from the pieces as they were found."""
    rough_n: int = Field(30, ge=1)
    """N, candidates of the deep selection."""
    batch: int = Field(15, ge=1)
    """d, candidates a call."""
    level2_tokens: int = Field(2000, ge=0)
    """Tokens of raw turns that backtracking may show."""
    level2_window: int = Field(1, ge=0)
    """Turns shown on each side of a source turn; within the same session."""
    whole_events: bool = False
    """Backtrack to whole events, as HyMem and ES-Mem do."""
    reflect: bool = True
    reflect_on: Literal["doubtful", "every"] = "doubtful"
    """Which answers the model reflects on: those that rules do not settle, or every one (HyMem)."""
    max_rounds: int = Field(3, ge=1)
    """T, rounds of retrieval and reflection."""
    max_calls: int = Field(20, ge=1)
    max_tokens: int = Field(20000, ge=100)
    max_seconds: float = Field(120.0, gt=0)
