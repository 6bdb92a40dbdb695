"""Open the memory that a command works on. The facade is imported when it is needed: `engram --help` takes no time."""

from pathlib import Path
from typing import TYPE_CHECKING

from langgraph_engram.errors import InvalidInput

if TYPE_CHECKING:
    from langgraph_engram.memory import Memory
    from langgraph_engram.model import Model


def open_memory(store: str | None, model: "str | Model | None", preset: str | None) -> "Memory":
    """Open a memory as `Memory` does: what is absent comes from `ENGRAM_*`, else from defaults."""
    from langgraph_engram.memory import Memory

    return Memory(store, model, preset)


def open_keeping_vectors(store: str, model: str | None, preset: str | None, vectors: Path | None) -> "Memory":
    """Open a memory whose vectors are kept on disk from run to run, for what is measured again and again.

    Args:
        store: Where memories are kept.
        model: As for `open_memory`.
        preset: As for `open_memory`.
        vectors: The folder they are kept in; None for the user's cache folder.
    """
    from langgraph_engram.configuration import choose
    from langgraph_engram.encoders.kept import KeptEncoder
    from langgraph_engram.encoders.opening import open_encoder
    from langgraph_engram.memory import Memory

    encoder = open_encoder(choose(store, model, preset, None).encoder).inner
    return Memory(store, model, preset, encoder=KeptEncoder(encoder, vectors))


def open_existing(store: str | None, model: str | None, preset: str | None) -> "Memory":
    """Open a memory that was written before: a mistyped folder must not look like an empty memory.

    Raises:
        InvalidInput: There is no such folder.
    """
    from langgraph_engram.configuration import choose

    location = choose(store, model, preset, None).store
    if "://" not in location and not Path(location).exists():
        raise InvalidInput(f"no memory at {location!r}: remember something first, or name the folder with --store")
    return open_memory(store, model, preset)
