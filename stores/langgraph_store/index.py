"""Keep the items of LangGraph's store in Chroma, and serve reads from an index for each namespace in the process.

An index is loaded when a search first needs it and grows with this store's own writes. On a server every write gives
its namespaces a fresh revision once it is done, and an index of another revision is loaded again, so that another
process's writes are seen. Indexes used longest ago are dropped when there are too many items.
"""

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from langgraph_engram.embeddings.base import Vectors
from langgraph_engram.stores.langgraph_store.collections import ItemCollections
from langgraph_engram.stores.langgraph_store.items import Address, Namespace, Namespaces, StoredItem, item_id
from langgraph_engram.stores.locks import write_lock

if TYPE_CHECKING:
    from chromadb.api.client import Client


log = logging.getLogger(__name__)
WITHOUT_VECTORS = ".engram.without-vectors"
"""The file in a folder that says that vectors of items were lost with an index of Chroma's."""
NO_OWNER = -1
"""The slot of a vector whose item is gone; as a list index it is the last one, which is kept free for it."""
MIN_SLACK = 64
"""Unused rows below which an index is never compacted."""
CACHED_ITEMS = 200_000
"""Items kept in the process."""
REFRESHED_SHARE = 0.01
"""Share of its time to live by which an item's expiry must move to be written: most reads write nothing."""


class NamespaceIndex:
    """The items of one namespace."""

    def __init__(self, revision: str = "") -> None:
        """Start empty, as of a revision of the namespace."""
        self.revision = revision
        self._slots: list[StoredItem | None] = []
        self._slot_of: dict[str, int] = {}
        self._rows: Vectors | None = None
        self._owners = np.empty(0, dtype=np.intp)
        self._filled = 0
        self._owned = 0

    def __len__(self) -> int:
        return len(self._slot_of)

    def __iter__(self) -> Iterator[StoredItem]:
        """Iterate over the items, first put first."""
        return (item for item in self._slots if item is not None)

    def get(self, key: str) -> StoredItem | None:
        """Return the item of a key, or None."""
        slot = self._slot_of.get(key)
        return None if slot is None else self._slots[slot]

    def put(self, item: StoredItem, vectors: Vectors | None) -> None:
        """Add an item at the end, or replace that of its key.

        Args:
            item: The item.
            vectors: Its vectors, of shape (n, dimensions) and length 1 each; None if it has none.
        """
        slot = self._slot_of.get(item.key)
        if slot is None:
            slot = self._slot_of[item.key] = len(self._slots)
            self._slots.append(item)
        else:
            self._slots[slot] = item
            self._release_rows(slot)
        if vectors is not None and len(vectors):
            self._add_rows(slot, vectors)

    def remove(self, key: str) -> None:
        """Remove an item. An unknown key is ignored."""
        slot = self._slot_of.pop(key, None)
        if slot is not None:
            self._slots[slot] = None
            self._release_rows(slot)

    def refresh(self, key: str, expires_at: float) -> None:
        """Change when an item expires, in seconds since 1970."""
        slot = self._slot_of.get(key)
        if slot is not None and (item := self._slots[slot]) is not None:
            self._slots[slot] = replace(item, expires_at=expires_at)

    def at(self, slot: int) -> StoredItem:
        """Return the item of a slot that `scores` returned."""
        item = self._slots[slot]
        assert item is not None
        return item

    def scores(self, query: Vectors) -> tuple[NDArray[np.intp], Vectors]:
        """Score the items that have vectors, each by its best one.

        Args:
            query: A vector of length 1, of shape (dimensions,).

        Returns:
            The slots of the items, first put first, and the cosine of each, in -1..1.
        """
        best = np.full(len(self._slots) + 1, -np.inf, dtype=np.float32)
        if self._rows is not None:
            np.maximum.at(best, self._owners[: self._filled], self._rows[: self._filled] @ query)
        slots = np.flatnonzero(best[:-1] > -np.inf)
        return slots, best[slots]

    def unscored(self) -> Iterator[StoredItem]:
        """Return the items without vectors, first put first."""
        found = set(self._owners[: self._filled].tolist())
        return (item for slot, item in enumerate(self._slots) if item is not None and slot not in found)

    def is_sparse(self) -> bool:
        """Return whether most of its rows or slots are unused."""
        rows, slots = self._filled - self._owned, len(self._slots) - len(self)
        return rows > max(self._owned, MIN_SLACK) or slots > max(len(self), MIN_SLACK)

    def compacted(self) -> "NamespaceIndex":
        """Return an index of the same items without unused rows and slots."""
        fresh = NamespaceIndex(self.revision)
        owners = self._owners[: self._filled]
        order = np.argsort(owners, kind="stable")
        for slot, item in enumerate(self._slots):
            if item is not None:
                start, end = np.searchsorted(owners, (slot, slot + 1), sorter=order)
                fresh.put(item, self._rows[order[start:end]] if self._rows is not None else None)
        return fresh

    def _release_rows(self, slot: int) -> None:
        owners = self._owners[: self._filled]
        released = owners == slot
        owners[released] = NO_OWNER
        self._owned -= int(np.count_nonzero(released))

    def _add_rows(self, slot: int, vectors: Vectors) -> None:
        end = self._filled + len(vectors)
        if self._rows is None or end > len(self._rows):
            self._resize(max(2 * self._filled, end), vectors.shape[1])
        assert self._rows is not None
        self._rows[self._filled : end] = vectors
        self._owners[self._filled : end] = slot
        self._filled, self._owned = end, self._owned + len(vectors)

    def _resize(self, size: int, dimensions: int) -> None:
        rows, owners = np.empty((size, dimensions), dtype=np.float32), np.full(size, NO_OWNER, dtype=np.intp)
        if self._rows is not None:
            rows[: self._filled] = self._rows[: self._filled]
            owners[: self._filled] = self._owners[: self._filled]
        self._rows, self._owners = rows, owners


