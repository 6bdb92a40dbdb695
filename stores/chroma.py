"""Keep memories in Chroma, and serve reads from scope indexes in the process.

A commit writes what is new and what it changes, removes what is removed, writes a fresh revision, and removes what is
completed: cut off anywhere, it can be repeated. An embedded store marks the pending tasks that a commit completes, in
the same request, and removes many of them at once. The index of a scope is filled when first asked for and grows with
this store's own commits, except those that remove. On a server the scope's revision is compared on each read, so that
another process's commits are seen; an embedded store has one process.
"""

import copy
import logging
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from glob import escape
from pathlib import Path
from threading import Lock, RLock
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar
from uuid import uuid4

import numpy as np

from langgraph_engram.embeddings.base import Encoder, Vectors, mean_of
from langgraph_engram.errors import InvalidInput, StoreError, StoreOutdated
from langgraph_engram.results import BackupReceipt
from langgraph_engram.schema import Decision, PendingTask, Scope
from langgraph_engram.settings import StorageSettings
from langgraph_engram.stores.arrays import FileBacked
from langgraph_engram.stores.backup import back_up
from langgraph_engram.stores.base import Changes, Row
from langgraph_engram.stores.clients import Lazy, closed_error, translated_errors
from langgraph_engram.stores.collections import SCHEMA, Batch, Collections, row_id, scope_hash
from langgraph_engram.stores.examination import Examination
from langgraph_engram.stores.index import DECISIONS, PENDING_TASKS, RECORDS, SEARCHABLE, Kind, ScopeIndex, T
from langgraph_engram.stores.locks import ScopeLocks, write_lock
from langgraph_engram.stores.revisions import LocalRevisions, Revisions, SharedRevisions
from langgraph_engram.stores.secure_delete import announce_removal, secure_delete
from langgraph_engram.stores.snapshots import Snapshots
from langgraph_engram.stores.versions import open_collections

if TYPE_CHECKING:
    from chromadb.api.client import Client


log = logging.getLogger(__name__)

E = TypeVar("E")

MAX_COMPLETED = 64
"""Rows of completed tasks that are removed together: a request to Chroma costs as much as ten rows."""


