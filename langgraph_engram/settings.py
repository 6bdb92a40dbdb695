"""Define every number and choice of both graphs, with its symbol, section, default and bounds.

Symbols are those of the papers: DimMem (arXiv 2605.15759), ES-Mem (2601.07582), StructMem (2604.21748) and HyMem
(2602.13933). A default without a paper is our own.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from langgraph_engram.schema import Action, DateOrder

PresetName = Literal["engram", "dimmem", "esmem", "structmem", "hymem"]
AnswerStyle = Literal["auto", "short", "full"]
"""How long an answer is: as the question asks for it, the fewest words, or full sentences."""
LLMLINGUA_2 = "microsoft/llmlingua-2-bert-base-multilingual-cased-meetingbank"
"""The compressor of DimMem and StructMem, by its name on the Hugging Face hub."""


class SettingsGroup(BaseModel):
    """The base of all settings: immutable, without unknown names."""

    model_config = ConfigDict(frozen=True, extra="forbid")


# --- The write graph -------------------------------------------------------------------------------------------------


class ReceiveSettings(SettingsGroup):
    """What of a message is stored."""

    secrets: Literal["keep", "mask", "refuse"] = "keep"
    """What is done about keys, tokens and numbers of payment cards: they are stored as they are, masked, or the
    messages that hold any are not stored. The receipt counts them. The same is done with edits of a record and, as
    `ENGRAM_SETTINGS` says, with values of `EngramStore`."""


class SegmentSettings(SettingsGroup):
    """How turns become events."""

    strategy: Literal["event", "window", "session", "buffer"] = "event"
    """What an event is: a topic (ES-Mem, HyMem), W turns (DimMem), a full buffer (StructMem), or a session (the code of
    HyMem)."""
    max_turns: int = Field(40, ge=2)
    """Turns from which an event is closed whatever its topic. ES-Mem sets no limit."""
    context_turns: int = Field(2, ge=0)
    """Turns before an event that are read with it, but are never a source."""

    # Windows and buffers
    window: int = Field(25, ge=1)
    """W, turns of a window (DimMem section 3.2). A turn is an utterance and the assistant's reply to it."""
    overlap: int = Field(5, ge=0)
    """O, such turns shared with the window before, read but never a source (DimMem section 3.2)."""
    buffer_tokens: int = Field(512, ge=16)
    """Tokens from which a buffer is written (StructMem section 3.1)."""

    # Topic boundaries
    judge: Literal["learned", "labels", "question"] = "learned"
    """What finds boundaries: a model over embeddings and cues that needs no call; intent labels beside the topics of a
    chunk, in one answer; or one question for each candidate (ES-Mem)."""
    topic_chunk: int = Field(20, ge=1)
    """Turns whose topics are asked for in one call; ES-Mem asks for one turn at a time."""

    # Topic boundaries under "learned"
    look_back: int = Field(30, ge=0)
    """Stored turns that are read before those of a run."""
    min_probability: float = Field(0.22, ge=0, le=1)
    """The boundary probability below which no turn opens an event, whatever the dialogue."""
    certainty_share: float = Field(0.7, ge=0, le=1)
    """Share of the threshold with the best expected F1 over the dialogue; used where that is higher. All of it counts
    where coherence alone decides."""
    min_contrast: float = Field(0.5, gt=0, le=2)
    """Range of coherence in a dialogue, in [0, 2], up to which cues count in full; from twice that on coherence alone
    decides."""
    sharpening: float = Field(0.5, ge=0)
    """Exponent by which speakers and kinds of turns that rarely open a topic in a dialogue count less there."""
    reply_penalty: float = Field(2.0, ge=0)
    """Log-odds subtracted from turns of an assistant: they rather answer than open a topic."""

    # Topic boundaries under "labels" and "question"
    quantile: float = Field(0.35, ge=0, le=1)
    """q, the share of weakest couplings that are candidates (ES-Mem Eq. 2)."""
    threshold: float = Field(0.75, ge=0, le=1)
    """tau_c, the boundary probability from which a candidate opens an event (ES-Mem Eq. 4)."""
    guarded: bool = True
    """Require the likeliest label to be a shift; ES-Mem Eq. 3-4 also accept continuations of low confidence."""
    context_side: int = Field(2, ge=1)
    """L, turns shown on each side of a candidate (ES-Mem section 3.1)."""

    # Summaries of events and boundaries
    max_topics: int = Field(4, ge=2)
    """Topics of an event's summary, the first and the last ones. ES-Mem sets no limit."""
    max_keywords: int = Field(12, ge=0)
    """Keywords of an event's summary, the first ones. ES-Mem sets no limit."""
    name_keywords: int = Field(4, ge=1)
    """Keywords in the title of an event whose topic no model has named."""
    describe: Literal["from_topics", "question", "none"] = "from_topics"
    """How boundaries are described: from the topics, by a question of their own (ES-Mem), or not at all."""
    boundary_side: int = Field(4, ge=1)
    """Turns shown on each side of a boundary that is described (ES-Mem section 3.2)."""

    @property
    def tracks_topics(self) -> bool:
        """Return whether the model is asked for the topic of each turn: to find events by, or to name windows by."""
        return self.judge != "learned" and (self.strategy == "event" or self.describe != "none")

    @property
    def preceding_turns(self) -> int:
        """Return how many turns before an event are read with it: under windows, those of the overlap."""
        return self.overlap if self.strategy == "window" else self.context_turns


