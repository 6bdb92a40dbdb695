"""Take single parts out of a preset, as the papers do; docs/explanation/ablations.md names their tables."""

from collections.abc import Callable, Collection, Mapping, Sequence

from langgraph_engram.errors import InvalidInput
from langgraph_engram.paper_settings import DimMemSettings, EsMemSettings, HyMemSettings, StructMemSettings
from langgraph_engram.presets import changed
from langgraph_engram.settings import Settings

Ablation = Callable[[Settings], Settings]
"""Returns settings without a part; the same settings where they have it not."""
LIGHTMEM_COSINE = 0.85


def without(settings: Settings, parts: Sequence[str]) -> Settings:
    """Return settings without some parts of them, in whichever order these are named."""
    left = _without_all(settings, parts)
    for position, part in enumerate(parts):
        if part not in ABLATIONS:
            raise InvalidInput(f"unknown part {part!r}: choose among {', '.join(ABLATIONS)}")
        if ABLATIONS[part](settings) == settings:
            raise InvalidInput(f"{part!r} cannot be taken out of {settings.preset!r}: it has no such part")
        if _without_all(settings, [*parts[:position], *parts[position + 1 :]]) == left:
            raise InvalidInput(f"{part!r} is taken out with the other parts already: leave it away")
    return left


def _without_all(settings: Settings, parts: Collection[str]) -> Settings:
    """Take parts out, of each paper the last first: `raw` asks whether anything goes deep."""
    for part in reversed([*ABLATIONS]):
        settings = ABLATIONS[part](settings) if part in parts else settings
    return settings


def _group(group: str, **values: object) -> Ablation:
    return lambda settings: changed(settings, group, **values)


def _paper(paper: type, **values: object) -> Ablation:
    """Change the numbers of one paper, where the settings follow it."""
    return lambda settings: changed(settings, "paper", **values) if isinstance(settings.paper, paper) else settings


def _unrouted(route: str) -> Ablation:
    return lambda settings: _routed(settings, [name for name in settings.retrieve.routes if name != route])


def _routed(settings: Settings, routes: list[str]) -> Settings:
    return changed(settings, "retrieve", routes=routes)


def _content_only(settings: Settings) -> Settings:
    """The records' own words alone: no dimension filters what is compared, and no query asks for replies."""
    if not isinstance(settings.paper, DimMemSettings):
        return settings
    settings = _routed(settings, [name for name in settings.retrieve.routes if name in ("lexical", "dense")])
    shown = {"dimensions": False, "causal": False, "shows_dimensions": False, "assistant_replies": "never"}
    return changed(_filter(settings), "paper", **shown)


def _filter(settings: Settings) -> Settings:
    """LightMem's filter, all pairs from a cosine of .85 on."""
    if not isinstance(settings.paper, DimMemSettings):
        return settings
    return changed(changed(settings, "update", cosine=LIGHTMEM_COSINE), "paper", all_pairs=True)


def _boundary(settings: Settings) -> Settings:
    """No text of boundaries and no route by them; where events are all that is found, by their summaries alone."""
    if isinstance(settings.paper, EsMemSettings):
        return changed(settings, "paper", boundaries=False, boundary_k=0, boundary_alpha=1.0)
    return _unrouted("boundary")(settings)


def _raw(settings: Settings) -> Settings:
    """No raw turns: neither a route to them nor a way back, and summaries of events in their place."""
    settings = _paper(EsMemSettings, event_passages="summary")(_unrouted("turn")(settings))
    return settings if settings.deep.sufficiency == "always" else changed(settings, "deep", level2_tokens=0)


def _synthesis(settings: Settings) -> Settings:
    settings = _paper(StructMemSettings, seeds=0)(_unrouted("synthesis")(settings))
    return changed(settings, "synthesis", enabled=False)


def _level1(settings: Settings) -> Settings:
    """Raw events found by their own text, and nothing extracted."""
    if not isinstance(settings.paper, HyMemSettings):
        return settings
    settings = changed(settings, "paper", level1=False, top_k=settings.deep.light_k)
    return changed(settings, "deep", sufficiency="always")


def _light(settings: Settings) -> Settings:
    """Every question goes deep."""
    return changed(settings, "deep", sufficiency="never") if settings.deep.sufficiency == "judged" else settings


ABLATIONS: Mapping[str, Ablation] = {
    # DimMem Tables 3 to 5, Figure 3
    "dimension": _unrouted("dimension"),
    "content-only": _content_only,
    "causal": _paper(DimMemSettings, causal=False),  # no reason and no purpose
    "assistant": _paper(DimMemSettings, assistant_replies="never"),
    "filter": _filter,
    # ES-Mem Figure 3
    "segmentation": _paper(EsMemSettings, windows=True),
    "boundary": _boundary,
    "summary": _paper(EsMemSettings, boundary_alpha=0.0),
    "raw": _raw,
    # StructMem Table 2, Figure 3d
    "synthesis": _synthesis,
    "relations": _paper(StructMemSettings, relations=False),  # with "synthesis" as well: flat memory
    "seeds": _paper(StructMemSettings, seeds=0),  # narratives of their buffer alone
    # HyMem Table 2
    "level1": _level1,
    "light": _light,
    "deep": _group("deep", sufficiency="always"),
    "reflect": _group("deep", reflect=False),
}
"""What can be taken out, by the name that `engram bench --without` takes (docs/explanation/ablations.md)."""