class ChromaStore:
    """A store over one Chroma client. Many threads may use it at once."""

    def __init__(
        self,
        open_client: "Callable[[], Client]",
        encoder: Encoder,
        *,
        location: str,
        folder: Path | None = None,
        shared: bool = False,
        settings: StorageSettings | None = None,
        on_close: Callable[[], None] | None = None,
        locks: ScopeLocks | None = None,
        migrate: bool = True,
    ) -> None:
        """Open the collections of a client; those of a folder whose snapshots are current when they are needed.

        Args:
            open_client: Returns the Chroma client, the same each time.
            encoder: What makes vectors; a store is written with one encoder throughout.
            location: What errors call this store.
            folder: Where Chroma keeps its files, if it does so in this process.
            shared: Whether other processes write to the store too.
            settings: How much of it is held in the process's memory; by default as `StorageSettings` says.
            on_close: Called once when the store is closed, to release the client.
            locks: Those of this process's other stores at the same location; its own by default.
            migrate: Whether a store that an older version wrote is migrated; that of a folder is copied before.

        Raises:
            EncoderMismatch: The store's vectors were made by another encoder.
            StoreOutdated: The store is of an older version, and is not to be migrated.
            EncoderUnavailable: The store is of an older version and has no vector, and the encoder is out of reach.
            StoreError: Chroma cannot open it.
        """
        self.location = location
        self._folder, self._encoder, self._shared, self._on_close = folder, encoder, shared, on_close
        before = self._before_migration if migrate else self._refuse_migration
        self._opened = Lazy(lambda: open_collections(open_client(), encoder.name, location, before), location)
        settings = settings or StorageSettings()
        self._allocate = FileBacked(folder, settings.vectors_on_disk_from) if folder else np.empty
        self._snapshots = Snapshots(folder, encoder.name, self._allocate) if folder else None
        if not (self._snapshots and self._snapshots.are_current()):
            with translated_errors(location):
                self._opened()
        self._revisions: Revisions = LocalRevisions()
        if shared:
            self._revisions = SharedRevisions(self._collections.revisions, uuid4().hex)
        self._cache = _IndexCache(settings)
        self._locks = ScopeLocks() if locks is None else locks
        self._completed: list[str] = []
        """The keys of rows of completed tasks that are still there; all handles share it."""
        self._lock = RLock()
        self._closed = False

    @property
    def _collections(self) -> Collections:
        return self._opened()

    def _before_migration(self, version: int) -> Encoder:
        """Copy an embedded store that is to be migrated, unless an earlier migration that was cut off has done so."""
        if self._folder is None:
            return self._encoder
        copy = self._folder.with_name(f"{self._folder.name}-schema-{version}")
        if not copy.exists():
            back_up(self._folder, copy)
        log.warning("the store %s was written by an older version and is migrated; a copy is %s", self._folder, copy)
        return self._encoder

    def _refuse_migration(self, version: int) -> NoReturn:
        raise StoreOutdated(
            f"the store {self.location!r} has schema {version} and this version writes {SCHEMA}: copy a server's "
            f"folder while the server is stopped, then migrate it with `engram doctor --fix`"
        )

    def handle(self, on_close: Callable[[], None]) -> "ChromaStore":
        """Return another handle on this store: it shares indexes and locks, is closed alone, and then calls `on_close`.

        The collections stay open until the owner of the client closes it.
        """
        handle = copy.copy(self)
        handle._closed, handle._on_close = False, on_close
        return handle

    @property
    def encoder(self) -> Encoder:
        """Return the encoder of this store's vectors."""
        return self._encoder

    def writing(self, scope: Scope) -> AbstractContextManager[None]:
        """Hold off other runs of a scope in this process, for callers that wait for their run."""
        self._require_open()
        return self._locks.writing(scope)

    def committing(self, scope: Scope) -> AbstractContextManager[None]:
        """Hold off other commits to a scope in this process, to read and commit as one."""
        self._require_open()
        return self._locks.committing(scope)

    def commit(self, scope: Scope, changes: Changes) -> None:
        """Write the changes of one run, new items first, then what it changes, removes and completes. Idempotent.

        Raises:
            StoreError: The store cannot write; nothing old is lost.
            InvalidMessages: A text is not valid Unicode.
        """
        self._require_open()
        batches = self._batches(scope, changes)
        with self._lock, self._held_files(), translated_errors(self.location), ExitStack() as failed:
            self._require_open()
            failed.callback(self._cache.drop, scope)  # how much a failed commit has written is not known
            if self._snapshots:
                self._snapshots.drop(scope)
            if self._folder and changes.removed:
                announce_removal(self._folder, f"{scope_hash(scope)}:")
            revision = self._write(scope, batches, changes)
            index = None if changes.removed else self._cache.get(scope)  # positions are stable: nothing can be removed
            if index and self._revisions.only_mine_since(index.revision, revision):
                self._hold(scope, _advanced(index, batches, changes.completed, revision))
                failed.pop_all()

    def index(self, scope: Scope) -> ScopeIndex:
        """Return everything of a scope, ready for search, as of the last commit of any process.

        Raises:
            StoreError: The store cannot be read.
        """
        self._require_open()
        index = self._cache.get(scope)
        if index and not self._shared and not self._cache.is_over_limit:
            return index
        with self._lock, self._held_files(), translated_errors(self.location):  # Chroma may catch up when it reads
            self._require_open()
            index = self._cache.get(scope)
            if index is None or (self._shared and index.revision != self._revisions.read(scope)):
                index = self._snapshots.read(scope, self._revisions.read(scope)) if self._snapshots else None
                index = index or self._loaded(scope)
            self._hold(scope, index)
            return index

    def decisions(self, scope: Scope) -> list[Decision]:
        """Return the audit trail of a scope, oldest first."""
        return sorted(self.index(scope).decisions.values(), key=DECISIONS.sort_key)

    def pending_tasks(self, scope: Scope) -> list[PendingTask]:
        """Return the pending tasks of a scope, oldest first.

        On a server they are read each time: another process removes them after it has written its revision.
        """
        if self._shared:
            with self._reading():
                return sorted(self._collections.rare_items(scope, PENDING_TASKS), key=PENDING_TASKS.sort_key)
        return sorted(self.index(scope).pending_tasks.values(), key=PENDING_TASKS.sort_key)

    def scopes(self) -> list[Scope]:
        """Return the scopes of which anything is stored, in the order of their keys."""
        with self._reading():
            return self._collections.scopes()

    def items(self, scope: Scope, kind: Kind[T]) -> Iterator[T]:
        """Return the items of one kind as they were first written, page by page."""
        return self._each(lambda: self._collections.items(scope, kind))

    def stored(self, scope: Scope, kind: Kind[T], ids: Sequence[str]) -> dict[str, T]:
        """Return those of these items that are stored, by id."""
        with self._reading():
            return self._collections.stored(scope, kind, ids)

    def rows(self, scope: Scope) -> Iterator[Row]:
        """Return every row of a scope, of every kind."""
        return self._each(lambda: self._collections.rows(scope))

    def contains_text(self, text: str) -> bool:
        """Return whether any row, of whatever scope, holds a text word for word."""
        with self._reading():
            return self._collections.contains_text(text)

    def secure_delete(self, scope: Scope) -> list[Path]:
        """Overwrite what the files of an embedded store still hold of a scope's removed rows.

        Returns:
            The files, and those of the copies that migrations made beside the store, which stay as they are.
        """
        with self._lock, self._held_files():
            self._require_open()
            if self._folder is None:
                return []
            secure_delete(self._folder, f"{scope_hash(scope)}:")
            copies = self._folder.parent.glob(f"{escape(self._folder.name)}-schema-*")
            return sorted(path for home in (self._folder, *copies) for path in home.rglob("*") if path.is_file())

    def drop_index(self, scope: Scope) -> None:
        """Drop the cached index of a scope, and its snapshot: the next read loads it from the rows."""
        with self._lock, self._held_files():
            self._require_open()
            self._cache.drop(scope)
            if self._snapshots:
                self._snapshots.drop(scope)

    def examine(self, *, fix: bool) -> Examination:
        """Examine the rows, vectors and files of all scopes, and mend them if asked to (`stores/examination.py`)."""
        with self._lock, self._held_files(), translated_errors(self.location):
            self._require_open()
            examination = Examination(self._collections, self._encoder, self._folder, fix)
            examination.run()
            if fix:
                self._cache.clear()
                if self._snapshots:
                    self._snapshots.clear()
        return examination

    def back_up(self, target: Path) -> BackupReceipt:
        """Copy the folder of an embedded store as it stands, to a folder that opens.

        Raises:
            InvalidInput: The store has no folder on this machine, or the target is taken.
            StoreUnwritable: The target cannot be written.
        """
        self._require_open()
        if self._folder is None:
            raise InvalidInput(
                f"the store {self.location!r} has no folder of its own here: export it (`engram export`), or copy the "
                f"server's folder while the server is stopped"
            )
        return back_up(self._folder, target)

    def close(self) -> None:
        """Close the store, after what is under way. Closing twice is harmless."""
        with self._lock:
            closed, self._closed = self._closed, True
            if not closed and self._on_close:
                self._on_close()
            if self._folder is None:
                self._cache.clear()

    def free_memory(self) -> None:
        """Let go of all indexes and collections, with snapshots written. Call it before a folder's client is closed.

        The scope used last has one however small it is: the next command is likely to ask for it again.
        """
        if self._completed:
            with suppress(StoreError), self._held_files(), translated_errors(self.location):  # nobody reads what stays
                self._remove_completed()
        if self._snapshots:
            held = self._cache.all()
            self._snapshots.write_missing(held[:-1])
            self._snapshots.write_missing(held[-1:], min_items=1)
        self._cache.clear()
        self._opened.close()

    def _hold(self, scope: Scope, index: ScopeIndex) -> None:
        """Hold an index in memory, and let go of those used longest ago that are too much; hold `_lock` first."""
        self._cache.put(scope, index)
        surplus = self._cache.take_surplus()
        if self._snapshots:
            self._snapshots.write_missing(surplus)

    def _require_open(self) -> None:
        if self._closed:
            raise closed_error(self.location)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Hold off closing, and commits, while rows are read."""
        with self._lock, translated_errors(self.location):
            self._require_open()
            yield

    def _each(self, found: Callable[[], Iterator[E]]) -> Iterator[E]:
        """Yield what is read page by page; an error once the store is closed."""
        with self._reading():
            left = found()
        while True:
            with self._reading():
                try:
                    item = next(left)
                except StopIteration:
                    return
            yield item

    def _held_files(self) -> AbstractContextManager[None]:
        """Hold off a backup of the folder, in whatever process; hold `_lock` first."""
        return nullcontext() if self._folder is None else write_lock(self._folder)

    def _batches(self, scope: Scope, changes: Changes) -> list[Batch[Any]]:
        """Return what a commit writes, in its order; texts whose vectors are not known are encoded together.

        Pending tasks come before the items that they are about: cut off in between, nothing is taken for done.
        """
        parts = [(kind, kind.distinct(getattr(changes, kind.name))) for kind in (PENDING_TASKS, *SEARCHABLE, DECISIONS)]
        parts = [(kind, items) for kind, items in [*parts, (RECORDS, RECORDS.distinct(changes.changed))] if items]
        searchable = iter(self._vectors(scope, [(kind, items) for kind, items in parts if kind in SEARCHABLE]))
        return [Batch(kind, items, next(searchable) if kind in SEARCHABLE else None) for kind, items in parts]

    def _vectors(self, scope: Scope, parts: Sequence[tuple[Kind[Any], Sequence[Any]]]) -> list[Vectors]:
        """Return the vectors of the items of each part; those of texts that the index has already are not made anew."""
        index = self._cache.get(scope)
        known = _known_vectors(index, parts) if index else {}
        made_of = [[tuple(kind.texts_of(item)) for item in items] for kind, items in parts]
        needed = [text for part in made_of for texts in part if texts not in known for text in texts]
        unknown = list(dict.fromkeys(needed))
        encoded = dict(zip(unknown, self._encoder.encode(unknown) if unknown else (), strict=True))
        return [
            np.stack([known[texts] if texts in known else mean_of(texts, encoded) for texts in part])
            for part in made_of
        ]

    def _dimensions(self) -> int:
        """Return those of the store's vectors, if it has any without the encoder, which may be out of reach."""
        return self._collections.dimensions() or self._encoder.encode([]).shape[1]

    def _write(self, scope: Scope, batches: Sequence[Batch[Any]], changes: Changes) -> str:
        is_marked = bool(batches) and not changes.removed and not self._shared
        if batches:
            vectors = next((batch.vectors for batch in batches if batch.vectors is not None), None)
            dimensions = self._dimensions() if vectors is None else vectors.shape[1]
            self._collections.write(scope, batches, dimensions, changes.completed if is_marked else ())
        self._collections.remove(scope, changes.removed)
        revision = self._revisions.renew(scope)
        if is_marked:
            self._completed += [row_id(scope, PENDING_TASKS, item_id) for item_id in changes.completed]
        else:
            self._collections.remove(scope, {PENDING_TASKS.name: changes.completed})
        if changes.removed or len(self._completed) >= MAX_COMPLETED:
            self._remove_completed(() if changes.removed else self._completed)
        return revision

    def _remove_completed(self, keys: Sequence[str] = ()) -> None:
        self._collections.remove_completed(keys)
        self._completed.clear()

    def _loaded(self, scope: Scope) -> ScopeIndex:
        revision = self._revisions.read(scope)  # read first: a commit during the loading makes the index outdated
        index = ScopeIndex(revision, self._allocate)
        for kind, items, vectors in self._collections.read(scope):
            if kind in SEARCHABLE:
                index.of_kind(kind).put(items, vectors)
            else:
                index = index.with_unsearched(kind, items)
        return index


