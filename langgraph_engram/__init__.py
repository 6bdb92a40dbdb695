"""Long-term memory for LangGraph agents, as two state graphs over Chroma.

    from langgraph_engram import Memory

Nothing heavy is imported until a name is used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langgraph_engram.errors import EngramError
    from langgraph_engram.memory import Memory
    from langgraph_engram.presets import preset
    from langgraph_engram.results import Receipt, Recollection
    from langgraph_engram.settings import Settings
    from langgraph_engram.store import EngramStore

__all__ = ["EngramError", "EngramStore", "Memory", "Receipt", "Recollection", "Settings", "preset"]

HOMES = {
    "EngramError": "langgraph_engram.errors",
    "EngramStore": "langgraph_engram.store",
    "Memory": "langgraph_engram.memory",
    "Receipt": "langgraph_engram.results",
    "Recollection": "langgraph_engram.results",
    "Settings": "langgraph_engram.settings",
    "preset": "langgraph_engram.presets",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(HOMES[name]), name)
