"""Every number of both graphs and of chat models: one group for each step, `Settings` for all of them.

Papers: DimMem (arXiv 2605.15759), ES-Mem (2601.07582), StructMem (2604.21748), HyMem (2602.13933).
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from langgraph_engram.schema import Action, DateOrder


class Group(BaseModel):
    """The base of a group of settings: immutable, closed to unknown names."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ChatSettings(Group):
    """How a chat model is called."""

    structured_methods: list[Literal["json_schema", "function_calling", "json_object_schema", "json_prompt"]] = [
        "json_schema", "function_calling", "json_object_schema", "json_prompt",
    ]  # fmt: skip
    """Ways to ask for JSON, tried in this order; the first that works is remembered."""
    temperature: float = Field(0.0, ge=0, le=2)
    timeout_seconds: float = Field(60.0, gt=0)
    max_completion_tokens: int = Field(4096, ge=16)
    retries: int = Field(4, ge=0)
    """Further attempts after a rate limit, a time-out or a server error, with growing pauses."""
    concurrency: int = Field(4, ge=1)
    """Questions in flight at once."""


class RetrieveSettings(Group):
    """The light routes and their fusion."""

    routes: list[Literal["lexical", "dense", "dimension", "boundary", "synthesis", "turn"]] = [
        "lexical", "dense", "dimension", "boundary", "synthesis", "turn",
    ]  # fmt: skip
    intent: Literal["rules", "model"] = "rules"
    """What parses the query. Rules cost nothing; `search` always uses them."""
    fusion: Literal["weighted", "reciprocal_rank", "ordered_dedup", "event_score", "concatenate"] = "weighted"
    top_k: int = Field(20, ge=1)
    """Records that each route gives under the papers' fusions (DimMem: 20; StructMem: 60)."""
    synthesis_k: int = Field(5, ge=0)
    """Syntheses beside the records (StructMem section 3.4)."""
    neighbours: list[float] = [0.6, 0.4, 0.2]
    """Weights of the records one, two, ... positions before and after in a record's score; none under the papers'."""
    turn_neighbours: list[float] = [1.0, 1.0, 0.5]
    """The same for turns."""
    lexical_weight: float = Field(0.4, ge=0)
    dense_weight: float = Field(0.3, ge=0)
    first_person_dense_weight: float = Field(0.5, ge=0)
    """The dense route without the neighbours' scores."""
    turn_weight: float = Field(0.75, ge=0)
    dimension_weight: float = Field(0.25, ge=0)
    event_weight: float = Field(0.1, ge=0)
    synthesis_weight: float = Field(0.05, ge=0)
    """Weights of the routes in the weighted fusion."""
    first_person_query: bool = True
    """Search for what is asked about one person in that person's words: "I" for the name."""
    by_parts: bool = True
    """Search for each of two things whose times a query compares, too."""
    speaker_weight: float = Field(0.5, ge=0)
    """What records of a person whom the query names gain in the weighted fusion."""
    mention_time_weight: float = Field(0.65, ge=0)
    """What records gain that were mentioned within the time the query is about."""
    answer_weight: float = Field(0.45, ge=0)
    """What records gain that hold what the expected answer is made of: a time, a place, a name, a number."""
    content_weight: float = Field(0.25, ge=0)
    """What records gain that name something, where the query expects no such answer."""
    length_weight: float = Field(0.25, ge=0)
    """What records gain by each factor of e that they say more, from 100 characters on."""
    question_weight: float = Field(0.5, ge=0)
    """What records lose that only ask."""
    assistant_penalty: float = Field(0.8, ge=0)
    """What an assistant's words lose, unless the query asks for them."""
    superseded_margin: float = Field(0.25, ge=0)
    """How much higher than its successor a superseded record must score, if the query is not for the past."""
    image_weight: float = Field(0.15, ge=0)
    """What records lose that only say what an image shows."""
    repeat_factor: float = Field(0.06, ge=0, le=1)
    """Share of its score that each further record of one turn loses: distinct evidence first."""
    join_factor: float = Field(0.85, ge=0, le=1)
    """Share of a passage's score from which a further record of the same turn joins the passage."""
    exchange_factor: float = Field(0.65, ge=0, le=1)
    """Share from which a record of another turn of the same exchange joins it; a turn more is worth more."""
    exchange_reach: int = Field(2, ge=0)
    """Turns between the sentences of one passage at most, in a search; 0 for passages of one turn."""
    session_factor: float = Field(0.1, ge=0, le=1)
    """Share of its score that each further passage of a session loses, where a query adds up over sessions."""
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
    """A cross-encoder, on the hub or in a folder, that reorders the best passages; None for none."""
    rerank_n: int = Field(50, ge=1)
    """Passages that it reads."""
    relevance_threshold: float = Field(0.232, ge=0, le=1)
    """Relevance from which a passage is taken to hold what is asked for; the best one decides (fitted, decision 30)."""
    budget: int = Field(2000, ge=50)
    """Tokens of evidence that a result may hold."""


