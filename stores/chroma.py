"""Keep memories in Chroma, and serve reads from scope indexes in the process.

A commit writes what is new and what it changes, removes what is removed, writes a fresh revision, and removes what is
completed: cut off anywhere, it can be repeated. The index of a scope is filled when first asked for and grows with
this store's own commits, except those that remove. On a server the scope's revision is compared on each read, so that
another process's commits are seen; an embedded store has one process.
"""

import copy
import logging
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

import numpy as np

from langgraph_engram.embeddings.base import Encoder, Vectors, encode_items
from langgraph_engram.errors import EngramError
from langgraph_engram.schema import Decision, PendingTask, Scope
from langgraph_engram.settings import StorageSettings
from langgraph_engram.stores.chroma_files import announce_removal, secure_delete, writes_to
from langgraph_engram.stores.clients import Lazy, closed_error, translated_errors
from langgraph_engram.stores.examination import Examination
from langgraph_engram.stores.index import MAX_SCOPES, IndexCache, ScopeIndex
from langgraph_engram.stores.kinds import DECISIONS, PENDING_TASKS, RECORDS, SEARCHABLE, Changes, Kind, KindItems, T
from langgraph_engram.stores.locks import ScopeLocks
from langgraph_engram.stores.rows import PAGE_SIZE, Rows, SharedRevisions, open_rows
from langgraph_engram.stores.snapshots import Snapshots

if TYPE_CHECKING:
    from chromadb.api.client import Client

E = TypeVar("E")

