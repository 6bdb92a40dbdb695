"""Open the memory that a command works on. The facade is imported when it is needed: `engram --help` takes no time."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from langgraph_engram.memory import Memory


def open_memory(store: str | None, model: str | None, preset: str | None) -> "Memory":
    """Open a memory as `Memory` does: what is absent comes from `ENGRAM_*`, else from defaults."""
    from langgraph_engram.memory import Memory

    return Memory(store, model, preset)
