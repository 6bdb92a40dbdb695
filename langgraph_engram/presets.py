"""The presets: one `Settings` value for each paper, and `engram`, which takes the best of each.

The graphs are the same for all of them. Constants: DimMem sections 3.2-3.4, ES-Mem section 3, StructMem section 3,
HyMem section 3. What each preset leaves out, its paper leaves out.
"""

from collections.abc import Callable, Iterable, Mapping

from langgraph_engram.errors import InvalidInput, UnknownPreset
from langgraph_engram.settings import (
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
AT_ONCE = DeepSettings(sufficiency="always", light_k=10, min_share=0, whole_turns=False, reflect=False, max_rounds=1)
"""One retrieval and one answer from all that it found."""
PLAIN_SEARCH = RetrieveSettings(
    neighbours=[], first_person_query=False, split_comparisons=False, session_factor=0, exchange_reach=0
)
"""One search for the query as it was put."""

PRESETS: dict[str, Settings] = {
    "engram": Settings(),
    "dimmem": Settings(
        preset="dimmem",
        segment=SegmentSettings(strategy="window", describe="none", context_turns=0),
        extract=ExtractSettings(strategy="dimensional", assistant=False, shared_calls=False),
        verify=PAPER_ONLY,
        update=UpdateSettings(selective=False, ask="pairs"),
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
            }
        ),
        deep=AT_ONCE.model_copy(update={"light_k": 45}),
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
        extract=ExtractSettings(strategy="none"),
        verify=PAPER_ONLY,
        update=UpdateSettings(enabled=False),
        synthesis=SynthesisSettings(enabled=False),
        retrieve=PLAIN_SEARCH.model_copy(update={"routes": ["boundary"], "fusion": "event_score", "top_k": 10}),
        deep=AT_ONCE.model_copy(update={"whole_events": True}),
    ),
    "structmem": Settings(
        preset="structmem",
        segment=SegmentSettings(strategy="buffer", describe="none", context_turns=0),
        extract=ExtractSettings(strategy="dual", shared_calls=False),
        verify=PAPER_ONLY,
        update=UpdateSettings(enabled=False),
        synthesis=SynthesisSettings(
            by_window=True, expand="utterance", expand_tokens=UNLIMITED, buffer_tokens=UNLIMITED
        ),
        retrieve=PLAIN_SEARCH.model_copy(
            update={"routes": ["dense", "synthesis"], "fusion": "concatenate", "top_k": 60}
        ),
        deep=AT_ONCE.model_copy(update={"light_k": 65}),
    ),
    "hymem": Settings(
        preset="hymem",
        segment=SegmentSettings(describe="none", context_turns=2, max_turns=UNLIMITED),
        extract=ExtractSettings(strategy="key_sentence", shared_calls=False),
        verify=PAPER_ONLY,
        update=UpdateSettings(enabled=False),
        synthesis=SynthesisSettings(enabled=False),
        retrieve=PLAIN_SEARCH.model_copy(update={"routes": ["dense"], "fusion": "concatenate", "top_k": 30}),
        deep=DeepSettings(
            light_k=10,
            min_share=0,
            select_batch=50,
            whole_turns=False,
            whole_events=True,
            level2_tokens=100_000,
            reflect_on="every",
        ),
    ),
}
"""The presets by name."""

Variant = Callable[[Settings], Settings]


def _dimmem_longmemeval(settings: Settings) -> Settings:
    """W, O and k for chats with an assistant, whose messages are longer (DimMem Table 11), and k of three routes."""
    narrower = _changed(settings, "segment", window=15, overlap=3)
    return _changed(_changed(narrower, "retrieve", top_k=20), "deep", light_k=60)


VARIANTS: Mapping[tuple[str, str], Variant] = {("dimmem", "longmemeval"): _dimmem_longmemeval}
"""What a paper sets otherwise for one data set, by preset and data set; `engram bench` asks for its own."""

Ablation = Callable[[Settings], Settings]
NO_PREFERENCES = {
    "speaker_weight": 0.0,
    "mention_time_weight": 0.0,
    "answer_weight": 0.0,
    "content_weight": 0.0,
    "length_weight": 0.0,
    "question_weight": 0.0,
    "image_weight": 0.0,
    "assistant_penalty": 0.0,
}