class _IndexCache:
    """The scope indexes used last, as far as the settings have room for them. Many threads may use it at once."""

    def __init__(self, settings: StorageSettings) -> None:
        """Start empty."""
        self._most, self._most_bytes = settings.scopes_in_memory, settings.memory_limit_mb * 1_000_000
        self._indexes: OrderedDict[str, tuple[Scope, ScopeIndex]] = OrderedDict()
        """The index used last is the last one."""
        self._bytes: dict[str, int] = {}
        """What each took when it was last looked at: it grows as it is read."""
        self._lock = Lock()

    @property
    def is_over_limit(self) -> bool:
        """Return whether there is an index to let go of."""
        over = len(self._indexes) > self._most or sum(self._bytes.values()) > self._most_bytes
        return over and len(self._indexes) > 1

    def get(self, scope: Scope) -> ScopeIndex | None:
        """Return the index of a scope, if it is cached."""
        with self._lock:
            if scope.key not in self._indexes:
                return None
            last = next(reversed(self._indexes))
            if last != scope.key:
                self._bytes[last] = self._indexes[last][1].nbytes
                self._indexes.move_to_end(scope.key)
            return self._indexes[scope.key][1]

    def put(self, scope: Scope, index: ScopeIndex) -> None:
        """Cache the index of a scope, in place of an earlier one."""
        with self._lock:
            self._indexes[scope.key] = scope, index
            self._indexes.move_to_end(scope.key)
            self._bytes[scope.key] = index.nbytes

    def take_surplus(self) -> list[tuple[Scope, ScopeIndex]]:
        """Remove the indexes used longest ago that are beyond the limits, and return them; the one used last stays."""
        taken = []
        with self._lock:
            while self.is_over_limit:
                key, entry = self._indexes.popitem(last=False)
                del self._bytes[key]
                taken.append(entry)
        return taken

    def all(self) -> list[tuple[Scope, ScopeIndex]]:
        """Return the indexes in the cache, with their scopes."""
        with self._lock:
            return list(self._indexes.values())

    def clear(self) -> None:
        """Remove all indexes."""
        with self._lock:
            self._indexes.clear()
            self._bytes.clear()

    def drop(self, scope: Scope) -> None:
        """Remove the index of a scope."""
        with self._lock:
            self._indexes.pop(scope.key, None)
            self._bytes.pop(scope.key, None)


def _known_vectors(
    index: ScopeIndex, parts: Sequence[tuple[Kind[Any], Sequence[Any]]]
) -> dict[tuple[str, ...], Vectors]:
    """Return the vectors of texts that the index has already, such as those of records whose status changes."""
    vectors: dict[tuple[str, ...], Vectors] = {}
    for kind, items in parts:
        of_kind = index.of_kind(kind)
        for item in items:
            position = of_kind.find_position(kind.id_of(item))
            if position >= 0 and (texts := kind.texts_of(item)) == kind.texts_of(of_kind.items[position]):
                vectors[tuple(texts)] = of_kind.vectors[position]
    return vectors


def _advanced(index: ScopeIndex, batches: Sequence[Batch[Any]], completed: Sequence[str], revision: str) -> ScopeIndex:
    """Return an index as it is after a commit that completed the pending tasks of these ids."""
    after = index.with_revision(revision)
    for batch in batches:
        if batch.vectors is not None:
            after = after.with_items(batch.kind, batch.items, batch.vectors)
        else:
            after = after.with_unsearched(batch.kind, batch.items)
    return after.with_unsearched(PENDING_TASKS, (), completed)