class ExtractSettings(SettingsGroup):
    """How records are extracted from an event."""

    strategy: Literal["dimensional_relational", "dimensional", "dual", "factual", "key_sentence", "none"] = (
        "dimensional_relational"
    )
    """What is extracted: dimensional records (DimMem) with or without relations, facts with or without relations
    (StructMem: "dual", "factual"), key sentences (HyMem), or nothing (ES-Mem)."""
    assistant: bool = True
    """Whether records are extracted from an assistant's turns. Without, they are neither a source nor read beside one;
    they stay stored as turns (DimMem section 3.2)."""
    passages: bool = True
    """Whether an assistant's long message, and code, tables and lists in anybody's, are kept as passages under their
    headings (docs/decisions/0039). No paper has them."""
    dimensions: bool = True
    """Whether records have dimensions: type, time, place, reason, purpose and keywords. Without, they are their content
    and when it was mentioned (DimMem section 4.3, content-only)."""
    causal: bool = True
    """Whether records have a reason and a purpose."""
    date_order: DateOrder | None = None
    """How the user writes 03/04/2025: "day_first" or "month_first". None leaves such a date unread, unless another date
    of the same message shows the order."""

    # Calls
    method: Literal["auto", "written", "labelled"] = "auto"
    """Whether the model writes records, or labels sentences that are stored as they were said. "auto" lets it write
    until it turns out unable to: it puts a conversation into one record, or leaves nearly all of it out."""
    label_sentences: int = Field(25, ge=1)
    """Sentences labelled in one call."""
    call_tokens: int = Field(1200, ge=50)
    """Tokens of the events that share one call; a longer event has a call of its own."""
    shared_calls: bool = True
    """Whether several short events may share a call."""
    max_records_per_call: int = Field(400, ge=1)
    """Records of one answer, where it has no more sentences; the limit for a model that repeats itself."""

    # Prompt compression
    compress_rate: float | None = Field(None, gt=0, le=1)
    """Share of words that the model reads; None for all. What is stored is never compressed (DimMem: .8; StructMem:
    .6 to .8)."""
    compress_model: str = LLMLINGUA_2
    """An LLMLingua-2 model on the Hugging Face hub, or its folder."""


class VerifySettings(SettingsGroup):
    """How records are verified against the turns of their event."""

    enabled: bool = True
    min_said: float = Field(0.5, ge=0, le=1)
    """Share of a record's content stems that must have been said in its event."""
    recycled_share: float = Field(0.9, ge=0, le=1)
    """Share of an assistant's words in a stored record from which they are recycled memory."""


