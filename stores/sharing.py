"""Share one memory store among all who open a folder within this process."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from threading import Lock

from langgraph_engram.encoder import Encoder
from langgraph_engram.errors import EncoderMismatch, StoreError
from langgraph_engram.schema import Decision, Pending, Scope
from langgraph_engram.stores.chroma import ChromaStore
from langgraph_engram.stores.open_folders import OPEN_FOLDERS
from langgraph_engram.stores.scope_index import ScopeIndex
from langgraph_engram.stores.store import Changes, Row

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
                OPEN_FOLDERS.let_go(self._folder, PART)

    def _open_store(self) -> ChromaStore:
        if self._store is None:
            raise StoreError(f"the store {str(self._folder)!r} is closed: open it again")
        return self._store
