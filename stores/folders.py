"""Share what stands in a folder among all who open it within this process, and let the folder go with the last of them.

A folder holds several parts, such as the memories and the items of LangGraph's store. Each part is opened once and
counted; all parts of a folder stand under one lock, and Chroma itself shares one database among their clients. This
module does not know what a part is.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Lock, RLock
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from langgraph_engram.embeddings.base import Encoder
from langgraph_engram.errors import EncoderMismatch, InvalidSetting, StoreError
from langgraph_engram.schema import Decision, PendingTask, Scope
from langgraph_engram.stores.base import Changes, Row, Store
from langgraph_engram.stores.chroma import ChromaStore
from langgraph_engram.stores.clients import open_folder, open_memory, open_server
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.stores.locks import SERVER_LOCKS, DirectoryLock, make_folder, take_away

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

PART = "memories"
"""What a memory's part of a folder is called."""


def take_folder(folder: Path, encoder: Encoder) -> "FolderStore":
    """Open a folder, or join those who have it open.

    Raises:
        StoreLocked: Another process has it.
        StoreUnwritable: It cannot be made or written.
        EncoderMismatch: It was written with another encoder.
    """
    folder = folder.expanduser().resolve()
    encoder.name  # noqa: B018  # an encoder that cannot be had fails here, before anything is written
    store = OPEN_FOLDERS.take(folder, PART, partial(ChromaStore, encoder=encoder, location=str(folder), folder=folder))
    if store.encoder.name != encoder.name:
        OPEN_FOLDERS.let_go(folder, PART)
        raise EncoderMismatch(
            f"the store {str(folder)!r} is open with the encoder {store.encoder.name!r}, not "
            f"{encoder.name!r}: open it with the same one"
        )
    return FolderStore(folder, store)


class FolderStore:
    """One holder's share of an open store."""

    def __init__(self, folder: Path, store: ChromaStore) -> None:
        """Hold `store`, which stands in `folder`."""
        self._folder = folder
        self._store: ChromaStore | None = store
        self._encoder = store.encoder
        self._closing = Lock()

    @property
    def encoder(self) -> Encoder:
        """Give the encoder that made this store's vectors."""
        return self._encoder

    def writing(self, scope: Scope) -> AbstractContextManager[None]:
        """Hold off other runs of a scope in this process."""
        return self._open_store().writing(scope)

    def committing(self, scope: Scope) -> AbstractContextManager[None]:
        """Hold off other commits to a scope in this process, to read and commit as one."""
        return self._open_store().committing(scope)

    def commit(self, scope: Scope, changes: Changes) -> None:
        """Write one run's changes."""
        self._open_store().commit(scope, changes)

    def index(self, scope: Scope) -> ScopeIndex:
        """Give everything of a scope, ready for search."""
        return self._open_store().index(scope)

    def decisions(self, scope: Scope) -> list[Decision]:
        """Give the audit trail of a scope, oldest first."""
        return self._open_store().decisions(scope)

    def pending_tasks(self, scope: Scope) -> list[PendingTask]:
        """Give the turns whose later steps are not done, oldest first."""
        return self._open_store().pending_tasks(scope)

    def rows(self, scope: Scope) -> Iterator[Row]:
        """Give all that lies in the store under a scope."""
        return self._open_store().rows(scope)

    def contains_text(self, text: str) -> bool:
        """Say whether anything that is kept holds a text word for word."""
        return self._open_store().contains_text(text)

    def secure_delete(self, scope: Scope) -> list[Path]:
        """Overwrite what files hold of a scope's rows that are gone."""
        return self._open_store().secure_delete(scope)

    def close(self) -> None:
        """Let go of the store. Closing twice is harmless."""
        with self._closing:
            if self._store:
                self._store = None
                OPEN_FOLDERS.let_go(self._folder, PART)

    def _open_store(self) -> ChromaStore:
        if self._store is None:
            raise StoreError(f"the store {str(self._folder)!r} is closed: open it again")
        return self._store


MEMORY = "memory:"
"""The location of a store that is gone when it is closed."""


def open_store(location: str | Path, encoder: Encoder) -> Store:
    """Open a store.

    Args:
        location: A folder, made if it is missing and shared within the process; "memory:" for a fresh one that is
            kept nowhere; or the `http(s)://` URL of a Chroma server, which several processes may use.
        encoder: What makes the store's vectors. A store is written with one encoder throughout.

    Raises:
        InvalidSetting: The location is empty, or no URL.
        StoreLocked: Another process has the folder open.
        StoreUnwritable: The folder cannot be made or written.
        StoreUnreachable: No Chroma server answers.
        EncoderMismatch: The store was written with another encoder.
    """
    if location == "":
        raise InvalidSetting("no location of a store: give a folder, 'memory:' or the URL of a Chroma server")
    if location == MEMORY:
        client, empty = open_memory(f"memories by {encoder.name}")
        return ChromaStore(client, encoder, location=MEMORY, on_close=empty)
    if isinstance(location, str) and "://" in location:
        return _open_shared(location, encoder)
    return take_folder(Path(location), encoder)


def _open_shared(url: str, encoder: Encoder) -> ChromaStore:
    with ExitStack() as failed:
        client, hang_up = open_server(url)
        failed.callback(hang_up)
        store = ChromaStore(client, encoder, location=url, shared=True, on_close=hang_up, locks=SERVER_LOCKS.of(url))
        failed.pop_all()
    return store
