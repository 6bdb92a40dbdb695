"""Hold the presets: one `Settings` value for each paper, and `engram`, which takes the best of each.

The graphs are the same for all of them. Constants: DimMem sections 3.2-3.4, ES-Mem section 3, StructMem section 3,
HyMem section 3. What each preset leaves out, its paper leaves out.
"""

from langgraph_engram.errors import UnknownPreset
from langgraph_engram.settings import (
    DeepSettings,
    ExtractSettings,
    GroundSettings,
    RetrieveSettings,
    SegmentSettings,
    Settings,
    SynthesisSettings,
    UpdateSettings,
)


def preset(name: str) -> Settings:
    """Give the settings of a preset.

    Raises:
        UnknownPreset: No preset of that name.
    """
    if name not in PRESETS:
        raise UnknownPreset(f"unknown preset {name!r}: choose one of {', '.join(PRESETS)}")
    return PRESETS[name]


PAPER_ONLY = GroundSettings(enabled=False)
AT_ONCE = DeepSettings(sufficiency="always", light_k=10, least_share=0, whole_turns=False, reflect=False, max_rounds=1)
"""One retrieval and one answer from all that it found."""
PLAIN_SEARCH = RetrieveSettings(neighbours=[], own_voice=False, by_parts=False, session_factor=0, exchange_reach=0)
"""One search for the query as it was put."""

PRESETS: dict[str, Settings] = {
    "engram": Settings(),
    "dimmem": Settings(
        preset="dimmem",
        segment=SegmentSettings(strategy="window", describe="none", context_turns=0),
        extract=ExtractSettings(strategy="dimensional", shared_calls=False),
        ground=PAPER_ONLY,
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
            topic_chunk=1, judge="question", guarded=False, describe="question", context_turns=0, most_topics=100_000
        ),
        extract=ExtractSettings(strategy="none"),
        ground=PAPER_ONLY,
        update=UpdateSettings(enabled=False),
        synthesis=SynthesisSettings(enabled=False),
        retrieve=PLAIN_SEARCH.model_copy(update={"routes": ["boundary"], "fusion": "event_score", "top_k": 10}),
        deep=AT_ONCE.model_copy(update={"whole_events": True}),
    ),
    "structmem": Settings(
        preset="structmem",
        segment=SegmentSettings(strategy="buffer", describe="none", context_turns=0),
        extract=ExtractSettings(strategy="dual", shared_calls=False),
        ground=PAPER_ONLY,
        update=UpdateSettings(enabled=False),
        synthesis=SynthesisSettings(by_window=True, expand_tokens=100_000, buffer_tokens=100_000),
        retrieve=PLAIN_SEARCH.model_copy(
            update={"routes": ["dense", "synthesis"], "fusion": "concatenate", "top_k": 60}
        ),
        deep=AT_ONCE.model_copy(update={"light_k": 65}),
    ),
    "hymem": Settings(
        preset="hymem",
        segment=SegmentSettings(strategy="session", describe="none", context_turns=0),
        extract=ExtractSettings(strategy="key_sentence", shared_calls=False),
        ground=PAPER_ONLY,
        update=UpdateSettings(enabled=False),
        synthesis=SynthesisSettings(enabled=False),
        retrieve=PLAIN_SEARCH.model_copy(update={"routes": ["dense"], "fusion": "concatenate", "top_k": 30}),
        deep=DeepSettings(
            light_k=10,
            least_share=0,
            batch=50,
            whole_turns=False,
            whole_events=True,
            level2_tokens=100_000,
            reflect_on="every",
        ),
    ),
}
"""The presets by name. Constants: DimMem sections 3.2-3.4, ES-Mem section 3, StructMem section 3, HyMem section 3."""
