"""Take single parts out of a preset, to see what each is worth (the ablations of the four papers).

What is taken out is a setting; the graphs stay the same.
"""

from collections.abc import Callable, Iterable, Mapping

from langgraph_engram.errors import InvalidInput
from langgraph_engram.settings import Group, Settings

Ablation = Callable[[Settings], Settings]
NO_PREFERENCES = {
    "speaker_weight": 0.0,
    "told_then_weight": 0.0,
    "answer_weight": 0.0,
    "content_weight": 0.0,
    "length_weight": 0.0,
    "question_weight": 0.0,
    "image_weight": 0.0,
    "voice_weight": 0.0,
}


def without(settings: Settings, parts: Iterable[str]) -> Settings:
    """Take parts out of settings.

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
    """Neither the dimension route nor what is preferred by time, place, name or number."""
    dimensional = {"told_then_weight": 0.0, "answer_weight": 0.0, "content_weight": 0.0}
    return _changed(_unrouted(settings, "dimension"), "retrieve", **dimensional)


def _content_only(settings: Settings) -> Settings:
    """The records' own words alone: no dimensions, no neighbours, no other layer, no preference (DimMem)."""
    kept = [name for name in settings.retrieve.routes if name in ("lexical", "dense")]
    routes = kept or settings.retrieve.routes
    return _changed(settings, "retrieve", routes=routes, neighbours=[], **NO_PREFERENCES)


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


def _assistant(settings: Settings) -> Settings:
    """No telling apart of the assistant's words and the user's by what a query asks for (DimMem)."""
    return _changed(settings, "retrieve", voice_weight=0.0)


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
    "assistant": _assistant,
}
"""What can be taken out, by the name that `engram bench --without` takes."""


def _unrouted(settings: Settings, route: str) -> Settings:
    """Leave a route out; a preset whose only route it is keeps it, since something must be searched."""
    routes = [name for name in settings.retrieve.routes if name != route]
    return _changed(settings, "retrieve", routes=routes) if routes else settings


def _changed(settings: Settings, group: str, **changed: object) -> Settings:
    """Change some settings of a group; names and values are checked as if they came from outside."""
    held: Group = getattr(settings, group)
    return settings.model_copy(update={group: type(held).model_validate({**held.model_dump(), **changed})})
