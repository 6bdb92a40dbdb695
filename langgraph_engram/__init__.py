"""Long-term memory for LangGraph agents, as two state graphs over Chroma.

    from langgraph_engram import Memory

Nothing heavy is imported until a name is used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str
    from langgraph_engram.errors import EngramError as EngramError
    from langgraph_engram.formats.messages import to_messages as to_messages
    from langgraph_engram.graphs.checkpoints import checkpoint_serializer as checkpoint_serializer
    from langgraph_engram.integrations.middleware import EngramMiddleware as EngramMiddleware
    from langgraph_engram.integrations.retriever import EngramRetriever as EngramRetriever
    from langgraph_engram.integrations.store import EngramStore as EngramStore
    from langgraph_engram.integrations.tools import create_memory_tools as create_memory_tools
    from langgraph_engram.memory import Memory as Memory
    from langgraph_engram.presets import preset as preset
    from langgraph_engram.results import Receipt as Receipt
    from langgraph_engram.results import Recollection as Recollection
    from langgraph_engram.settings import Settings as Settings
    from langgraph_engram.state import RecallRequest as RecallRequest
    from langgraph_engram.state import RememberRequest as RememberRequest

HOMES = {
    "EngramError": "langgraph_engram.errors",
    "EngramMiddleware": "langgraph_engram.integrations.middleware",
    "EngramRetriever": "langgraph_engram.integrations.retriever",
    "EngramStore": "langgraph_engram.integrations.store",
    "Memory": "langgraph_engram.memory",
    "RecallRequest": "langgraph_engram.state",
    "Receipt": "langgraph_engram.results",
    "Recollection": "langgraph_engram.results",
    "RememberRequest": "langgraph_engram.state",
    "Settings": "langgraph_engram.settings",
    "checkpoint_serializer": "langgraph_engram.graphs.checkpoints",
    "create_memory_tools": "langgraph_engram.integrations.tools",
    "preset": "langgraph_engram.presets",
    "to_messages": "langgraph_engram.formats.messages",
}
__all__ = [*HOMES]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("langgraph-engram")
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(HOMES[name]), name)
