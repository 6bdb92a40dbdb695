"""Open the memory that a command works on. The facade is imported when it is needed: `engram --help` takes no time."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from langgraph_engram.errors import InvalidInput

if TYPE_CHECKING:
    from langgraph_engram.benchmarks.questions import MemoryProtocol
    from langgraph_engram.benchmarks.reading import ReaderMemoryProtocol
    from langgraph_engram.embeddings.base import Encoder
    from langgraph_engram.llm.base import Model
    from langgraph_engram.memory import Memory


def open_memory(
    store: str | None,
    model: "str | Model | None",
    preset: str | None,
    leave_out: Sequence[str] = (),
    encoder: "Encoder | None" = None,
) -> "Memory":
    """Open a memory as `Memory` does: what is absent comes from `ENGRAM_*`, else from defaults.

    Args:
        store: A folder, a URL or "memory:".
        model: Who answers questions.
        preset: A preset's name.
        leave_out: Parts of the preset to take out, by the names of `ablations`.
        encoder: What makes vectors.

    Raises:
        InvalidInput: A name that means nothing.
    """
    from langgraph_engram.config import resolve as choose
    from langgraph_engram.memory import Memory
    from langgraph_engram.presets import without

    settings = without(choose(store, model, preset, None).settings, leave_out) if leave_out else None
    return Memory(store, model, preset, settings=settings, encoder=encoder)


def disk_cached_encoder(folder: Path | None) -> "Encoder":
    """Open the encoder that `ENGRAM_ENCODER` names, its vectors kept on disk: for what is measured again and again.

    Args:
        folder: Where they are kept; None for the user's cache folder.
    """
    from langgraph_engram.config import resolve as choose
    from langgraph_engram.embeddings.caching import DiskCachedEncoder as KeptEncoder
    from langgraph_engram.embeddings.factory import open_encoder

    return KeptEncoder(open_encoder(choose(None, None, None, None).encoder).inner, folder)


def open_existing(store: str | None, model: str | None, preset: str | None) -> "Memory":
    """Open a memory that was written before: a mistyped folder must not look like an empty memory.

    Raises:
        InvalidInput: There is no such folder.
    """
    from langgraph_engram.config import resolve as choose

    location = choose(store, model, preset, None).store
    if "://" not in location and not Path(location).exists():
        raise InvalidInput(f"no memory at {location!r}: remember something first, or name the folder with --store")
    return open_memory(store, model, preset)


@dataclass(frozen=True)
class MemoryFactory:
    """Open the memory that is measured, in the folder it is given."""

    model: str | None
    preset: str | None
    without: tuple[str, ...] = ()
    """Parts that are taken out of the preset."""
    encoder: "Encoder | None" = None
    """What makes vectors, in place of what the environment names."""

    def __call__(self, folder: str) -> "AbstractContextManager[MemoryProtocol]":
        """Open a memory that closes with its context."""
        return open_memory(folder, self.model, self.preset, self.without, self.encoder)


@dataclass(frozen=True)
class ModelMemoryFactory:
    """Open a memory that asks the model it is given."""

    preset: str | None

    def __call__(self, folder: str, model: "Model") -> "AbstractContextManager[MemoryProtocol]":
        """Open a memory that closes with its context."""
        return open_memory(folder, model, self.preset)


@dataclass(frozen=True)
class PresetMemoryFactory:
    """Open a memory under a preset, with the model that is measured or another."""

    model: str | None

    def __call__(self, folder: str, preset: str, model: str | None) -> "AbstractContextManager[ReaderMemoryProtocol]":
        """Open a memory that closes with its context."""
        return open_memory(folder, model or self.model, preset)