class UpdateSettings(SettingsGroup):
    """How near-duplicate and conflicting records are found and resolved (DimMem section 3.4)."""

    enabled: bool = True
    approve: list[Action] = []
    """Actions that wait for a person's approval."""

    # Pairs
    filter: Literal["dimensions", "embedding"] = "dimensions"
    """What is compared by meaning: records of one type that share keywords, or all (DimMem Table 5, the baseline)."""
    jaccard: float = Field(0.3, ge=0, le=1)
    """theta_k, the minimum keyword Jaccard of a pair (DimMem section 3.4)."""
    cosine: float = Field(0.75, ge=0, le=1)
    """theta_s, the minimum cosine of a pair; .7 in DimMem (section 3.4)."""
    standing_cosine: float = Field(0.6, ge=0, le=1)
    """Minimum cosine of a pair of standing statements of one kind, whatever their keywords; where `selective`."""
    selective: bool = True
    """Whether only records that may change one another are compared, by informative words; DimMem compares all."""
    common_share: float = Field(0.01, ge=0, le=1)
    """Share of a scope's records from which a word that they hold is not informative."""
    common_floor: int = Field(10, ge=1)
    """Records of a scope that may hold an informative word, however small the scope."""
    min_shared_words: int = Field(2, ge=0)
    """Informative words that the contents of a pair must share."""

    # Calls
    ask: Literal["clusters", "pairs"] = "clusters"
    """What a question holds: clusters, up to `call_tokens`, or one pair (DimMem section 3.4)."""
    max_cluster: int = Field(8, ge=2)
    """Records of a cluster; a larger one is split at its weakest links."""
    call_tokens: int = Field(1200, ge=50)
    """Tokens of the clusters that share one question; a longer cluster has a question of its own."""


class SynthesisSettings(SettingsGroup):
    """Narratives across events (StructMem section 3.3)."""

    enabled: bool = True
    method: Literal["auto", "written", "quoted"] = "auto"
    """Whether the model writes narratives, or they quote the most central sentences. "auto" lets it write until the
    extraction of records shows that it is unable to."""
    new_by: Literal["models", "any", "none"] = "models"
    """Who writes new syntheses: a language model, rules too, which quote records (which was measured to add nothing to
    what is found), or nobody. A stale one is always written anew."""

    # When a synthesis is due
    window_seconds: int = Field(3600, ge=1)
    """The time span of a buffer from which a synthesis is due (StructMem section 3.3)."""
    by_window: bool = False
    """Whether each full window of time is a synthesis of its own (StructMem), or a buffer is summarized as a whole."""
    at_session_close: bool = True
    """Whether the end of a session makes a synthesis due."""
    min_buffer_tokens: int = Field(900, ge=0)
    """Tokens of a buffer from which it is due, not `by_window`; a session that ends with fewer waits for the next."""

    # What it is written from
    seeds: int = Field(15, ge=0)
    """K, seed records from history; 0 for the buffer alone (StructMem section 2.2)."""
    expand: Literal["event", "utterance"] = "utterance"
    """What a seed brings with it: the records of its event, or those of the utterance that it is from, which is what
    has the same timestamp in StructMem (Eq. 4)."""
    expand_tokens: int = Field(100, ge=0)
    """Tokens of history shown beside the buffer. StructMem sets no limit."""
    buffer_tokens: int = Field(4000, ge=50)
    """Tokens of buffer in one synthesis; a longer buffer has several. StructMem sets no limit."""
    shown_tokens: int = Field(380, ge=0)
    """Tokens of a buffer that it is written from: of each event in turn what has a time, then what is most central.
    StructMem shows all."""
    max_words: int = Field(140, ge=20)
    """Words that a synthesis is asked to keep to; a longer one is cut at twice as many."""


# --- The read graph --------------------------------------------------------------------------------------------------


