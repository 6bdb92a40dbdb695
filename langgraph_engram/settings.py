"""Define every number and choice of both graphs, with its symbol, section, default and bounds.

Symbols are those of the papers: DimMem (arXiv 2605.15759), ES-Mem (2601.07582), StructMem (2604.21748) and HyMem
(2602.13933). A default without a paper is our own.
"""

from typing import Literal

from pydantic import Field

from langgraph_engram.paper_settings import PaperSettings
from langgraph_engram.schema import Action, DateOrder, Frozen

Writer = Literal["auto", "rules", "model"]
"""Who says what lasts of sessions that end, in the default preset."""
AnswerStyle = Literal["auto", "short", "full"]
"""How long an answer is: as the question asks for it, the fewest words, or full sentences."""


class ReceiveSettings(Frozen):
    """What of a message is stored."""

    secrets: Literal["keep", "mask", "refuse"] = "keep"
    """What is done about keys, tokens and numbers of payment cards: they are stored as they are, masked, or the
    messages that hold any are not stored. The receipt counts them. The same is done with edits of a record and, as
    `ENGRAM_SETTINGS` says, with values of `EngramStore`."""


class SegmentSettings(Frozen):
    """How turns become events."""

    max_turns: int = Field(40, ge=2)
    """Turns from which an event is closed whatever its topic. ES-Mem sets no limit."""


class ExtractSettings(Frozen):
    """How records are extracted from an event."""

    assistant: bool = True
    """Whether records are extracted from an assistant's turns. Without, they are neither a source nor read beside one;
    they stay stored as turns (DimMem section 3.2)."""
    passages: bool = True
    """Whether an assistant's long message, anybody's of 16,000 characters, and code, tables and lists are kept as
    passages under their headings (docs/decisions/0009). No paper has them."""
    date_order: DateOrder | None = None
    """How the user writes 03/04/2025: "day_first" or "month_first". None leaves such a date unread, unless another date
    of the same message shows the order."""
    writer: Writer = "auto"
    """Who says of sessions that ended what lasts, and notes what they came to: rules alone, the model, or the model
    where rules find anything that lasts (docs/decisions/0027). Only `engram` asks; papers have writers of their own."""
    read_tokens: int = Field(6000, ge=500)
    """Tokens of the sessions that it reads in one call; of an open session, those from which it reads."""


class VerifySettings(Frozen):
    """Whether records are verified against the turns of their event."""

    enabled: bool = True


class UpdateSettings(Frozen):
    """How near-duplicate and conflicting records are found and resolved (DimMem section 3.4)."""

    enabled: bool = True
    approve: list[Action] = []
    """Actions that wait for a person's approval."""
    jaccard: float = Field(0.3, ge=0, le=1)
    """theta_k, the minimum keyword Jaccard of a pair (DimMem section 3.4)."""
    cosine: float = Field(0.75, ge=0, le=1)
    """theta_s, the minimum cosine of a pair; .7 in DimMem (section 3.4)."""


class SynthesisSettings(Frozen):
    """Narratives across events (StructMem section 2.2)."""

    enabled: bool = True
    window_seconds: int = Field(3600, ge=1)
    """The time span of a buffer from which a synthesis is due (StructMem section 2.2)."""
    max_words: int = Field(140, ge=20)
    """Words that a synthesis is asked to keep to; a longer one is cut at twice as many."""


