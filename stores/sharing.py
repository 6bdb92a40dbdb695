"""Share one store among all who open a folder within this process, and let the folder go with the last of them."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from langgraph_engram.encoder import Encoder
from langgraph_engram.errors import EncoderMismatch, StoreError
from langgraph_engram.schema import Decision, Pending, Scope
from langgraph_engram.stores.chroma import ChromaStore
from langgraph_engram.stores.clients import open_folder
from langgraph_engram.stores.lock import DirectoryLock, make_folder, take_away
from langgraph_engram.stores.scope_index import ScopeIndex
from langgraph_engram.stores.store import Changes, Row


@dataclass
class Held:
    """An open store and how many hold it."""

    store: ChromaStore
    holders: int = 0


class OpenFolders:
    """The stores that this process has open, by folder."""

    def __init__(self) -> None:
        """Start with none."""
        self._held: dict[Path, Held] = {}
        self._lock = Lock()

    def take(self, folder: Path, encoder: Encoder) -> "FolderStore":
        """Open a folder, or join those who have it open.

        Raises:
            StoreLocked: Another process has it.
            StoreUnwritable: It cannot be made or written.
            EncoderMismatch: It was written with another encoder.
        """
        folder = folder.expanduser().resolve()
        with self._lock:
            held = self._held.get(folder) or Held(_open(folder, encoder))
            if held.store.encoder.name != encoder.name:
                raise EncoderMismatch(
                    f"the store {str(folder)!r} is open with the encoder {held.store.encoder.name!r}, not "
                    f"{encoder.name!r}: open it with the same one"
                )
            held.holders += 1
            self._held[folder] = held
            return FolderStore(self, folder, held.store)

    def let_go(self, folder: Path) -> None:
        """Count one holder less, and close the store after the last."""
        with self._lock:
            held = self._held[folder]
            held.holders -= 1
            if not held.holders:
                del self._held[folder]
                held.store.close()


OPEN_FOLDERS = OpenFolders()
"""All of this process: the lock is the process's too."""


class FolderStore:
    """One holder's share of an open store."""

    def __init__(self, folders: OpenFolders, folder: Path, store: ChromaStore) -> None:
        """Hold `store`, which stands in `folder`."""
        self._folders, self._folder = folders, folder
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

    def pendings(self, scope: Scope) -> list[Pending]:
        """Give the turns whose later steps are not done, oldest first."""
        return self._open_store().pendings(scope)

    def rows(self, scope: Scope) -> Iterator[Row]:
        """Give all that lies in the store under a scope."""
        return self._open_store().rows(scope)

    def says(self, text: str) -> bool:
        """Say whether anything that is kept holds a text word for word."""
        return self._open_store().says(text)

    def scrub(self, scope: Scope) -> list[Path]:
        """Overwrite what files hold of a scope's rows that are gone."""
        return self._open_store().scrub(scope)

    def close(self) -> None:
        """Let go of the store. Closing twice is harmless."""
        with self._closing:
            if self._store:
                self._store = None
                self._folders.let_go(self._folder)

    def _open_store(self) -> ChromaStore:
        if self._store is None:
            raise StoreError(f"the store {str(self._folder)!r} is closed: open it again")
        return self._store


def _open(folder: Path, encoder: Encoder) -> ChromaStore:
    """Open a folder that this process does not have open. What fails leaves no folder behind that was not there."""
    encoder.name  # noqa: B018  # an encoder that cannot be had fails here, before anything is written
    made = make_folder(folder)
    with ExitStack() as failed:
        lock = DirectoryLock(folder)
        failed.callback(lock.release)
        failed.callback(take_away, made)
        client = open_folder(folder)
        failed.callback(client.close)
        store = ChromaStore(client, encoder, location=str(folder), folder=folder, on_close=lock.release)
        failed.pop_all()
    return store