class DeepSettings(Group):
    """When and how deep retrieval runs (HyMem section 3.3)."""

    sufficiency: Literal["judged", "always", "never"] = "judged"
    """Whether the light answer is judged, taken as it is, or not asked for."""
    light_k: int = Field(12, ge=1)
    """k, passages shown to the light answer at most."""
    least_share: float = Field(0.5, ge=0, le=1)
    """Share of the best passage's score below which a passage is not shown to it; the best three always are."""
    whole_turns: bool = True
    """Whether an answer is written from whole turns in the order of time, or from the passages as they were found."""
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


LLMLINGUA_2 = "microsoft/llmlingua-2-bert-base-multilingual-cased-meetingbank"
"""The compressor that DimMem and StructMem use, by its name on the hub."""


class SegmentSettings(Group):
    """How turns become events."""

    strategy: Literal["event", "window", "session", "buffer"] = "event"
    window: int = Field(25, ge=1)
    """W, turns a window (DimMem section 3.2; 25 for dialogues of two people)."""
    overlap: int = Field(5, ge=0)
    """O, turns shared with the window before, read but never a source (DimMem section 3.2)."""
    buffer_tokens: int = Field(512, ge=16)
    """Tokens that a buffer holds before it is written (StructMem section 3.1)."""
    topic_chunk: int = Field(20, ge=1)
    """Turns whose topics are asked for in one call. ES-Mem asks for one at a time."""
    judge: Literal["learned", "labels", "question"] = "learned"
    """What finds boundaries: a small statistical model over embeddings and cues; intent labels beside the topics
    of a chunk in one answer; or one question a candidate (ES-Mem)."""
    look_back: int = Field(30, ge=0)
    """Stored turns that the learned judge reads before a run's."""
    least_probability: float = Field(0.22, ge=0, le=1)
    """The learned probability below which nothing opens an event, whatever the dialogue."""
    certainty_share: float = Field(0.8, ge=0, le=1)
    """Share of the threshold best for the expected F1 of the dialogue, where that is higher."""
    sharpening: float = Field(0.5, ge=0)
    """Exponent by which speakers and kinds of turns that seldom open a subject in a dialogue count less there."""
    reply_penalty: float = Field(2.0, ge=0)
    """Log-odds taken from turns of an assistant: they answer more often than they open a subject."""
    quantile: float = Field(0.35, ge=0, le=1)
    """q, the share of weakest couplings that are candidates (ES-Mem Eq. 2)."""
    threshold: float = Field(0.75, ge=0, le=1)
    """tau_c, the boundary probability from which a candidate opens an event (ES-Mem Eq. 4); not under "learned"."""
    guarded: bool = True
    """Require the likeliest label to be a shift: ES-Mem Eq. 3-4 also accept continuations of low confidence."""
    context_side: int = Field(2, ge=1)
    """L, turns shown on each side of a candidate (ES-Mem section 3.1)."""
    boundary_side: int = Field(4, ge=1)
    """Turns shown on each side of a boundary that is described (ES-Mem section 3.2)."""
    context_turns: int = Field(2, ge=0)
    """Read-only turns given with each event under `engram`."""
    max_turns: int = Field(40, ge=2)
    """An event this long is closed whatever its topic."""
    most_topics: int = Field(4, ge=2)
    most_keywords: int = Field(12, ge=0)
    """Topics, the first and the last ones, and first keywords that sum up an event. ES-Mem sets no limit."""
    name_keywords: int = Field(4, ge=1)
    """Keywords that name an event of which no model has noted what it is about."""
    describe: Literal["from_topics", "question", "none"] = "from_topics"
    """Where boundary texts come from: the topic answer, a question of their own (ES-Mem), or nowhere."""

    @property
    def read_beside(self) -> int:
        """Return how many turns just before an event are read beside it: those of the overlap, where windows slide."""
        return self.overlap if self.strategy == "window" else self.context_turns


