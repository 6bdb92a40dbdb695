"""Take single parts out of a preset, as the papers do; docs/explanation/ablations.md names their tables."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from langgraph_engram.errors import InvalidInput
from langgraph_engram.presets import changed
from langgraph_engram.settings import Settings

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
    return changed(_unrouted(settings, "dimension"), "retrieve", **dimensional)


def _content_only(settings: Settings) -> Settings:
    """The records' own words alone: no dimensions, no neighbours, no other layer, no preference."""
    kept = [name for name in settings.retrieve.routes if name in ("lexical", "dense")]
    settings = changed(settings, "retrieve", routes=kept, neighbours=[], **NO_PREFERENCES)
    return changed(changed(settings, "extract", dimensions=False), "answer", dimensions=False)


def _causal(settings: Settings) -> Settings:
    return changed(settings, "extract", causal=False)


def _assistant(settings: Settings) -> Settings:
    """The assistant's words count as much as the user's, whatever a query asks for, and no reply is fetched."""
    return changed(settings, "retrieve", assistant_penalty=0.0, assistant_replies="never")


def _filter(settings: Settings) -> Settings:
    return changed(settings, "update", filter="embedding", cosine=LIGHTMEM_COSINE)


def _segmentation(settings: Settings) -> Settings:
    return changed(settings, "segment", strategy="window")


def _boundary(settings: Settings) -> Settings:
    """No text of boundaries and no route by them; where events are all that is found, by their summaries alone."""
    settings = changed(settings, "segment", describe="none")
    if settings.retrieve.fusion == "event_score":
        return changed(settings, "retrieve", boundary_k=0)
    return _unrouted(settings, "boundary")


def _summary(settings: Settings) -> Settings:
    """Events scored by their boundaries alone."""
    return changed(settings, "retrieve", boundary_alpha=0.0)


def _raw(settings: Settings) -> Settings:
    """No raw turns: neither a route to them nor a way back, and summaries of events in their place."""
    settings = changed(_unrouted(settings, "turn"), "deep", level2_tokens=0)
    return changed(settings, "retrieve", event_passages="summary")


def _synthesis(settings: Settings) -> Settings:
    return changed(_unrouted(settings, "synthesis"), "synthesis", enabled=False)


def _relations(settings: Settings) -> Settings:
    """Facts alone; with "synthesis" taken out as well, the flat memory of StructMem Table 2."""
    return changed(settings, "extract", strategy=PLAIN_STRATEGY[settings.extract.strategy])


def _seeds(settings: Settings) -> Settings:
    """Narratives of their buffer alone, K = 0."""
    return changed(settings, "synthesis", seeds=0)


def _level1(settings: Settings) -> Settings:
    """Raw events found by their own text, and nothing extracted."""
    light_k = settings.deep.light_k
    settings = changed(settings, "retrieve", routes=["turn"], fusion="event_text", top_k=light_k)
    settings = changed(settings, "extract", strategy="none")
    return changed(settings, "deep", sufficiency="always")


def _light(settings: Settings) -> Settings:
    """Every question goes deep."""
    return changed(settings, "deep", sufficiency="never")


def _deep(settings: Settings) -> Settings:
    """No question goes deep."""
    return changed(settings, "deep", sufficiency="always")


def _reflect(settings: Settings) -> Settings:
    """One round, taken as it is."""
    return changed(settings, "deep", reflect=False)


PLAIN_STRATEGY = {"dual": "factual", "dimensional_relational": "dimensional"}
"""What is extracted where relations are left out."""
LIGHTMEM_COSINE = 0.85
DIMENSIONAL = ("dimensional", "dimensional_relational")
"""Strategies whose records have dimensions."""
ABLATIONS: Mapping[str, Ablation] = {
    # DimMem Tables 3 and 4, Figure 3
    "dimension": Ablation(_dimension, lambda s: "dimension" in s.retrieve.routes, "dimension route"),
    "content-only": Ablation(
        _content_only,
        lambda s: s.extract.dimensions and s.extract.strategy in DIMENSIONAL,
        "records with dimensions",
    ),
    "causal": Ablation(
        _causal, lambda s: s.extract.causal and s.extract.strategy in DIMENSIONAL, "records with reason and purpose"
    ),
    "assistant": Ablation(
        _assistant,
        lambda s: (
            s.retrieve.assistant_replies != "never"
            or (s.retrieve.fusion == "weighted" and s.retrieve.assistant_penalty > 0)
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
    "relations": Ablation(_relations, lambda s: s.extract.strategy in PLAIN_STRATEGY, "relations beside its facts"),
    "seeds": Ablation(
        _seeds, lambda s: s.synthesis.enabled and s.synthesis.seeds > 0, "records of history in its narratives"
    ),
    # HyMem Table 2
    "level1": Ablation(_level1, lambda s: s.extract.strategy != "none", "memory above the raw turns"),
    "light": Ablation(_light, lambda s: s.deep.sufficiency == "judged", "light answer that is judged"),
    "deep": Ablation(_deep, lambda s: s.deep.sufficiency != "always", "deep retrieval"),
    "reflect": Ablation(_reflect, lambda s: s.deep.reflect, "reflection"),
}
"""What can be taken out, by the name that `engram bench --without` takes (docs/explanation/ablations.md)."""


def _unrouted(settings: Settings, route: str) -> Settings:
    routes = [name for name in settings.retrieve.routes if name != route]
    return changed(settings, "retrieve", routes=routes)
