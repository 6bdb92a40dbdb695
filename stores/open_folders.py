"""Share what stands in a folder among all who open it within this process, and let the folder go with the last of them.

A folder holds several parts, such as the memories and the items of LangGraph's store. Each part is opened once and
counted; all parts of a folder stand under one lock, and Chroma itself shares one database among their clients. This
module does not know what a part is.
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from langgraph_engram.stores.clients import open_folder
from langgraph_engram.stores.lock import DirectoryLock, make_folder, take_away

if TYPE_CHECKING:
    from chromadb.api.client import Client


class Part(Protocol):
    """What is opened in a folder. Closing it closes its client."""

    def close(self) -> None:
        """Let go of the client."""


P = TypeVar("P", bound=Part)


@dataclass
class Held(Generic[P]):
    """An open part and how many hold it."""

    part: P
    holders: int = 0


class OpenFolders:
    """What this process has open, by folder and name of the part."""

    def __init__(self) -> None:
        """Start with nothing."""
        self._held: dict[tuple[Path, str], Held[Any]] = {}
        self._locks: dict[Path, DirectoryLock] = {}
        self._lock = RLock()

    def take(self, folder: Path, name: str, opening: "Callable[[Client], P]") -> P:
        """Open a part of a folder, or join those who have it open; to be given back with `let_go`.

        Args:
            folder: The folder, resolved; made if it is missing. What fails leaves no folder that was not there.
            name: What tells the parts of a folder apart.
            opening: Makes the part out of a client of its own.

        Raises:
            StoreLocked: Another process has the folder.
            StoreUnwritable: It cannot be made or written.
        """
        with self._lock:
            held: Held[P] = self._held.get((folder, name)) or Held(self._open(folder, opening))
            held.holders += 1
            self._held[folder, name] = held
            return held.part

    def let_go(self, folder: Path, name: str) -> None:
        """Count one holder less; the last one closes the part, and the last part of a folder gives up its lock."""
        with self._lock:
            held = self._held[folder, name]
            held.holders -= 1
            if held.holders:
                return
            del self._held[folder, name]
            held.part.close()
            if not any(other == folder for other, _ in self._held):
                self._locks.pop(folder).release()

    def _open(self, folder: Path, opening: "Callable[[Client], P]") -> P:
        made = make_folder(folder)
        with ExitStack() as failed:
            lock = self._locks.get(folder)
            if lock is None:
                lock = DirectoryLock(folder)
                failed.callback(lock.release)
                failed.callback(take_away, made)
            client = open_folder(folder)
            failed.callback(client.close)
            part = opening(client)
            failed.pop_all()
        self._locks[folder] = lock
        return part


OPEN_FOLDERS = OpenFolders()
"""All of this process: the lock is the process's too."""