class RetrieveSettings(SettingsGroup):
    """The light routes, their fusion and the relevance of what they find."""

    intent: Literal["rules", "model"] = "rules"
    """What parses the query; in `search` always the rules."""
    routes: list[Literal["lexical", "dense", "dimension", "boundary", "synthesis", "turn"]] = [
        "lexical", "dense", "dimension", "boundary", "synthesis", "turn",
    ]  # fmt: skip
    """The routes that are searched, in order."""
    fusion: Literal["weighted", "reciprocal_rank", "ordered_dedup", "event_score", "event_text", "concatenate"] = (
        "weighted"
    )
    """How the routes become one ranking: a weighted sum, reciprocal ranks (Cormack et al. 2009), route after route
    without repeats (DimMem), events by boundary and summary (ES-Mem), events by their raw text (HyMem Table 2, Level 2
    alone), or records then narratives (StructMem)."""
    budget: int = Field(2000, ge=50)
    """Tokens of evidence in a result at most."""
    stop: float = Field(0.165, ge=0, le=1)
    """Strength at which a search ends, as a share of the best (docs/decisions/0037); 0 to fill the budget."""
    relevance_weight: float = Field(0.15, ge=0)
    """Power of the odds of relevance in a passage's strength, which orders passages; 0 for the fusion's order."""
    relevance_threshold: float = Field(0.232, ge=0, le=1)
    """Relevance of the best passage from which evidence is `partial` rather than `absent` (docs/decisions/0030)."""

    # Queries
    first_person_query: bool = True
    """Search for a query about one person in the first person: "I" in place of the name."""
    split_comparisons: bool = True
    """Search also for each of two things whose times a query compares."""

    # Lexical, dense and turn routes
    neighbours: list[float] = [0.6, 0.4, 0.2]
    """Weights of the records at distance 1, 2, ... in a record's score; none in the papers."""
    turn_neighbours: list[float] = [1.0, 1.0, 0.5]
    """Weights of the turns at distance 1, 2, ... in a turn's score."""

    # Dimension route; weights are renormalised over the constraints that a query has (DimMem Eq. 7)
    type_weight: float = Field(0.15, ge=0)
    """Weight of the memory type."""
    time_weight: float = Field(0.30, ge=0)
    """Weight of the time."""
    location_weight: float = Field(0.20, ge=0)
    """Weight of the location."""
    phrase_weight: float = Field(0.0, ge=0)
    """Weight of the keywords found as phrases (DimMem: .15); in the lexical route under `engram`."""
    token_weight: float = Field(0.0, ge=0)
    """Weight of the words of the keywords (DimMem: .15); in the lexical route under `engram`."""
    reason_weight: float = Field(0.15, ge=0)
    """Weight of the reason (DimMem Eq. 7 names it and gives no weight)."""
    purpose_weight: float = Field(0.15, ge=0)
    """Weight of the purpose (as the reason's)."""
    unknown_credit: float = Field(0.5, ge=0, le=1)
    """Score of a constrained dimension that a record leaves open; 0 in the papers."""

    # Boundary route
    boundary_k: int = Field(10, ge=0)
    """k, boundaries that are anchors (ES-Mem section 3.3); 0 to rank all events by their summaries alone."""
    boundary_window: int = Field(3, ge=0)
    """w, events on each side of an anchor (ES-Mem section 3.3)."""
    boundary_alpha: float = Field(0.7, ge=0, le=1)
    """alpha, the weight of the summary against the anchor (ES-Mem Eq. 7)."""

    # Weighted fusion: routes
    lexical_weight: float = Field(0.4, ge=0)
    """Weight of the lexical route."""
    dense_weight: float = Field(0.3, ge=0)
    """Weight of the dense route."""
    first_person_dense_weight: float = Field(0.5, ge=0)
    """Weight of the dense route without neighbours."""
    turn_weight: float = Field(0.75, ge=0)
    """Weight of the turn route."""
    dimension_weight: float = Field(0.25, ge=0)
    """Weight of the dimension route."""
    event_weight: float = Field(0.1, ge=0)
    """Weight of the boundary route."""
    synthesis_weight: float = Field(0.05, ge=0)
    """Weight of the synthesis route."""

    # Weighted fusion: preferences
    speaker_weight: float = Field(0.5, ge=0)
    """Added to memories of a person whom the query names."""
    mention_time_weight: float = Field(0.65, ge=0)
    """Added to records mentioned within the time that the query is about."""
    answer_weight: float = Field(0.45, ge=0)
    """Added to records that hold the type of answer that the query expects: a time, a place, a name, a number."""
    content_weight: float = Field(0.25, ge=0)
    """Added to records that name something, where the query expects no such type."""
    length_weight: float = Field(0.25, ge=0)
    """Added to memories for each factor of e in their length, from 100 characters on."""
    question_weight: float = Field(0.5, ge=0)
    """Subtracted from questions."""
    image_weight: float = Field(0.15, ge=0)
    """Subtracted from records of what an image shows."""
    assistant_penalty: float = Field(0.8, ge=0)
    """Subtracted from an assistant's words, unless the query asks for them."""
    superseded_margin: float = Field(0.25, ge=0)
    """Margin by which a superseded record must score above its successor, unless the query asks for the past."""

    # Weighted fusion: passages
    repeat_factor: float = Field(0.06, ge=0, le=1)
    """Share of its score that each further record of one turn loses: distinct evidence first."""
    passage_repeat_factor: float = Field(0.3, ge=0, le=1)
    """The same for each further passage of one message: they are long, and rarely more than one is asked for."""
    join_factor: float = Field(0.85, ge=0, le=1)
    """Share of a passage's score from which a further record of its turns joins it."""
    exchange_factor: float = Field(0.65, ge=0, le=1)
    """Share of a passage's score from which a record of another turn of the exchange joins it."""
    exchange_reach: int = Field(2, ge=0)
    """Turns between sentences of one exchange in a search; 0 for passages of one turn."""
    excerpt_characters: int = Field(500, ge=50)
    """Characters that are shown of a passage of a long message."""
    session_factor: float = Field(0.1, ge=0, le=1)
    """Share of its score that each further passage of a session loses, where the query asks for an aggregate over
    sessions; 0 in the papers."""

    # Broad queries
    outline_budget: int = Field(4000, ge=50)
    """`budget` for a query for a summary or a timeline."""
    outline_characters: int = Field(260, ge=0)
    """Characters of the line that a query for a summary or a timeline is shown of what a person said; 0 to show such a
    query the passages of any other (docs/decisions/0042)."""
    whole_tokens: int = Field(500, ge=0)
    """Tokens of whole passages after which any other query is shown lines too, of turns that none of them is from."""
    outline_stop: float = Field(0.08, ge=0, le=1)
    """`stop` for such a query: what it asks for is in many exchanges, the last of them much weaker than the first."""
    outline_syntheses: int = Field(2, ge=0)
    """Syntheses that a summary begins with, of those that a language model wrote; 0 for none."""
    outline_reply_characters: int = Field(140, ge=1)
    """Characters of the line of an assistant's reply in a summary: its headings, or how it begins."""

    # Fusions of the papers
    top_k: int = Field(20, ge=1)
    """Records of each route (DimMem: 20; StructMem: 60), or events (ES-Mem: K)."""
    event_passages: Literal["turns", "summary"] = "turns"
    """What of an event is found: its turns, or its summary in their place."""
    assistant_replies: Literal["never", "asked_for", "always"] = "never"
    """Whether the assistant's reply to what a record cites is found with it: where the query asks for the assistant's
    words (DimMem Eq. 8), or always (its "full recall")."""
    synthesis_k: int = Field(5, ge=0)
    """Syntheses beside the records (StructMem section 3.4)."""
    rrf_k: int = Field(60, ge=1)
    """The constant of reciprocal rank fusion (Cormack et al. 2009)."""

    # Standing statements
    standing_share: float = Field(0.1, ge=0, le=1)
    """Share of the budget for the user's standing instructions, and the preferences and facts about them that are
    nearest to the query, where no route found them; 0 for none (docs/decisions/0040)."""
    standing_k: int = Field(3, ge=0)
    """Preferences and facts about the user among them, at most."""
    standing_cosine: float = Field(0.2, ge=0, le=1)
    """Minimum cosine of such a preference or fact with the query; instructions bear on any."""

    # Reranking
    rerank_model: str | None = None
    """A cross-encoder that reorders the best passages, on the Hugging Face hub or in a folder; None for none."""
    rerank_n: int = Field(50, ge=1)
    """Passages that are reranked."""