class RetrieveSettings(Frozen):
    """What a search looks through, and how much of it is shown."""

    intent: Literal["rules", "model"] = "rules"
    """What parses the query; in `search` always the rules."""
    routes: list[Literal["lexical", "dense", "dimension", "boundary", "synthesis", "turn"]] = [
        "lexical", "dense", "dimension", "boundary", "synthesis", "turn",
    ]  # fmt: skip
    """The routes that are searched."""
    budget: int = Field(2000, ge=50)
    """Tokens of evidence in a result at most."""
    message_budget: int = Field(550, ge=50)
    """`budget` for what bears on a message."""
    messages: bool = True
    """Whether a request, a plan or a remark is told from a question about the past; no paper does."""
    whole: bool = True
    """Whether a question that needs all of something is told from one for one thing; no paper does."""
    whole_budget: int = Field(5000, ge=50)
    """`budget` for what needs the whole (docs/decisions/0018)."""
    stop: float = Field(0.165, ge=0, le=1)
    """Strength at which a search ends, as a share of the best (docs/decisions/0016); 0 to fill the budget."""
    relevance_threshold: float = Field(0.232, ge=0, le=1)
    """Relevance of the best passage from which evidence is `partial` rather than `absent` (docs/decisions/0016)."""
    lasting_share: float = Field(0.1, ge=0, le=1)
    """Share of the budget for what lasts of what the user said: all instructions, and of the rest what is nearest to
    the query, where no route found it; 0 for none (docs/decisions/0011)."""


class DeepSettings(Frozen):
    """When and how deep retrieval runs (HyMem section 3.3)."""

    sufficiency: Literal["judged", "always", "never"] = "judged"
    """Whether light memory suffices: by the light answer, always, or never."""
    light_k: int = Field(13, ge=1)
    """k, passages that the light answer is written from at most (HyMem section 3.2)."""
    min_share: float = Field(0.4, ge=0, le=1)
    """Share of the best passage's score from which a passage is shown to it; the best three always are."""
    select_n: int = Field(30, ge=1)
    """N, candidates of the deep selection (HyMem section 3.3)."""
    select_seconds: float = Field(15.0, gt=0)
    """Seconds after which the search's own result stands in for a selection of what bears on a message."""
    level2_tokens: int = Field(2000, ge=0)
    """Tokens of the turns that backtracking adds."""
    reflect: bool = True
    """Whether answers are reflected on (HyMem section 3.4)."""
    max_rounds: int = Field(3, ge=1)
    """T, rounds of retrieval and reflection (HyMem section 3.4)."""
    max_calls: int = Field(20, ge=1)
    """Calls of the model from which no further round begins."""
    max_tokens: int = Field(20000, ge=100)
    """Tokens of prompts and answers, likewise."""
    max_seconds: float = Field(120.0, gt=0)
    """Seconds since the start, likewise."""


class AnswerSettings(Frozen):
    """How answers are worded."""

    style: AnswerStyle = "auto"
    """As long as the question asks for, the fewest words, or full sentences. Papers have a wording of their own in
    place of "auto"."""


class TraceSettings(Frozen):
    """What LangSmith and other handlers of the run around are told of the calls of a memory."""

    text: bool = True
    """Whether they see the graphs' runs with all their text; otherwise a run a call, with counts and the verdict."""


class StorageSettings(Frozen):
    """How much of a store is held in the memory of the process. What is found does not depend on it."""

    memory_limit_mb: int = Field(2000, ge=0)
    """Megabytes that scopes may take in memory: beyond it those used longest ago leave, and are read again when they
    are asked for. The scope in use stays, whatever it takes."""


class Settings(Frozen):
    """The settings of both graphs, and of the store they share."""

    preset: Literal["engram", "dimmem", "esmem", "structmem", "hymem"] = "engram"
    paper: PaperSettings | None = None
    """The numbers of the paper that a preset follows; None for `engram`."""
    receive: ReceiveSettings = ReceiveSettings()
    segment: SegmentSettings = SegmentSettings()
    extract: ExtractSettings = ExtractSettings()
    verify: VerifySettings = VerifySettings()
    update: UpdateSettings = UpdateSettings()
    synthesis: SynthesisSettings = SynthesisSettings()
    retrieve: RetrieveSettings = RetrieveSettings()
    deep: DeepSettings = DeepSettings()
    answer: AnswerSettings = AnswerSettings()
    trace: TraceSettings = TraceSettings()
    storage: StorageSettings = StorageSettings()
