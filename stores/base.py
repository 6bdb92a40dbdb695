"""Name what callers of a store need: the store, what one commit writes, and where a store may be."""

from pathlib import Path
from typing import Literal

from langgraph_engram.stores.chroma import ChromaStore as Store
from langgraph_engram.stores.kinds import Changes

__all__ = ["Changes", "Store"]

MEMORY = "memory:"
"""The location of a store that is gone when it is closed."""


def kind_of_location(location: str | Path) -> Literal["memory", "server", "folder"]:
    """Return what a store's location names: "memory:", the URL of a Chroma server, or a folder."""
    if location == MEMORY:
        return "memory"
    return "server" if isinstance(location, str) and "://" in location else "folder"
