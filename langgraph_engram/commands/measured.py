"""Open the memories that `engram bench` measures. This module does not know what is measured."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from langgraph_engram.commands.opening import open_memory

if TYPE_CHECKING:
    from langgraph_engram.benchmarks.door import MemoryDoor
    from langgraph_engram.benchmarks.reading import ReaderDoor
    from langgraph_engram.encoder import Encoder
    from langgraph_engram.model import Model


@dataclass(frozen=True)
class OpensMemory:
    """Open the memory that is measured, in the folder it is given."""

    model: str | None
    preset: str | None
    without: tuple[str, ...] = ()
    """Parts that are taken out of the preset."""
    encoder: "Encoder | None" = None
    """What makes vectors, in place of what the environment names."""

    def __call__(self, folder: str) -> "AbstractContextManager[MemoryDoor]":
        """Open a memory that closes with its context."""
        return open_memory(folder, self.model, self.preset, self.without, self.encoder)


@dataclass(frozen=True)
class OpensMemoryWith:
    """Open a memory that asks the model it is given."""

    preset: str | None

    def __call__(self, folder: str, model: "Model") -> "AbstractContextManager[MemoryDoor]":
        """Open a memory that closes with its context."""
        return open_memory(folder, model, self.preset)


@dataclass(frozen=True)
class OpensPreset:
    """Open a memory under a preset, with the model that is measured or another."""

    model: str | None

    def __call__(self, folder: str, preset: str, model: str | None) -> "AbstractContextManager[ReaderDoor]":
        """Open a memory that closes with its context."""
        return open_memory(folder, model or self.model, preset)