class DeepSettings(SettingsGroup):
    """When and how deep retrieval runs (HyMem section 3.3)."""

    # The light answer
    sufficiency: Literal["judged", "always", "never"] = "judged"
    """Whether light memory suffices: by the light answer, always, or never."""
    light_k: int = Field(13, ge=1)
    """k, passages that the light answer is written from at most (HyMem section 3.3)."""
    min_share: float = Field(0.4, ge=0, le=1)
    """Share of the best passage's score from which a passage is shown to it; the best three always are."""

    # Selection and backtracking
    select_n: int = Field(30, ge=1)
    """N, candidates of the deep selection (HyMem section 3.3)."""
    select_batch: int = Field(15, ge=1)
    """d, candidates of one call (HyMem section 3.3: 50)."""
    level2_tokens: int = Field(2000, ge=0)
    """Tokens of the turns that backtracking adds."""
    level2_window: int = Field(1, ge=0)
    """Turns added on each side of a source turn, within its session."""
    whole_events: bool = False
    """Backtrack to whole events (HyMem, ES-Mem)."""

    # Reflection
    reflect: bool = True
    """Whether answers are reflected on (HyMem section 3.4)."""
    reflect_on: Literal["doubtful", "every"] = "doubtful"
    """Which answers the model reflects on: those that the rules cannot confirm, or every one (HyMem)."""
    max_rounds: int = Field(3, ge=1)
    """T, rounds of retrieval and reflection (HyMem section 3.4)."""

    # Budgets of one recall, from which no further round begins
    max_calls: int = Field(20, ge=1)
    """Calls of the model."""
    max_tokens: int = Field(20000, ge=100)
    """Tokens of prompts and answers."""
    max_seconds: float = Field(120.0, gt=0)
    """Seconds since the start."""


