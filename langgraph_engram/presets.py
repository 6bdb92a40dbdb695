"""The presets: one `Settings` value for each paper, and `engram`, which takes the best of each.

The graphs are the same for all of them. Constants: DimMem sections 3.2-3.4, ES-Mem section 3, StructMem section 3,
HyMem section 3. What each preset leaves out, its paper leaves out.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from langgraph_engram.errors import InvalidInput, UnknownPreset
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


def preset(name: str) -> Settings:
    """Return the settings of a preset.

    Raises:
        UnknownPreset: No preset of that name.
    """
    if name not in PRESETS:
        raise UnknownPreset(f"unknown preset {name!r}: choose one of {', '.join(PRESETS)}")
    return PRESETS[name]


PAPER_ONLY = VerifySettings(enabled=False)
UNLIMITED = 1_000_000
"""Where a paper counts what it takes, and sets no budget of tokens."""
AT_ONCE = DeepSettings(sufficiency="always", light_k=UNLIMITED, min_share=0, reflect=False, max_rounds=1)
"""One retrieval and one answer from all that it found."""
PLAIN_SEARCH = RetrieveSettings(
    budget=UNLIMITED,
    neighbours=[],
    first_person_query=False,
    split_comparisons=False,
    session_factor=0,
    exchange_reach=0,
)
"""One search for the query as it was put."""
AS_FOUND = AnswerSettings(layout="passages")
"""Passages in the order in which they were found."""

PRESETS: dict[str, Settings] = {
    "engram": Settings(),
    "dimmem": Settings(
        preset="dimmem",
        segment=SegmentSettings(strategy="window", describe="none", context_turns=0),
        extract=ExtractSettings(strategy="dimensional", shared_calls=False),
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
                "assistant_replies": True,
            }
        ),
        deep=AT_ONCE,
        answer=AnswerSettings(layout="passages", dimensions=True, style="reasoned"),
    ),
    "esmem": Settings(
        preset="esmem",
        segment=SegmentSettings(
            topic_chunk=1, judge="question", guarded=False, describe="question", context_turns=0, max_topics=100_000
        ),
        extract=ExtractSettings(strategy="none"),
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
        extract=ExtractSettings(strategy="dual", shared_calls=False),
        verify=PAPER_ONLY,
        update=UpdateSettings(enabled=False),
        synthesis=SynthesisSettings(by_window=True, expand_tokens=100_000, buffer_tokens=100_000),
        retrieve=PLAIN_SEARCH.model_copy(
            update={"routes": ["dense", "synthesis"], "fusion": "concatenate", "top_k": 60}
        ),
        deep=AT_ONCE,
        answer=AnswerSettings(layout="speakers"),
    ),
    "hymem": Settings(
        preset="hymem",
        segment=SegmentSettings(strategy="session", describe="none", context_turns=0),
        extract=ExtractSettings(strategy="key_sentence", shared_calls=False),
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
        answer=AnswerSettings(layout="passages", style="full", earlier=True),
    ),
}
"""The presets by name."""

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


@dataclass(frozen=True)
class Ablation:
    """A part that can be taken out of a preset."""

    change: Callable[[Settings], Settings]
    """Returns the settings without it."""
    present: Callable[[Settings], bool]
    """Whether the settings have it."""
    part: str
    """What it is, for whoever takes it out of a preset that has none."""


def without(settings: Settings, parts: Iterable[str]) -> Settings:
    """Return settings without some parts of them.

    Args:
        settings: A preset's, or others.
        parts: Names of `ABLATIONS`.

    Raises:
        InvalidInput: A part that has no such name, or that the settings do not have.
    """
    for part in parts:
        if part not in ABLATIONS:
            raise InvalidInput(f"unknown part {part!r}: choose among {', '.join(ABLATIONS)}")
        ablation = ABLATIONS[part]
        if not ablation.present(settings):
            raise InvalidInput(f"{part!r} cannot be taken out of {settings.preset!r}: it has no {ablation.part}")
        settings = ablation.change(settings)
    return settings


def _dimension(settings: Settings) -> Settings:
    """Neither the dimension route nor preferences for times, places, names and numbers."""
    dimensional = {"mention_time_weight": 0.0, "answer_weight": 0.0, "content_weight": 0.0}
    return _changed(_unrouted(settings, "dimension"), "retrieve", **dimensional)


def _content_only(settings: Settings) -> Settings:
    """The records' own words alone: no dimensions, no neighbours, no other layer, no preference."""
    kept = [name for name in settings.retrieve.routes if name in ("lexical", "dense")]
    settings = _changed(settings, "retrieve", routes=kept, neighbours=[], **NO_PREFERENCES)
    return _changed(settings, "answer", dimensions=False)


def _causal(settings: Settings) -> Settings:
    return _changed(settings, "extract", causal=False)


def _assistant(settings: Settings) -> Settings:
    """The assistant's words count as much as the user's, whatever a query asks for, and no reply is fetched."""
    return _changed(settings, "retrieve", assistant_penalty=0.0, assistant_replies=False)


