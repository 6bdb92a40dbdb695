"""The presets: one `Settings` value for each paper, and `engram`, which takes the best of each.

The graphs are the same for all of them. Constants: DimMem sections 3.2-3.4, ES-Mem section 3, StructMem section 3,
HyMem section 3. What each preset leaves out, its paper leaves out.
"""

from collections.abc import Callable, Mapping

from langgraph_engram.errors import UnknownPreset
from langgraph_engram.settings import (
    AnswerSettings,
    DeepSettings,
    ExtractSettings,
    RetrieveSettings,
    SegmentSettings,
    Settings,
    SettingsGroup,
    SynthesisSettings,
    UpdateSettings,
    VerifySettings,
)


def preset(name: str, dataset: str | None = None) -> Settings:
    """Return the settings of a preset.

    Args:
        name: One of `PRESETS`.
        dataset: A data set that its paper may have settings of its own for (`VARIANTS`): "longmemeval". None, and any
            that no paper treats apart, for the preset as it is.

    Raises:
        UnknownPreset: No preset of that name.
    """
    if name not in PRESETS:
        raise UnknownPreset(f"unknown preset {name!r}: choose one of {', '.join(PRESETS)}")
    variant = VARIANTS.get((name, dataset or ""))
    return variant(PRESETS[name]) if variant else PRESETS[name]


UNLIMITED = 1_000_000
"""More than any conversation has of anything, where a paper sets no limit."""
PAPER_ONLY = VerifySettings(enabled=False)
AT_ONCE = DeepSettings(sufficiency="always", light_k=UNLIMITED, min_share=0, reflect=False, max_rounds=1)
"""One retrieval and one answer from all that it found."""
PLAIN_SEARCH = RetrieveSettings(
    budget=UNLIMITED,
    stop=0,
    relevance_weight=0,
    neighbours=[],
    first_person_query=False,
    split_comparisons=False,
    session_factor=0,
    exchange_reach=0,
    standing_share=0,
    outline_characters=0,
)
"""One search for the query as it was put."""
AS_FOUND = AnswerSettings(layout="passages", style="short")
"""Passages in the order in which they were found."""

PRESETS: dict[str, Settings] = {
    "engram": Settings(),
    "dimmem": Settings(
        preset="dimmem",
        segment=SegmentSettings(strategy="window", describe="none", context_turns=0),
        extract=ExtractSettings(strategy="dimensional", assistant=False, passages=False, shared_calls=False),
        verify=PAPER_ONLY,
        update=UpdateSettings(cosine=0.7, selective=False, ask="pairs"),
        synthesis=SynthesisSettings(enabled=False),
        retrieve=PLAIN_SEARCH.model_copy(
            update={
                "routes": ["lexical", "dimension", "dense"],
                "intent": "model",
                "fusion": "ordered_dedup",
                "top_k": 15,
                "unknown_credit": 0,
                "phrase_weight": 0.15,
                "token_weight": 0.15,
                "assistant_replies": "asked_for",
            }
        ),
        deep=AT_ONCE,
        answer=AnswerSettings(layout="passages", dimensions=True, style="reasoned"),
    ),
    "esmem": Settings(
        preset="esmem",
        segment=SegmentSettings(
            topic_chunk=1,
            judge="question",
            guarded=False,
            describe="question",
            context_turns=0,
            max_turns=UNLIMITED,
            max_topics=UNLIMITED,
            max_keywords=UNLIMITED,
        ),
        extract=ExtractSettings(strategy="none", passages=False),
        verify=PAPER_ONLY,
        update=UpdateSettings(enabled=False),
        synthesis=SynthesisSettings(enabled=False),
        retrieve=PLAIN_SEARCH.model_copy(update={"routes": ["boundary"], "fusion": "event_score", "top_k": 10}),
        deep=AT_ONCE,
        answer=AS_FOUND,
    ),
    "structmem": Settings(
        preset="structmem",
        segment=SegmentSettings(strategy="buffer", describe="none", context_turns=0),
        extract=ExtractSettings(strategy="dual", passages=False, shared_calls=False),
        verify=PAPER_ONLY,
        update=UpdateSettings(enabled=False),
        synthesis=SynthesisSettings(
            new_by="any",
            by_window=True,
            expand_tokens=UNLIMITED,
            buffer_tokens=UNLIMITED,
            shown_tokens=UNLIMITED,
            max_words=350,
        ),
        retrieve=PLAIN_SEARCH.model_copy(
            update={"routes": ["dense", "synthesis"], "fusion": "concatenate", "top_k": 60}
        ),
        deep=AT_ONCE,
        answer=AnswerSettings(layout="speakers", style="short"),
    ),
    "hymem": Settings(
        preset="hymem",
        segment=SegmentSettings(describe="none", context_turns=2, max_turns=UNLIMITED),
        extract=ExtractSettings(strategy="key_sentence", passages=False, shared_calls=False),
        verify=PAPER_ONLY,
        update=UpdateSettings(enabled=False),
        synthesis=SynthesisSettings(enabled=False),
        retrieve=PLAIN_SEARCH.model_copy(update={"routes": ["dense"], "fusion": "concatenate", "top_k": 30}),
        deep=DeepSettings(
            light_k=10,
            min_share=0,
            select_batch=50,
            whole_events=True,
            level2_tokens=UNLIMITED,
            reflect_on="every",
            max_tokens=UNLIMITED,
        ),
        answer=AnswerSettings(layout="passages", style="exhaustive", earlier=True),
    ),
}
"""The presets by name."""

Variant = Callable[[Settings], Settings]


def _dimmem_longmemeval(settings: Settings) -> Settings:
    """W, O and k for chats with an assistant, whose messages are longer (DimMem Table 11)."""
    narrower = changed(settings, "segment", window=15, overlap=3)
    return changed(narrower, "retrieve", top_k=20)


VARIANTS: Mapping[tuple[str, str], Variant] = {("dimmem", "longmemeval"): _dimmem_longmemeval}
"""What a paper sets otherwise for one data set, by preset and data set; `engram bench` asks for its own."""


def short_answers(settings: Settings) -> Settings:
    """Return settings with the shortest answers where they would be as long as a question asks for."""
    return changed(settings, "answer", style="short") if settings.answer.style == "auto" else settings


def changed(settings: Settings, group: str, **changed: object) -> Settings:
    """Change some settings of a group; names and values are checked as if they came from outside."""
    held: SettingsGroup = getattr(settings, group)
    return settings.model_copy(update={group: type(held).model_validate({**held.model_dump(), **changed})})
