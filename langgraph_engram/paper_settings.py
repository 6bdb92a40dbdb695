"""Define the numbers and choices of the four papers, each with its symbol, section, default and bounds."""

from typing import Annotated, Literal

from pydantic import Field

from langgraph_engram.schema import Frozen

UNLIMITED = 1_000_000
"""More than any conversation has of anything, where a paper sets no limit."""


class CompressedReading(Frozen):
    """What an extraction reads of each message (DimMem section 3.2 and Table 11, StructMem's code)."""

    compression: float = Field(1.0, gt=0, le=1)
    """The share of tokens that is kept; 1 for all, where the papers keep .8."""
    compression_model: str = "microsoft/llmlingua-2-bert-base-multilingual-cased-meetingbank"
    """What chooses them, by name or folder."""


class DimMemSettings(CompressedReading):
    """DimMem (arXiv 2605.15759)."""

    name: Literal["dimmem"] = "dimmem"
    window: int = Field(25, ge=1)
    """W, turns of a window (section 3.2). A turn is an utterance and the assistant's reply to it."""
    overlap: int = Field(5, ge=0)
    """O, such turns shared with the window before, read but never a source (section 3.2)."""
    waits: bool = True
    """Whether a window is read once the next begins or its session ends; until then it is turns alone (section 3.2)."""
    dimensions: bool = True
    """Whether records have dimensions; without, they are their content and when it was mentioned (section 4.3)."""
    causal: bool = True
    """Whether records have a reason and a purpose (section 4.3)."""
    all_pairs: bool = False
    """Whether all records are compared by meaning, whatever their types and keywords (Table 5, the baseline)."""

    extractor: Literal["exhaustive", "selective"] = "exhaustive"
    """Whether records are drawn from all that has substance, as from LoCoMo (Figure 7), or from what has value in the
    long run alone, as from LongMemEval (Figure 6)."""

    # Reading
    top_k: int = Field(15, ge=1)
    """k, records of each route (section 3.3)."""
    phrase_weight: float = Field(0.15, ge=0)
    """Weight of the keywords found as phrases (Eq. 7)."""
    token_weight: float = Field(0.15, ge=0)
    """Weight of the words of the keywords (Eq. 7)."""
    mention_counts: bool = True
    """Whether a record that was mentioned at the time asked about fulfils it whenever its event was (appendix A.1)."""
    assistant_replies: Literal["never", "asked_for", "always"] = "asked_for"
    """Whether the assistant's reply to what a record cites is found with it: where the query asks for the assistant's
    words (Eq. 8), or always (its "full recall")."""
    shows_dimensions: bool = True
    """Whether the reader is shown a record with its type, time, place, reason and purpose (appendix A.1)."""


class EsMemSettings(Frozen):
    """ES-Mem (arXiv 2601.07582)."""

    name: Literal["esmem"] = "esmem"
    quantile: float = Field(0.35, ge=0, le=1)
    """q, the share of weakest couplings that are candidates (section 3.1)."""
    threshold: float = Field(0.75, ge=0, le=1)
    """tau_c, the boundary probability from which a candidate opens an event (Eq. 4)."""
    context_side: int = Field(2, ge=1)
    """L, turns shown on each side of a candidate (section 3.1)."""
    boundary_side: int = Field(4, ge=1)
    """Turns shown on each side of a boundary that is described (section 3.2)."""
    windows: bool = False
    """Whether windows as DimMem cuts them take the place of events by topic (Figure 3, w/o es)."""
    boundaries: bool = True
    """Whether boundaries are described; without, events are found by their summaries alone (Figure 3, w/o bnd)."""

    # Reading
    top_k: int = Field(10, ge=1)
    """K, events that are read (section 3.3)."""
    boundary_k: int = Field(10, ge=0)
    """k, boundaries that are anchors (section 3.3); 0 to rank all events by their summaries alone."""
    boundary_window: int = Field(3, ge=0)
    """w, events on each side of an anchor (section 3.3)."""
    boundary_alpha: float = Field(0.7, ge=0, le=1)
    """alpha, the weight of the summary against the anchor (Eq. 10)."""
    event_passages: Literal["turns", "summary"] = "turns"
    """What of an event is read: its turns, or its summary in their place."""


class StructMemSettings(CompressedReading):
    """StructMem (arXiv 2604.21748)."""

    name: Literal["structmem"] = "structmem"
    buffer_tokens: int = Field(512, ge=16)
    """Tokens from which a buffer is written (section 2.1; the number is its code's)."""
    waits: bool = True
    """Whether a buffer is written once the next begins or its session ends; it is kept as turns till then."""
    relations: bool = True
    """Whether relations are extracted beside facts (Table 2)."""
    seeds: int = Field(15, ge=0)
    """K, seed records from history; 0 for the buffer alone (section 2.2)."""
    joined_query: bool = True
    """Whether seeds are near the joined texts of a buffer (section 2.2), which an encoder cuts off where they are too
    long for it; otherwise near the mean of its vectors."""

    # Reading
    top_k: int = Field(60, ge=1)
    """Records beside the syntheses (appendix A.4)."""
    synthesis_k: int = Field(5, ge=0)
    """Syntheses behind the records (appendix A.4)."""


class HyMemSettings(Frozen):
    """HyMem (arXiv 2602.13933)."""

    name: Literal["hymem"] = "hymem"
    waits: bool = True
    """Whether key sentences are drawn when a unit is whole: until then it is kept as turns (section 3.1)."""

    # Reading
    top_k: int = Field(30, ge=1)
    """N, key sentences, or whole events, that are found (section 3.3)."""
    level1: bool = True
    """Whether key sentences are searched; without, whole events by their own text (Table 2, Level 2 alone)."""
    select_batch: int = Field(50, ge=1)
    """d, candidates of one call of the deep selection (section 3.3)."""


PaperSettings = Annotated[
    DimMemSettings | EsMemSettings | StructMemSettings | HyMemSettings, Field(discriminator="name")
]
"""The settings of one paper."""