class ExtractSettings(Group):
    """What is extracted from an event."""

    strategy: Literal["dimensional_relational", "dimensional", "dual", "key_sentence", "none"] = (
        "dimensional_relational"
    )
    drafting: Literal["auto", "written", "labelled"] = "auto"
    """Whether the model writes records, or labels sentences that are kept as they were said. "auto" lets it write until
    it has shown that it cannot: it lumps a conversation into one record, or leaves nearly all of it out."""
    label_sentences: int = Field(25, ge=1)
    """Sentences that are labelled in one call."""
    call_tokens: int = Field(1200, ge=50)
    """Text of events that share one call, in tokens; an event above it goes alone."""
    shared_calls: bool = True
    """Let several short events share a call."""
    date_order: DateOrder | None = None
    """How the user writes 03/04/2025: "day_first" or "month_first". None leaves such a date unread, unless another date
    of the same message shows the order."""
    causal: bool = True
    """Whether records carry reason and purpose."""
    max_records_per_call: int = Field(400, ge=1)
    """Records taken from one answer, where it has no more sentences; a model that repeats itself stops here."""
    compress_rate: float | None = Field(None, gt=0, le=1)
    """Share of words that a model reads; None for all. What is stored stays whole (DimMem: .8; StructMem: .6 to .8)."""
    compress_model: str = LLMLINGUA_2
    """What selects the words: an LLMLingua-2 model on the hub, or its folder."""


class VerifySettings(Group):
    """The evidence gate."""

    enabled: bool = True
    least_said: float = Field(0.5, ge=0, le=1)
    """Least share of a record's content stems that were said in its event."""
    recycled_share: float = Field(0.9, ge=0, le=1)
    """Share of an assistant's words that a stored record holds, from which they are recycled memory."""


class UpdateSettings(Group):
    """How records that resemble one another are found and decided on (DimMem section 3.4)."""

    enabled: bool = True
    jaccard: float = Field(0.3, ge=0, le=1)
    """theta_k, least keyword Jaccard of a pair (DimMem section 3.4)."""
    cosine: float = Field(0.7, ge=0, le=1)
    """theta_s, least cosine of a pair (DimMem section 3.4)."""
    selective: bool = True
    """Compare only what may change, by the words that say something in its scope; the paper compares all by all."""
    common_share: float = Field(0.01, ge=0, le=1)
    """Share of a scope's records from which on a word is common and says nothing about any single one of them."""
    common_floor: int = Field(10, ge=1)
    """Records that may hold a word in any scope before it is common."""
    least_shared: int = Field(2, ge=0)
    """Words that say something which a pair must share in its content."""
    ask: Literal["clusters", "pairs"] = "clusters"
    """What one question holds: clusters, packed up to `call_tokens`, or one pair (DimMem section 3.4)."""
    max_cluster: int = Field(8, ge=2)
    """Records of a cluster that are decided on together; a larger one is split at its weakest links."""
    call_tokens: int = Field(1200, ge=50)
    """Text of the clusters that share one question, in tokens; a cluster above it goes alone."""
    approve: list[Action] = []
    """Kinds of decision that wait for a person's approval before they are carried out."""


class SynthesisSettings(Group):
    """Narratives across events (StructMem section 3.3)."""

    enabled: bool = True
    drafting: Literal["auto", "written", "quoted"] = "auto"
    """Whether the model writes them, or they quote the most central sentences. "auto" lets it write until it has shown,
    by the records it was asked for, that it cannot."""
    window_seconds: int = Field(3600, ge=1)
    """The buffered span that triggers a synthesis."""
    by_window: bool = False
    """Whether each full window of time is a synthesis of its own, as in the paper; else a buffer is one."""
    at_session_close: bool = True
    least_buffer: int = Field(500, ge=0)
    """Tokens that a buffer holds before its span alone makes it due; none `by_window`, nor where a session closes."""
    seeds: int = Field(15, ge=1)
    """K, seed records from history."""
    expand_tokens: int = Field(1500, ge=0)
    """Tokens of history shown beside the buffer; the paper sets no limit."""
    buffer_tokens: int = Field(4000, ge=50)
    """Tokens of buffer that one synthesis covers; a larger one is split. The paper sets no limit."""
    most_words: int = Field(350, ge=20)
    """Words that a synthesis is asked to keep to; one that runs on is cut at twice as many."""


__all__ = [
    "LLMLINGUA_2",
    "ChatSettings",
    "DeepSettings",
    "ExtractSettings",
    "Group",
    "PresetName",
    "RetrieveSettings",
    "SegmentSettings",
    "Settings",
    "SynthesisSettings",
    "UpdateSettings",
    "VerifySettings",
]

PresetName = Literal["engram", "dimmem", "esmem", "structmem", "hymem"]


class Settings(Group):
    """Every number of both graphs."""

    preset: PresetName = "engram"
    segment: SegmentSettings = SegmentSettings()
    extract: ExtractSettings = ExtractSettings()
    verify: VerifySettings = VerifySettings()
    update: UpdateSettings = UpdateSettings()
    synthesis: SynthesisSettings = SynthesisSettings()
    retrieve: RetrieveSettings = RetrieveSettings()
    deep: DeepSettings = DeepSettings()
