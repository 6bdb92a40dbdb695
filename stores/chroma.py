"""Keep memories in Chroma, and serve reads from scope indexes in the process.

A commit writes what is new, then what it changes, takes away what is removed, writes a fresh revision, and takes away
what is completed: cut off anywhere, it can be done again. The index of a scope is filled when first asked for and grows
with this store's own commits, but for those that take away. On a server the scope's revision is compared on each read,
so that another process's commits are seen; an embedded store has one process. This module does not know how Chroma is
reached.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from threading import Lock, RLock
from typing import TYPE_CHECKING, Any, Generic
from uuid import uuid4

import numpy as np

from langgraph_engram.embeddings.base import Encoder, Vectors, mean_of
from langgraph_engram.errors import StoreError
from langgraph_engram.schema import Decision, PendingTask, Scope
from langgraph_engram.stores.base import Changes, Row
from langgraph_engram.stores.clients import translated
from langgraph_engram.stores.collections import REVISIONS, OwnRevisions, Revisions, open_collections, scope_hash
from langgraph_engram.stores.index import (
    BOUNDARIES,
    DECISIONS,
    EVENTS,
    PENDING_TASKS,
    RECORDS,
    SYNTHESES,
    TURNS,
    Kind,
    ScopeIndex,
    T,
)
from langgraph_engram.stores.locks import ScopeLocks
from langgraph_engram.stores.secure_delete import secure_delete

if TYPE_CHECKING:
    from chromadb.api.client import Client


@dataclass(frozen=True)
class Batch(Generic[T]):
    """Things of one kind that are written together, and their vectors."""

    kind: Kind[T]
    items: Sequence[T]
    vectors: Vectors | None
    """None for what is never searched."""


def known_vectors(index: ScopeIndex, parts: Sequence[tuple[Kind[Any], Sequence[Any]]]) -> dict[str, Vectors]:
    """Give the vectors of texts that stand in the index already, such as those of records whose status changes."""
    vectors: dict[str, Vectors] = {}
    for kind, items in parts:
        shelf = index.shelf(kind)
        for item in items:
            held = shelf.get(kind.id_of(item))
            if held is not None and kind.text_of(held) == kind.text_of(item):
                vectors[kind.text_of(item)] = shelf.vectors[shelf.position(kind.id_of(item))]
    return vectors


def grown(index: ScopeIndex, batches: Sequence[Batch[Any]], completed: Sequence[str], revision: str) -> ScopeIndex:
    """Give an index as it is after a commit, `settled` being the ids of pending_tasks that it took away."""
    noted = [one for batch in batches if batch.kind == PENDING_TASKS for one in batch.items]
    after = index.at(revision).pending(noted, completed)
    for batch in batches:
        if batch.vectors is not None:
            after = after.put(batch.kind, batch.items, batch.vectors)
    return after


class IndexCache:
    """Scope indexes by scope. Many threads may use it at once."""

    def __init__(self, size: int) -> None:
        """Start empty, with room for `size` indexes; at least 1."""
        self._size = size
        self._indexes: OrderedDict[str, ScopeIndex] = OrderedDict()
        self._lock = Lock()

    def get(self, scope: Scope) -> ScopeIndex | None:
        """Give the index of a scope, if it is kept."""
        with self._lock:
            index = self._indexes.get(scope.key)
            if index is not None:
                self._indexes.move_to_end(scope.key)
            return index

    def keep(self, scope: Scope, index: ScopeIndex) -> None:
        """Keep the index of a scope, in place of an earlier one."""
        with self._lock:
            self._indexes[scope.key] = index
            self._indexes.move_to_end(scope.key)
            while len(self._indexes) > self._size:
                self._indexes.popitem(last=False)

    def drop(self, scope: Scope) -> None:
        """Forget the index of a scope."""
        with self._lock:
            self._indexes.pop(scope.key, None)


SEARCHABLE: tuple[Kind[Any], ...] = (TURNS, EVENTS, BOUNDARIES, RECORDS, SYNTHESES)
SCOPES_KEPT = 64
"""Scope indexes kept in the process unless told otherwise."""


class ChromaStore:
    """A store over one Chroma client. Many threads may use it at once."""

    def __init__(
        self,
        client: "Client",
        encoder: Encoder,
        *,
        location: str,
        folder: Path | None = None,
        shared: bool = False,
        scopes_kept: int = SCOPES_KEPT,
        on_close: Callable[[], None] | None = None,
        locks: ScopeLocks | None = None,
    ) -> None:
        """Open the collections of a client.

        Args:
            client: The Chroma client; closing the store closes it.
            encoder: What makes vectors; a store is written with one encoder throughout.
            location: What errors call this store.
            folder: Where Chroma keeps its files, if that is up to this process.
            shared: Whether other processes write to it too.
            scopes_kept: How many scopes have their index kept in the process.
            on_close: Called once when the store is closed, after the client is.
            locks: Those of all stores of this process at the same place; its own if there is no other.

        Raises:
            EncoderMismatch: The store's vectors were made by another encoder.
            StoreError: Chroma cannot open it.
        """
        self.location = location
        self._folder = folder
        self._client, self._encoder, self._shared, self._on_close = client, encoder, shared, on_close
        with translated(location):
            self._collections = open_collections(client, encoder.name, location)
        self._revisions = Revisions(self._collections.by_name[REVISIONS], uuid4().hex) if shared else OwnRevisions()
        self._cache = IndexCache(scopes_kept)
        self._locks = ScopeLocks() if locks is None else locks
        self._lock = RLock()
        self._closed = False

    @property
    def encoder(self) -> Encoder:
        """Give the encoder that made this store's vectors."""
        return self._encoder

    def writing(self, scope: Scope) -> AbstractContextManager[None]:
        """Hold off other runs of a scope in this process, for those who run one and wait for it."""
        self._require_open()
        return self._locks.writing(scope)

    def committing(self, scope: Scope) -> AbstractContextManager[None]:
        """Hold off other commits to a scope in this process, to read and commit as one."""
        self._require_open()
        return self._locks.committing(scope)

    def commit(self, scope: Scope, changes: Changes) -> None:
        """Write one run's changes: what is new first, then what it marks, removes and settles. Idempotent.

        Raises:
            StoreError: The store cannot write; nothing old is lost.
            InvalidMessages: A text is not valid Unicode.
        """
        self._require_open()
        batches = self._batches(scope, changes)
        with self._lock, translated(self.location), ExitStack() as failed:
            self._require_open()
            failed.callback(self._cache.drop, scope)  # how much a failed commit has written is not known
            revision = self._write(scope, batches, changes)
            index = None if changes.removed else self._cache.get(scope)  # positions stay: an index cannot shrink
            if index and self._revisions.only_mine_since(index.revision, revision):
                self._cache.keep(scope, grown(index, batches, changes.completed, revision))
                failed.pop_all()

    def index(self, scope: Scope) -> ScopeIndex:
        """Give everything of a scope, ready for search, as of the last commit of any process.

        Raises:
            StoreError: The store cannot be read.
        """
        self._require_open()
        index = self._cache.get(scope)
        if index and not self._shared:
            return index
        with self._lock, translated(self.location):
            index = self._cache.get(scope)
            if index and (not self._shared or index.revision == self._revisions.read(scope)):
                return index
            index = self._filled(scope)
            self._cache.keep(scope, index)
            return index

    def decisions(self, scope: Scope) -> list[Decision]:
        """Give the audit trail of a scope, oldest first."""
        return self._read_sorted(scope, DECISIONS)

    def pending_tasks(self, scope: Scope) -> list[PendingTask]:
        """Give the turns whose later steps are not done, oldest first.

        On a server they are read anew: another process takes them away after it has written its revision.
        """
        if self._shared:
            return self._read_sorted(scope, PENDING_TASKS)
        return sorted(self.index(scope).pending_tasks.values(), key=PENDING_TASKS.place_of)

    def rows(self, scope: Scope) -> Iterator[Row]:
        """Give all that lies in the store under a scope, of every kind."""
        self._require_open()
        with translated(self.location):
            yield from self._collections.rows(scope)

    def contains_text(self, text: str) -> bool:
        """Say whether anything that is kept, of whatever scope, holds a text word for word."""
        self._require_open()
        with translated(self.location):
            return self._collections.say(text)

    def secure_delete(self, scope: Scope) -> list[Path]:
        """Overwrite what the files of an embedded store hold of a scope's rows that are gone, as far as can be."""
        with self._lock:
            self._require_open()
            if self._folder is None:
                return []
            secure_delete(self._folder, f"{scope_hash(scope)}:")
            return sorted(one for one in self._folder.rglob("*") if one.is_file())

    def close(self) -> None:
        """Let go of the store. Closing twice is harmless."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._client.close()
            if self._on_close:
                self._on_close()

    def _require_open(self) -> None:
        if self._closed:
            raise StoreError(f"the store {self.location!r} is closed: open it again")

    def _batches(self, scope: Scope, changes: Changes) -> list[Batch[Any]]:
        """Give what a commit writes, in its order; texts whose vectors are not known are encoded together.

        What is to be done is noted before what it is to be done to: cut off in between, nothing is taken for done.
        """
        parts = [(kind, kind.distinct(getattr(changes, kind.name))) for kind in (PENDING_TASKS, *SEARCHABLE, DECISIONS)]
        parts = [(kind, items) for kind, items in [*parts, (RECORDS, RECORDS.distinct(changes.changed))] if items]
        vectors = self._vectors(scope, [(kind, items) for kind, items in parts if kind in SEARCHABLE])
        return [
            Batch(
                kind, items, np.stack([vectors[kind.text_of(item)] for item in items]) if kind in SEARCHABLE else None
            )
            for kind, items in parts
        ]

    def _vectors(self, scope: Scope, parts: Sequence[tuple[Kind[Any], Sequence[Any]]]) -> dict[str, Vectors]:
        index = self._cache.get(scope)
        known = known_vectors(index, parts) if index else {}
        made_of = {kind.text_of(item): kind.texts_of(item) for kind, items in parts for item in items}
        unknown = list(dict.fromkeys(one for text, texts in made_of.items() if text not in known for one in texts))
        fresh = dict(zip(unknown, self._encoder.encode(unknown) if unknown else (), strict=True))
        return known | {text: mean_of(texts, fresh) for text, texts in made_of.items() if text not in known}

    def _write(self, scope: Scope, batches: Sequence[Batch[Any]], changes: Changes) -> str:
        for batch in batches:
            self._collections.write(scope, batch.kind, batch.items, batch.vectors)
        for name, ids in changes.removed.items():
            self._collections.remove(scope, name, ids)
        revision = self._revisions.renew(scope)
        self._collections.remove(scope, PENDING_TASKS.name, changes.completed)
        return revision

    def _filled(self, scope: Scope) -> ScopeIndex:
        index = ScopeIndex(self._revisions.read(scope))  # read first: a commit during the filling makes it outdated
        for kind in SEARCHABLE:
            for items, vectors in self._collections.read_with_vectors(scope, kind):
                index.shelf(kind).put(items, vectors)
        return index.pending(self._collections.read(scope, PENDING_TASKS), completed=())

    def _read_sorted(self, scope: Scope, kind: Kind[T]) -> list[T]:
        with translated(self.location):
            self._require_open()
            return sorted(self._collections.read(scope, kind), key=kind.place_of)