log = logging.getLogger(__name__)


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
    ) -> None:
        """Open the collections of a client; those of a folder whose snapshots are current when they are needed.

        Args:
            open_client: Returns the Chroma client, the same each time.
            location: What errors call this store.
            folder: Where Chroma keeps its files, if it does so in this process.
            shared: Whether other processes write to the store too.
            on_close: Called once when the store is closed, to release the client.
            locks: Those of this process's other stores at the same location; its own by default.
        """
        self.location, self.encoder = location, encoder
        self.folder, self._on_close = folder, on_close
        self._opened = Lazy(lambda: open_rows(open_client(), encoder.name, location), location)
        self._writes = writes_to(folder)
        self._snapshots = Snapshots(folder, encoder.name) if folder else None
        if not (self._snapshots and self._snapshots.are_current()):
            with translated_errors(location):
                self._opened()
        self._revisions = SharedRevisions(self._rows.root, uuid4().hex) if shared else None
        """None for a store that one process has to itself: nobody else would read them."""
        self._cache = IndexCache((settings or StorageSettings()).memory_limit_mb)
        self._locks = ScopeLocks() if locks is None else locks
        self._recalled: dict[Scope, dict[str, float]] = {}
        """By scope, the one asked last at the end: how often each turn was evidence since that was last kept."""
        self._counting = Lock()
        self._closed = False

    @property
    def _rows(self) -> Rows:
        return self._opened()

    def handle(self, on_close: Callable[[], None]) -> "ChromaStore":
        """Return another handle on this store: it shares indexes and locks, is closed alone, and then calls `on_close`.

        The collections stay open until the owner of the client closes it.
        """
        handle = copy.copy(self)
        handle._closed, handle._on_close = False, on_close
        return handle

    def writing(self, scope: Scope) -> AbstractContextManager[None]:
        """Hold off other runs of a scope in this process, for callers that wait for their run."""
        self._require_open()
        return self._locks.writing(scope)

    def committing(self, scope: Scope) -> AbstractContextManager[None]:
        """Hold off other commits to a scope in this process, to read and commit as one. Never ask a model inside."""
        self._require_open()
        return self._locks.committing(scope)

    def commit(self, scope: Scope, changes: Changes) -> None:
        """Write the changes of one run, new items first, then what it changes, removes and completes. Idempotent.

        Raises:
            StoreError: The store cannot write; nothing old is lost.
            InvalidMessages: A text is not valid Unicode.
        """
        self._require_open()
        parts = self._parts(scope, changes)
        with self._held(), ExitStack() as failed:
            failed.callback(self._cache.drop, scope)  # how much a failed commit has written is not known
            self._drop_snapshot(scope)
            if self.folder and changes.removed:
                announce_removal(self.folder, f"{scope.digest}:")
            revision = self._write(scope, parts, changes)
            index = None if changes.removed else self._cache.get(scope)  # positions are stable: nothing can be removed
            if index and (not self._revisions or self._revisions.only_mine_since(index.revision, revision)):
                after = index.with_parts(revision=revision)
                for part in parts:
                    after = after.with_items(*part)
                self._hold(scope, after.with_unsearched(PENDING_TASKS, (), changes.completed), before=index)
                failed.pop_all()

    def index(self, scope: Scope, revision: str | None = None) -> ScopeIndex:
        """Return everything of a scope, ready for search: as of a revision where it is still here, else as of now.

        Now is after the last commit of any process.
        """
        self._require_open()
        if revision and (version := self._cache.version(scope, revision)):
            return version
        index = self._cache.get(scope)
        if index and not self._revisions and not self._cache.is_over_limit:
            return index
        with self._held():
            index = self._cache.get(scope)
            if index is None or (self._revisions and index.revision != self._revisions.read(scope)):
                index = self._snapshots.read(scope, uuid4().hex) if self._snapshots else None
            if index is None:
                # The revision is read first: a commit during the loading makes the index outdated.
                index = ScopeIndex(self._revisions.read(scope) if self._revisions else uuid4().hex)
                for part in self._rows.read(scope):
                    index = index.with_items(*part)
            self._hold(scope, index)
            return index

    def note_recalled(self, scope: Scope, turn_ids: Collection[str]) -> None:
        """Count a result whose evidence are these turns, a share for each, of the scopes asked last.

        Nothing is written until `keep_recalled`.
        """
        with self._counting:
            noted = self._recalled[scope] = self._recalled.pop(scope, {})
            noted.update({turn_id: noted.get(turn_id, 0.0) + 1 / len(turn_ids) for turn_id in turn_ids})
            if len(self._recalled) > MAX_SCOPES:
                del self._recalled[next(iter(self._recalled))]

    def keep_recalled(self, *scopes: Scope) -> None:
        """Write with the events of these scopes, by default of those in memory, how often their turns were evidence."""
        for scope in scopes or [scope for scope in list(self._recalled) if self._cache.get(scope)]:
            with self._counting:
                noted = self._recalled.pop(scope, None)
            if not noted:
                continue
            with self.committing(scope):
                events = [
                    event.model_copy(update={"recalled": event.recalled + share})
                    for event in self.index(scope).events.items
                    if (share := sum(noted.get(turn_id, 0.0) for turn_id in event.turn_ids))
                ]
                if events:
                    self.commit(scope, Changes(events=events))

    def decisions(self, scope: Scope) -> list[Decision]:
        """Return the audit trail of a scope, oldest first."""
        return sorted(self.index(scope).decisions.values(), key=DECISIONS.sort_key)

    def pending_tasks(self, scope: Scope) -> list[PendingTask]:
        """Return the pending tasks of a scope, oldest first.

        On a server they are read each time: another process removes them after it has written its revision.
        """
        tasks = self.items(scope, PENDING_TASKS) if self._revisions else self.index(scope).pending_tasks.values()
        return sorted(tasks, key=PENDING_TASKS.sort_key)

    def scopes(self) -> list[Scope]:
        """Return the scopes of which anything is stored, in the order of their keys."""
        with self._held():
            return self._rows.scopes()

    def items(self, scope: Scope, kind: Kind[T]) -> Iterator[T]:
        """Return the items of one kind as they were first written, page by page."""
        return self._each(lambda: self._rows.items(scope, kind))

    def stored(self, scope: Scope, kind: Kind[T], ids: Sequence[str]) -> dict[str, T]:
        """Return those of these items that are stored, by id."""
        with self._held():
            return self._rows.stored(scope, kind, ids)

    def rows(self, scope: Scope) -> Iterator[tuple[str, list[str]]]:
        """Return the kind and every text of each row of a scope, its id included, read from durable storage."""
        return self._each(lambda: self._rows.rows(scope))

    def contains_text(self, text: str) -> bool:
        """Return whether any row holds a text word for word: the one question that is asked of all scopes at once."""
        with self._held():
            return bool(self._rows.memories.get(where_document={"$contains": text}, limit=1, include=[])["ids"])

    def secure_delete(self, scope: Scope) -> list[Path]:
        """Overwrite what an embedded store's files hold of a scope's removed rows, and return these files."""
        with self._held():
            if self.folder is None:
                return []
            secure_delete(self.folder, f"{scope.digest}:")
            return sorted(path for path in self.folder.rglob("*") if path.is_file())

    def drop_index(self, scope: Scope) -> None:
        """Drop the cached index of a scope, and its snapshot: the next read loads it from the rows."""
        with self._held():
            self._cache.drop(scope)
            self._drop_snapshot(scope)

    def examine(self, *, fix: bool) -> Examination:
        """Examine the rows, vectors and files of all scopes, and mend them if asked to (`stores/examination.py`)."""
        with self._held():
            examination = Examination(self._rows, self.encoder, self.folder, fix)
            examination.run()
            if fix:
                self._cache.clear()
                if self._snapshots:
                    self._snapshots.clear()
        return examination

    def close(self) -> None:
        """Close the store, after what is under way; a folder keeps what was counted. Closing twice is harmless."""
        try:
            if self.folder and self._opened.is_made and not self._closed:
                self.keep_recalled()
        except (EngramError, OSError) as error:
            log.warning("how often memories were recalled is not kept: %s", error)
        finally:
            with self._writes.lock:
                closed, self._closed = self._closed, True
                if not closed and self._on_close:
                    self._on_close()
                if self.folder is None:
                    self._cache.clear()

    def free_memory(self) -> None:
        """Let go of all indexes and collections, with snapshots written. Call it before a folder's client is closed.

        The scope used last has one however small it is: the next command is likely to ask for it again.
        """
        if self._snapshots:
            held = self._cache.all()
            self._snapshots.write_missing(held[:-1])
            self._snapshots.write_missing(held[-1:], min_items=1)
        self._cache.clear()
        self._opened.close()

    def _hold(self, scope: Scope, index: ScopeIndex, before: ScopeIndex | None = None) -> None:
        """Hold an index, and the one before it; let those used longest ago go that are too much; inside `_held`."""
        surplus = self._cache.put(scope, index, before)
        if self._snapshots:
            self._snapshots.write_missing(surplus)

    def _drop_snapshot(self, scope: Scope) -> None:
        if self._snapshots:
            self._snapshots.drop(scope)

    def _require_open(self) -> None:
        if self._closed:
            raise closed_error(self.location)

    @contextmanager
    def _held(self) -> Iterator[None]:
        """Hold off closing, and others who use the folder: Chroma may write when it reads."""
        with self._writes.held(), translated_errors(self.location):
            self._require_open()
            yield

    def _each(self, found: Callable[[], Iterator[E]]) -> Iterator[E]:
        """Yield what is read page by page; an error once the store is closed."""
        with self._held():
            left = found()
        page: list[E] | None = None
        while page is None or page:
            with self._held():
                page = list(islice(left, PAGE_SIZE))
            for item in page:
                self._require_open()
                yield item

    def _parts(self, scope: Scope, changes: Changes) -> list[KindItems[Any]]:
        """Return what a commit writes, in its order; texts whose vectors are not known are encoded together.

        Pending tasks come before the items that they are about: cut off in between, nothing is taken for done.
        """
        written = [(kind, getattr(changes, kind.name)) for kind in (PENDING_TASKS, *SEARCHABLE, DECISIONS)]
        parts = [(kind, kind.distinct(items)) for kind, items in [*written, (RECORDS, changes.changed)] if items]
        vectors = iter(self._vectors(scope, [part for part in parts if part[0] in SEARCHABLE]))
        return [KindItems(kind, items, next(vectors) if kind in SEARCHABLE else None) for kind, items in parts]

    def _vectors(self, scope: Scope, parts: Sequence[tuple[Kind[Any], Sequence[Any]]]) -> list[Vectors]:
        """Return the vectors of the items of each part; those of texts that the index has already are not made anew."""
        index = self._cache.get(scope) or ScopeIndex()
        made_of = [[tuple(kind.texts_of(item)) for item in items] for kind, items in parts]
        known: dict[tuple[str, ...], Vectors] = {}
        for (kind, items), part in zip(parts, made_of, strict=True):
            of_kind = index.of_kind(kind)
            for item, texts in zip(items, part, strict=True):
                stored = of_kind.get(kind.id_of(item))  # such as a record whose status changes
                if stored and tuple(kind.texts_of(stored)) == texts:
                    known[texts] = of_kind.vectors[of_kind.position(kind.id_of(item))]
        unknown = list(dict.fromkeys(texts for part in made_of for texts in part if texts not in known))
        if unknown:
            known |= dict(zip(unknown, encode_items(self.encoder, unknown), strict=True))
        return [np.stack([known[texts] for texts in part]) for part in made_of]

    def _write(self, scope: Scope, parts: Sequence[KindItems[Any]], changes: Changes) -> str:
        if parts:
            dimensions = next((part.vectors.shape[1] for part in parts if part.vectors is not None), 0)
            # the encoder is asked last: it may be out of reach
            dimensions = dimensions or self._rows.dimensions() or self.encoder.encode([]).shape[1]
            self._rows.write(scope, parts, dimensions)
        self._rows.remove(scope, changes.removed)
        revision = self._revisions.renew(scope) if self._revisions else uuid4().hex
        self._rows.remove(scope, {PENDING_TASKS.name: changes.completed})
        return revision
