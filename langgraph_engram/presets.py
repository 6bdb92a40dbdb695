"""The presets: one `Settings` value for each paper, and `engram`, which takes the best of each."""

from pydantic import BaseModel

from langgraph_engram.errors import UnknownPreset
from langgraph_engram.paper_settings import UNLIMITED, DimMemSettings, EsMemSettings, HyMemSettings, StructMemSettings
from langgraph_engram.settings import (
    DeepSettings,
    ExtractSettings,
    RetrieveSettings,
    SegmentSettings,
    Settings,
    SynthesisSettings,
    UpdateSettings,
    VerifySettings,
)


def preset(name: str, dataset: str | None = None) -> Settings:
    """Return the settings of a preset.

    Args:
        name: One of `PRESETS`.
        dataset: A data set that its paper may have settings of its own for, as DimMem has for "longmemeval".

    Raises:
        UnknownPreset: No preset of that name.
    """
    if name not in PRESETS:
        raise UnknownPreset(f"unknown preset {name!r}: choose one of {', '.join(PRESETS)}")
    if (name, dataset) == ("dimmem", "longmemeval"):  # chats with an assistant, whose messages are longer (Table 11)
        return changed(PRESETS[name], "paper", window=15, overlap=3, extractor="selective", top_k=20)
    return PRESETS[name]


PAPER_ONLY = VerifySettings(enabled=False)
NO_PASSAGES = ExtractSettings(passages=False)
AT_ONCE = DeepSettings(sufficiency="always", light_k=UNLIMITED, min_share=0, reflect=False, max_rounds=1)
"""One retrieval and one answer from all that it found."""
PLAIN_SEARCH = RetrieveSettings(budget=UNLIMITED, stop=0, lasting_share=0, messages=False, whole=False)
"""Everything that is found, and nothing beside it."""

PRESETS: dict[str, Settings] = {
    "engram": Settings(),
    "dimmem": Settings(
        preset="dimmem",
        paper=DimMemSettings(),
        extract=NO_PASSAGES.model_copy(update={"assistant": False}),
        verify=PAPER_ONLY,
        update=UpdateSettings(cosine=0.7),
        synthesis=SynthesisSettings(enabled=False),
        retrieve=PLAIN_SEARCH.model_copy(update={"routes": ["lexical", "dimension", "dense"], "intent": "model"}),
        deep=AT_ONCE,
    ),
    "esmem": Settings(
        preset="esmem",
        paper=EsMemSettings(),
        segment=SegmentSettings(max_turns=UNLIMITED),
        extract=NO_PASSAGES,
        verify=PAPER_ONLY,
        update=UpdateSettings(enabled=False),
        synthesis=SynthesisSettings(enabled=False),
        retrieve=PLAIN_SEARCH.model_copy(update={"routes": ["boundary"]}),
        deep=AT_ONCE,
    ),
    "structmem": Settings(
        preset="structmem",
        paper=StructMemSettings(),
        extract=NO_PASSAGES,
        verify=PAPER_ONLY,
        update=UpdateSettings(enabled=False),
        synthesis=SynthesisSettings(max_words=350),
        retrieve=PLAIN_SEARCH.model_copy(update={"routes": ["dense", "synthesis"]}),
        deep=AT_ONCE,
    ),
    "hymem": Settings(
        preset="hymem",
        paper=HyMemSettings(),
        segment=SegmentSettings(max_turns=UNLIMITED),
        extract=NO_PASSAGES,
        verify=PAPER_ONLY,
        update=UpdateSettings(enabled=False),
        synthesis=SynthesisSettings(enabled=False),
        retrieve=PLAIN_SEARCH.model_copy(update={"routes": ["dense"]}),
        deep=DeepSettings(
            light_k=10,
            min_share=0,
            level2_tokens=UNLIMITED,
            max_calls=UNLIMITED,
            max_tokens=UNLIMITED,
            max_seconds=UNLIMITED,
        ),
    ),
}


def changed(settings: Settings, group: str, **changed: object) -> Settings:
    """Change some settings of a group; names and values are checked as if they came from outside."""
    held: BaseModel = getattr(settings, group)
    return settings.model_copy(update={group: type(held).model_validate({**held.model_dump(), **changed})})
