"""Open the memory that a command works on. `Memory` is imported when it is needed, so that `engram --help` is fast."""

from pathlib import Path
from typing import TYPE_CHECKING

from langgraph_engram.errors import InvalidInput

if TYPE_CHECKING:
    from langgraph_engram.embeddings.base import Encoder
    from langgraph_engram.llm.base import Model
    from langgraph_engram.memory import Memory
    from langgraph_engram.settings import Settings


def open_memory(
    store: str | None,
    model: "str | Model | None",
    preset: str | None,
    settings: "Settings | None" = None,
    encoder: "Encoder | None" = None,
) -> "Memory":
    """Open a memory as `Memory` does: what is None comes from `ENGRAM_*`, else from defaults.

    Raises:
        InvalidInput: An unknown name.
    """
    from langgraph_engram.memory import Memory

    return Memory(store, model, preset, settings=settings, encoder=encoder)


def open_existing(store: str | None, model: str | None = None, preset: str | None = None) -> "Memory":
    """Open a memory that was written before: a mistyped folder must not look like an empty memory.

    Raises:
        InvalidInput: There is no such folder.
    """
    from langgraph_engram.config import resolve

    location = resolve(store, model, preset, None).store
    if "://" not in location and not Path(location).exists():
        raise InvalidInput(f"no memory at {location!r}: remember something first, or name the folder with --store")
    return open_memory(store, model, preset)