@dataclass(frozen=True)
class Put:
    """A write to an address."""

    address: Address
    text: str | None
    """The value as JSON; None to remove the item."""
    vectors: Vectors | None = None
    """Of shape (n, dimensions) and length 1 each; None if it has none."""
    ttl: float | None = None
    """Minutes to live; None for never to expire."""


class ItemStore:
    """Items over one Chroma client. Its methods are for one thread at a time: use `held`."""

    def __init__(
        self,
        client: "Client",
        location: str,
        *,
        folder: Path | None = None,
        shared: bool = False,
        cached_items: int = CACHED_ITEMS,
    ) -> None:
        """Open the items of a client.

        Args:
            client: The Chroma client; it stays its owner's to close.
            location: What errors call this store.
            folder: Where Chroma keeps its files, if it does so in this process.
            shared: Whether other processes write to the store too.
            cached_items: How many items are kept in the process.
        """
        self.lock = RLock()
        self._folder = folder
        self._shared, self._cached_items = shared, cached_items
        self._collections = ItemCollections(client, location)
        self._namespaces = Namespaces({} if shared else self._collections.namespaces())
        self._indexes: OrderedDict[Namespace, NamespaceIndex] = OrderedDict()
        self._may_expire = shared or self._collections.any_expiring()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold off other threads, and a backup of the folder in whatever process."""
        with self.lock, nullcontext() if self._folder is None else write_lock(self._folder):
            yield

    def require_encoder(self, name: str) -> None:
        """Check that vectors may be written with the encoder of this name; comes before they are.

        Raises:
            EncoderMismatch: The stored ones were made by another encoder.
        """
        self._collections.require_encoder(name)

    def restore_vectors(self, vectors_of: Callable[[Sequence[StoredItem]], Mapping[Address, Vectors]] | None) -> None:
        """Make the vectors anew that were lost with an index, if any were; hold the items meanwhile.

        Args:
            vectors_of: Returns the vectors of items; None to leave them without until the store is opened again.
        """
        if self._folder is None or not (lost := self._folder / WITHOUT_VECTORS).exists():
            return
        self._indexes.clear()
        self._collections.clear_vectors()
        if vectors_of:
            count = self._collections.write_vectors(vectors_of)
            lost.unlink()
            log.warning(
                "a process died as Chroma wrote an index of %s: %d items were encoded anew", self._folder, count
            )

    def get(self, addresses: Iterable[Address]) -> dict[Address, StoredItem]:
        """Return the items at addresses; an address that has none is left out."""
        wanted = dict.fromkeys(addresses)
        if self._shared:
            return self._collections.read(wanted)
        indexes = {address: self._indexes.get(address[0]) for address in wanted if address[0] in self._namespaces}
        read = self._collections.read(address for address, index in indexes.items() if index is None)
        cached = {address: index.get(address[1]) for address, index in indexes.items() if index is not None}
        return read | {address: item for address, item in cached.items() if item is not None}

    def namespaces(self, prefix: Namespace = ()) -> list[Namespace]:
        """Return the namespaces under a prefix that hold items, first made first."""
        if self._shared:
            self._namespaces.replace(prefix, self._collections.namespaces(prefix))
        return self._namespaces.under(prefix)

    def indexes(self, prefix: Namespace) -> list[NamespaceIndex]:
        """Return the index of every namespace under a prefix, which may be one itself."""
        under = self.namespaces(prefix)
        self._load([namespace for namespace in under if not self._is_fresh(namespace)])
        found = [namespace for namespace in under if namespace in self._indexes]
        for namespace in found:
            self._indexes.move_to_end(namespace)
        indexes = [self._indexes[namespace] for namespace in found]
        self._drop_least_used()
        return indexes

    def write(self, puts: Sequence[Put], now: datetime) -> None:
        """Put and remove items at distinct addresses. An item that is replaced keeps its `created_at`.

        Raises:
            chromadb.errors.ChromaError: It cannot be written; each item is as it was or as it should be.
        """
        before = self.get(put.address for put in puts)
        items = [_item(put, before.get(put.address), now) for put in puts if put.text is not None]
        vectors = {put.address: put.vectors for put in puts if put.vectors is not None}
        gone = [before[put.address] for put in puts if put.text is None and put.address in before]
        outdated = [before[item.address] for item in items if item.address in before]
        self._may_expire |= any(item.ttl is not None for item in items)
        with ExitStack() as failed:
            failed.callback(self._drop_indexes, {put.address[0] for put in puts})  # what is written is not known
            self._add_namespaces(item.namespace for item in items)
            self._collections.write(items, vectors)
            self._collections.remove(gone)
            self._collections.remove_vectors(outdated)
            self._update_after_write(items, vectors, gone)
            failed.pop_all()

    def refresh(self, items: Iterable[StoredItem], now: float) -> None:
        """Restart the time to live of items at `now`, in seconds since 1970."""
        distinct = {item.address: item for item in items}.values()
        refreshed = [fresh for item in distinct if (fresh := _refreshed(item, now)) is not None]
        if refreshed:
            self._collections.refresh(refreshed)
        for item in refreshed:
            if item.namespace in self._indexes and item.expires_at is not None:
                self._indexes[item.namespace].refresh(item.key, item.expires_at)

    def sweep(self, now: datetime) -> int:
        """Remove the expired items, and return how many there were."""
        expired = self._collections.expired(now.timestamp()) if self._may_expire else []
        if expired:
            self.write([Put(item.address, None) for item in expired], now)
        return len(expired)

    def _is_fresh(self, namespace: Namespace) -> bool:
        index = self._indexes.get(namespace)
        return index is not None and (not self._shared or index.revision == self._namespaces.revision(namespace))

    def _load(self, namespaces: Sequence[Namespace]) -> None:
        """Read indexes anew. Revisions were read first: a write during the loading makes the index outdated."""
        if not namespaces:
            return
        items = self._collections.read_namespaces(namespaces)
        vectors = self._collections.read_vectors(namespaces)
        for namespace in namespaces:
            index = self._indexes[namespace] = NamespaceIndex(self._namespaces.revision(namespace))
            for item in items.get(namespace, ()):
                index.put(item, vectors.get((item_id(item.address), item.version)))
        if not self._shared:
            self._remove_empty([namespace for namespace in namespaces if namespace not in items])

    def _drop_least_used(self) -> None:
        cached = sum(map(len, self._indexes.values()))
        while cached > self._cached_items and len(self._indexes) > 1:
            cached -= len(self._indexes.popitem(last=False)[1])

    def _drop_indexes(self, namespaces: Iterable[Namespace]) -> None:
        for namespace in namespaces:
            self._indexes.pop(namespace, None)

    def _add_namespaces(self, namespaces: Iterable[Namespace]) -> None:
        """Record new namespaces before they hold items, so that what an interrupted write leaves is found."""
        new = [namespace for namespace in dict.fromkeys(namespaces) if namespace not in self._namespaces]
        if new:
            revision = uuid4().hex
            self._collections.put_namespaces(new, revision)
            for namespace in new:
                self._namespaces.put(namespace, revision)
            if not self._shared:
                self._indexes |= {namespace: NamespaceIndex(revision) for namespace in new}

    def _update_after_write(
        self, items: Sequence[StoredItem], vectors: Mapping[Address, Vectors], gone: Sequence[StoredItem]
    ) -> None:
        """Bring indexes and namespaces up to what is written now."""
        touched = list(dict.fromkeys(item.namespace for item in (*items, *gone)))
        if self._shared:
            self._collections.put_namespaces(touched, uuid4().hex)
            self._drop_indexes(touched)
        else:
            self._update_indexes(items, vectors, gone)
            self._drop_least_used()
        self._remove_empty(dict.fromkeys(item.namespace for item in gone))

    def _update_indexes(
        self, items: Sequence[StoredItem], vectors: Mapping[Address, Vectors], gone: Sequence[StoredItem]
    ) -> None:
        for item in items:
            if item.namespace in self._indexes:
                self._indexes[item.namespace].put(item, vectors.get(item.address))
        for item in gone:
            if item.namespace in self._indexes:
                self._indexes[item.namespace].remove(item.key)
        for namespace in dict.fromkeys(item.namespace for item in (*items, *gone)):
            if namespace in self._indexes and self._indexes[namespace].is_sparse():
                self._indexes[namespace] = self._indexes[namespace].compacted()

    def _remove_empty(self, namespaces: Iterable[Namespace]) -> None:
        empty = [namespace for namespace in namespaces if not self._holds_any(namespace)]
        self._collections.remove_namespaces(empty)
        for namespace in empty:
            self._namespaces.remove(namespace)
            self._indexes.pop(namespace, None)
        # Another process may have put an item, and have recorded its namespace, before that was removed here.
        if self._shared and (filled := [namespace for namespace in empty if self._collections.any_in(namespace)]):
            self._collections.put_namespaces(filled, uuid4().hex)

    def _holds_any(self, namespace: Namespace) -> bool:
        index = self._indexes.get(namespace)
        return self._collections.any_in(namespace) if index is None else bool(len(index))


def _item(put: Put, before: StoredItem | None, now: datetime) -> StoredItem:
    replaces = before is not None and not before.expired(now.timestamp())
    return StoredItem(
        namespace=put.address[0],
        key=put.address[1],
        text=put.text or "",
        created_at=before.created_at if before is not None and replaces else now,
        updated_at=now,
        version=uuid4().hex,
        vectors=0 if put.vectors is None else len(put.vectors),
        ttl=put.ttl,
        expires_at=None if put.ttl is None else now.timestamp() + put.ttl * 60,
    )


def _refreshed(item: StoredItem, now: float) -> StoredItem | None:
    """Return an item with a fresh expiry, if that differs enough to be written."""
    if item.ttl is None or item.expires_at is None:
        return None
    expires_at = now + item.ttl * 60
    enough = expires_at - item.expires_at >= item.ttl * 60 * REFRESHED_SHARE
    return replace(item, expires_at=expires_at) if enough else None