def without(settings: Settings, parts: Iterable[str]) -> Settings:
    """Return settings without some parts of them.

    Args:
        settings: A preset's, or others.
        parts: Names of `ABLATIONS`.

    Raises:
        InvalidInput: A part that has no such name.
    """
    for part in parts:
        if part not in ABLATIONS:
            raise InvalidInput(f"unknown part {part!r}: choose among {', '.join(ABLATIONS)}")
        settings = ABLATIONS[part](settings)
    return settings


def _dimension(settings: Settings) -> Settings:
    """Neither the dimension route nor preferences for times, places, names and numbers."""
    dimensional = {"mention_time_weight": 0.0, "answer_weight": 0.0, "content_weight": 0.0}
    return _changed(_unrouted(settings, "dimension"), "retrieve", **dimensional)


def _content_only(settings: Settings) -> Settings:
    """The records' own words alone, without dimensions: no neighbours, no other layer, no preference (DimMem)."""
    kept = [name for name in settings.retrieve.routes if name in ("lexical", "dense")]
    routes = kept or settings.retrieve.routes
    flat = _changed(settings, "extract", dimensions=False)
    return _changed(flat, "retrieve", routes=routes, neighbours=[], **NO_PREFERENCES)


def _causal(settings: Settings) -> Settings:
    """Records without reason and purpose (DimMem)."""
    return _changed(settings, "extract", causal=False)


def _boundary(settings: Settings) -> Settings:
    """No text of boundaries and no route by them (ES-Mem)."""
    return _changed(_unrouted(settings, "boundary"), "segment", describe="none")


def _segmentation(settings: Settings) -> Settings:
    """Windows of so many turns in place of events (ES-Mem)."""
    return _changed(settings, "segment", strategy="window")


def _summary(settings: Settings) -> Settings:
    """Events scored by their boundaries alone (ES-Mem)."""
    return _changed(settings, "retrieve", boundary_alpha=0.0)


def _raw(settings: Settings) -> Settings:
    """No raw turns: neither a route to them nor a way back (ES-Mem, HyMem)."""
    return _changed(_unrouted(settings, "turn"), "deep", level2_tokens=0)


def _light(settings: Settings) -> Settings:
    """Every question goes deep (HyMem)."""
    return _changed(settings, "deep", sufficiency="never")


def _deep(settings: Settings) -> Settings:
    """No question goes deep (HyMem)."""
    return _changed(settings, "deep", sufficiency="always", whole_events=False)


def _reflect(settings: Settings) -> Settings:
    """One round, taken as it is (HyMem)."""
    return _changed(settings, "deep", reflect=False)


def _synthesis(settings: Settings) -> Settings:
    """No narratives across events (StructMem)."""
    return _changed(_unrouted(settings, "synthesis"), "synthesis", enabled=False)


def _relations(settings: Settings) -> Settings:
    """Facts alone; with "synthesis" taken out as well, the flat memory of StructMem's Table 2."""
    plain = {"dual": "factual", "dimensional_relational": "dimensional"}
    strategy = plain.get(settings.extract.strategy, settings.extract.strategy)
    return _changed(settings, "extract", strategy=strategy)


def _seeds(settings: Settings) -> Settings:
    """Narratives of their buffer alone, K = 0 (StructMem Figure 3d)."""
    return _changed(settings, "synthesis", seeds=0)


def _assistant(settings: Settings) -> Settings:
    """The assistant's words count as much as the user's, whatever a query asks for (DimMem)."""
    return _changed(settings, "retrieve", assistant_penalty=0.0)


ABLATIONS: Mapping[str, Ablation] = {
    "dimension": _dimension,
    "content-only": _content_only,
    "causal": _causal,
    "boundary": _boundary,
    "segmentation": _segmentation,
    "summary": _summary,
    "raw": _raw,
    "light": _light,
    "deep": _deep,
    "reflect": _reflect,
    "synthesis": _synthesis,
    "relations": _relations,
    "seeds": _seeds,
    "assistant": _assistant,
}
"""What can be taken out, by the name that `engram bench --without` takes."""


def _unrouted(settings: Settings, route: str) -> Settings:
    """Leave a route out; a preset whose only route it is keeps it, since something must be searched."""
    routes = [name for name in settings.retrieve.routes if name != route]
    return _changed(settings, "retrieve", routes=routes) if routes else settings


def _changed(settings: Settings, group: str, **changed: object) -> Settings:
    """Change some settings of a group; names and values are checked as if they came from outside."""
    held: SettingsGroup = getattr(settings, group)
    return settings.model_copy(update={group: type(held).model_validate({**held.model_dump(), **changed})})