def _filter(settings: Settings) -> Settings:
    return _changed(settings, "update", filter="embedding", cosine=LIGHTMEM_COSINE)


def _segmentation(settings: Settings) -> Settings:
    return _changed(settings, "segment", strategy="window")


def _boundary(settings: Settings) -> Settings:
    """No text of boundaries and no route by them; where events are all that is found, by their summaries alone."""
    settings = _changed(settings, "segment", describe="none")
    if settings.retrieve.fusion == "event_score":
        return _changed(settings, "retrieve", boundary_k=0)
    return _unrouted(settings, "boundary")


def _summary(settings: Settings) -> Settings:
    """Events scored by their boundaries alone."""
    return _changed(settings, "retrieve", boundary_alpha=0.0)


def _raw(settings: Settings) -> Settings:
    """No raw turns: neither a route to them nor a way back, and summaries of events in their place."""
    settings = _changed(_unrouted(settings, "turn"), "deep", level2_tokens=0)
    return _changed(settings, "retrieve", event_passages="summary")


def _synthesis(settings: Settings) -> Settings:
    return _changed(_unrouted(settings, "synthesis"), "synthesis", enabled=False)


def _level1(settings: Settings) -> Settings:
    """Raw events found by their own text, and nothing extracted."""
    light_k = settings.deep.light_k
    settings = _changed(settings, "retrieve", routes=["turn"], fusion="event_text", top_k=light_k)
    settings = _changed(settings, "extract", strategy="none")
    return _changed(settings, "deep", sufficiency="always")


def _light(settings: Settings) -> Settings:
    """Every question goes deep."""
    return _changed(settings, "deep", sufficiency="never")


def _deep(settings: Settings) -> Settings:
    """No question goes deep."""
    return _changed(settings, "deep", sufficiency="always")


def _reflect(settings: Settings) -> Settings:
    """One round, taken as it is."""
    return _changed(settings, "deep", reflect=False)


LIGHTMEM_COSINE = 0.85
DIMENSIONAL = ("dimensional", "dimensional_relational")
"""Strategies whose records have dimensions."""
ABLATIONS: Mapping[str, Ablation] = {
    # DimMem Tables 3 and 4, Figure 3
    "dimension": Ablation(_dimension, lambda s: "dimension" in s.retrieve.routes, "dimension route"),
    "content-only": Ablation(_content_only, lambda s: s.extract.strategy in DIMENSIONAL, "records with dimensions"),
    "causal": Ablation(
        _causal, lambda s: s.extract.causal and s.extract.strategy in DIMENSIONAL, "records with reason and purpose"
    ),
    "assistant": Ablation(
        _assistant,
        lambda s: (
            s.retrieve.assistant_replies or (s.retrieve.fusion == "weighted" and s.retrieve.assistant_penalty > 0)
        ),
        "way of its own to an assistant's words",
    ),
    # DimMem Table 5: LightMem's filter, all pairs from a cosine of .85 on
    "filter": Ablation(
        _filter,
        lambda s: s.update.enabled and s.update.filter == "dimensions",
        "filter of near-duplicates by dimension",
    ),
    # ES-Mem Figure 3
    "segmentation": Ablation(_segmentation, lambda s: s.segment.strategy == "event", "events by topic"),
    "boundary": Ablation(
        _boundary, lambda s: "boundary" in s.retrieve.routes and s.retrieve.boundary_k > 0, "boundary route"
    ),
    "summary": Ablation(
        _summary,
        lambda s: "boundary" in s.retrieve.routes and s.retrieve.boundary_alpha > 0,
        "route by the summaries of events",
    ),
    "raw": Ablation(
        _raw,
        lambda s: (
            "turn" in s.retrieve.routes
            or (s.retrieve.fusion == "event_score" and s.retrieve.event_passages == "turns")
            or (s.deep.sufficiency != "always" and s.deep.level2_tokens > 0)
        ),
        "way to raw turns",
    ),
    # StructMem Table 2 and Figure 3
    "synthesis": Ablation(_synthesis, lambda s: s.synthesis.enabled, "narratives across events"),
    # HyMem Table 2
    "level1": Ablation(_level1, lambda s: s.extract.strategy != "none", "memory above the raw turns"),
    "light": Ablation(_light, lambda s: s.deep.sufficiency == "judged", "light answer that is judged"),
    "deep": Ablation(_deep, lambda s: s.deep.sufficiency != "always", "deep retrieval"),
    "reflect": Ablation(_reflect, lambda s: s.deep.reflect, "reflection"),
}
"""What can be taken out, by the name that `engram bench --without` takes; docs/ablations.md names the tables."""


def _unrouted(settings: Settings, route: str) -> Settings:
    routes = [name for name in settings.retrieve.routes if name != route]
    return _changed(settings, "retrieve", routes=routes)


def _changed(settings: Settings, group: str, **changed: object) -> Settings:
    """Change some settings of a group; names and values are checked as if they came from outside."""
    held: SettingsGroup = getattr(settings, group)
    return settings.model_copy(update={group: type(held).model_validate({**held.model_dump(), **changed})})
