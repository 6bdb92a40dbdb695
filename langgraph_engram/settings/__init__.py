"""Hold every number: `writing` those of the write graph, `reading` those of the read graph, `chat` those of models.

Papers: DimMem (arXiv 2605.15759), ES-Mem (2601.07582), StructMem (2604.21748), HyMem (2602.13933).
"""

from typing import Literal

from langgraph_engram.settings.chat import ChatSettings
from langgraph_engram.settings.group import Group
from langgraph_engram.settings.reading import DeepSettings, RetrieveSettings
from langgraph_engram.settings.writing import (
    LLMLINGUA_2,
    Action,
    ExtractSettings,
    GroundSettings,
    SegmentSettings,
    SynthesisSettings,
    UpdateSettings,
)

__all__ = [
    "LLMLINGUA_2",
    "Action",
    "ChatSettings",
    "DeepSettings",
    "ExtractSettings",
    "GroundSettings",
    "Group",
    "PresetName",
    "RetrieveSettings",
    "SegmentSettings",
    "Settings",
    "SynthesisSettings",
    "UpdateSettings",
]

PresetName = Literal["engram", "dimmem", "esmem", "structmem", "hymem"]


class Settings(Group):
    """Every number of both graphs."""

    preset: PresetName = "engram"
    segment: SegmentSettings = SegmentSettings()
    extract: ExtractSettings = ExtractSettings()
    ground: GroundSettings = GroundSettings()
    update: UpdateSettings = UpdateSettings()
    synthesis: SynthesisSettings = SynthesisSettings()
    retrieve: RetrieveSettings = RetrieveSettings()
    deep: DeepSettings = DeepSettings()