class AnswerSettings(SettingsGroup):
    """What the reader of an answer is shown, and how it words the answer."""

    layout: Literal["turns", "passages", "speakers"] = "turns"
    """Whole turns in the order of time, passages as they were found, or records by speaker and the syntheses after
    them (StructMem appendix A.5)."""
    dimensions: bool = False
    """Whether a record is shown with its type, time, place, reason and purpose (DimMem appendix A.1)."""
    style: AnswerStyle | Literal["reasoned", "exhaustive"] = "auto"
    """As long as the question asks for, the fewest words, or full sentences; or, as papers have it, the fewest words
    after a short reasoning (DimMem appendix E), or all that is possible, without refusing once retrieval went deep
    (HyMem appendix B)."""
    earlier: bool = False
    """Whether the answers of earlier rounds are shown beside the memories (HyMem Algorithm 1)."""


def styled(settings: AnswerSettings, style: AnswerStyle | None) -> AnswerSettings:
    """Return the settings with another style of answers; as they are for None."""
    return settings.model_copy(update={"style": style}) if style else settings


class TraceSettings(SettingsGroup):
    """What LangSmith and other handlers of the run around are told of the calls of a memory."""

    text: bool = True
    """Whether they see the graphs' runs with all their text; otherwise a run a call, with counts and the verdict."""


class StorageSettings(SettingsGroup):
    """How much of a store is held in the memory of the process. What is found does not depend on it."""

    memory_limit_mb: int = Field(2000, ge=0)
    """Megabytes that scopes may take in memory: beyond it those used longest ago leave, and are read again when they
    are asked for. The scope in use stays, whatever it takes."""
    scopes_in_memory: int = Field(64, ge=1)
    """Scopes in memory at most."""
    vectors_on_disk_from: int = Field(50_000, ge=1)
    """Items of one kind in a scope, such as records, from which their vectors are in a file of the store's folder and
    not in memory; the system reads what a search needs. A store without a folder holds all in memory."""


class Settings(SettingsGroup):
    """The settings of both graphs, and of the store they share."""

    preset: PresetName = "engram"
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
