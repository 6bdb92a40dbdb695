"""Keep items of LangGraph's store in Chroma, and serve reads from shelves in the process, one for each namespace.

A shelf is filled when a search first needs it and grows with this store's own writes. On a server every write gives its
namespaces a fresh revision once it is done, and a shelf of another revision is filled again, so that another process's
writes are seen. Shelves used longest ago are dropped when there are too many items.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from threading import RLock
from typing import TYPE_CHECKING
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from langgraph_engram.embeddings.base import Vectors
from langgraph_engram.stores.langgraph_store.collections import ItemCollections
from langgraph_engram.stores.langgraph_store.items import Address, Namespace, Namespaces, StoredItem, item_id

if TYPE_CHECKING:
    from chromadb.api.client import Client


NOBODY = -1
"""The slot of a row that belongs to nothing any more; as an index it is the last place, which is kept free for it."""
LEAST_SLACK = 64
"""Rows without an owner below which a shelf is never made anew."""


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
        """Give how many items there are."""
        return len(self._slot_of)

    def __iter__(self) -> Iterator[StoredItem]:
        """Give the items, first put first."""
        return (item for item in self._slots if item is not None)

    def get(self, key: str) -> StoredItem | None:
        """Give the item of a key, if there is one."""
        slot = self._slot_of.get(key)
        return None if slot is None else self._slots[slot]

    def put(self, item: StoredItem, vectors: Vectors | None) -> None:
        """Put an item in the place of an earlier one of its key, or at the end.

        Args:
            item: The item.
            vectors: What it is found by, of shape (n, dimensions) and length 1 each; None for nothing.
        """
        slot = self._slot_of.get(item.key)
        if slot is None:
            slot = self._slot_of[item.key] = len(self._slots)
            self._slots.append(item)
        else:
            self._slots[slot] = item
            self._disown(slot)
        if vectors is not None and len(vectors):
            self._add_rows(slot, vectors)

    def remove(self, key: str) -> None:
        """Take an item away. A key that is not there is passed over."""
        slot = self._slot_of.pop(key, None)
        if slot is not None:
            self._slots[slot] = None
            self._disown(slot)

    def refresh(self, key: str, expires_at: float) -> None:
        """Let an item live until another time, in seconds since 1970."""
        slot = self._slot_of.get(key)
        if slot is not None and (item := self._slots[slot]) is not None:
            self._slots[slot] = replace(item, expires_at=expires_at)

    def at(self, slot: int) -> StoredItem:
        """Give the item of a slot that `scores` named."""
        item = self._slots[slot]
        assert item is not None
        return item

    def scores(self, query: Vectors) -> tuple[NDArray[np.intp], Vectors]:
        """Score the items that have vectors by the best of each item's.

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
        """Give the items that no vector finds, first put first."""
        found = set(self._owners[: self._filled].tolist())
        return (item for slot, item in enumerate(self._slots) if item is not None and slot not in found)

    def wasteful(self) -> bool:
        """Say whether most of its rows or slots belong to nothing any more."""
        rows, slots = self._filled - self._owned, len(self._slots) - len(self)
        return rows > max(self._owned, LEAST_SLACK) or slots > max(len(self), LEAST_SLACK)

    def compacted(self) -> "NamespaceIndex":
        """Give a shelf of the same items without the waste."""
        fresh = NamespaceIndex(self.revision)
        owners = self._owners[: self._filled]
        order = np.argsort(owners, kind="stable")
        for slot, item in enumerate(self._slots):
            if item is not None:
                start, end = np.searchsorted(owners, (slot, slot + 1), sorter=order)
                fresh.put(item, self._rows[order[start:end]] if self._rows is not None else None)
        return fresh

    def _disown(self, slot: int) -> None:
        owners = self._owners[: self._filled]
        mine = owners == slot
        owners[mine] = NOBODY
        self._owned -= int(np.count_nonzero(mine))

    def _add_rows(self, slot: int, vectors: Vectors) -> None:
        end = self._filled + len(vectors)
        if self._rows is None or end > len(self._rows):
            self._make_room(max(2 * self._filled, end), vectors.shape[1])
        assert self._rows is not None
        self._rows[self._filled : end] = vectors
        self._owners[self._filled : end] = slot
        self._filled, self._owned = end, self._owned + len(vectors)

    def _make_room(self, size: int, dimensions: int) -> None:
        rows, owners = np.empty((size, dimensions), dtype=np.float32), np.full(size, NOBODY, dtype=np.intp)
        if self._rows is not None:
            rows[: self._filled] = self._rows[: self._filled]
            owners[: self._filled] = self._owners[: self._filled]
        self._rows, self._owners = rows, owners


ITEMS_KEPT = 200_000
"""Items kept in the process unless told otherwise."""
REFRESHED_SHARE = 0.01
"""Share of its time to live by which an item's expiry moves before that is written: reads stay reads."""


@dataclass(frozen=True)
class Put:
    """What is to stand at an address."""

    address: Address
    text: str | None
    """The value as JSON; None for nothing."""
    vectors: Vectors | None = None
    """What it is found by, of shape (n, dimensions) and length 1 each; None for nothing."""
    ttl: float | None = None
    """Minutes to live; None for ever."""


class ItemStore:
    """Items over one Chroma client. Its methods are for one thread at a time: hold `lock`."""

    def __init__(
        self,
        client: "Client",
        location: str,
        *,
        shared: bool = False,
        items_kept: int = ITEMS_KEPT,
        on_close: Callable[[], None] | None = None,
    ) -> None:
        """Open the items of a client.

        Args:
            client: The Chroma client; closing the store closes it.
            location: What errors call this store.
            shared: Whether other processes write to it too.
            items_kept: How many items are kept in the process.
            on_close: Called once the client is closed.
        """
        self.location, self.lock = location, RLock()
        self._client, self._shared, self._items_kept, self._on_close = client, shared, items_kept, on_close
        self._collections = ItemCollections(client, location)
        self._names = Namespaces({} if shared else self._collections.namespaces())
        self._shelves: OrderedDict[Namespace, NamespaceIndex] = OrderedDict()
        self._may_expire = shared or self._collections.any_that_expires()

    def use_space(self, name: str) -> None:
        """Say what vectors will be written.

        Raises:
            EncoderMismatch: Those that are there were made by another encoder.
        """
        self._collections.use_space(name)

    def find(self, addresses: Iterable[Address]) -> dict[Address, StoredItem]:
        """Give the items that stand at addresses."""
        wanted = dict.fromkeys(addresses)
        if self._shared:
            return self._collections.read(wanted)
        shelved = {address: self._shelves.get(address[0]) for address in wanted if address[0] in self._names}
        far = self._collections.read(address for address, shelf in shelved.items() if shelf is None)
        near = {address: shelf.get(address[1]) for address, shelf in shelved.items() if shelf is not None}
        return far | {address: item for address, item in near.items() if item is not None}

    def namespaces(self, prefix: Namespace = ()) -> list[Namespace]:
        """Give the namespaces under a prefix that hold items, first made first."""
        if self._shared:
            self._names.replace(prefix, self._collections.namespaces(prefix))
        return self._names.under(prefix)

    def shelves(self, prefix: Namespace) -> list[NamespaceIndex]:
        """Give the items of every namespace under a prefix, which is one itself."""
        under = self.namespaces(prefix)
        self._fill([one for one in under if not self._is_fresh(one)])
        found = {one: self._shelves[one] for one in under if one in self._shelves}
        for name in found:
            self._shelves.move_to_end(name)
        self._drop_unused()
        return list(found.values())

    def write(self, puts: Sequence[Put], now: datetime) -> None:
        """Put and remove items; distinct addresses. An item that was there keeps the time of its making.

        Raises:
            chromadb.errors.ChromaError: It cannot be written; each item is as it was or as it should be.
        """
        before = self.find(put.address for put in puts)
        items = [_item(put, before.get(put.address), now) for put in puts if put.text is not None]
        vectors = {put.address: put.vectors for put in puts if put.vectors is not None}
        gone = [before[put.address] for put in puts if put.text is None and put.address in before]
        outdated = [before[item.address] for item in items if item.address in before]
        self._may_expire |= any(item.ttl is not None for item in items)
        with ExitStack() as failed:
            failed.callback(self._forget, {put.address[0] for put in puts})  # what has been written is not known
            self._name_fresh(item.namespace for item in items)
            self._collections.write(items, vectors)
            self._collections.remove(gone)
            self._collections.remove_vectors(outdated)
            self._settle(items, vectors, gone)
            failed.pop_all()

    def refresh(self, items: Iterable[StoredItem], now: float) -> None:
        """Let items that have a time to live have it anew, from `now` on, in seconds since 1970."""
        distinct = {item.address: item for item in items}.values()
        fresh = [one for one in (_refreshed(item, now) for item in distinct) if one is not None]
        if fresh:
            self._collections.refresh(fresh)
        for item in fresh:
            if item.namespace in self._shelves and item.expires_at is not None:
                self._shelves[item.namespace].refresh(item.key, item.expires_at)

    def sweep(self, now: datetime) -> int:
        """Remove the items whose time is over, and give how many there were."""
        expired = self._collections.expired(now.timestamp()) if self._may_expire else []
        if expired:
            self.write([Put(item.address, None) for item in expired], now)
        return len(expired)

    def close(self) -> None:
        """Let go of Chroma."""
        self._client.close()
        if self._on_close:
            self._on_close()

    def _is_fresh(self, namespace: Namespace) -> bool:
        shelf = self._shelves.get(namespace)
        return shelf is not None and (not self._shared or shelf.revision == self._names.revision(namespace))

    def _fill(self, namespaces: Sequence[Namespace]) -> None:
        """Read shelves anew. Revisions were read first: a write during the filling makes the shelf outdated."""
        if not namespaces:
            return
        items = self._collections.read_namespaces(namespaces)
        vectors = self._collections.read_vectors(namespaces)
        for name in namespaces:
            shelf = self._shelves[name] = NamespaceIndex(self._names.revision(name))
            for item in items.get(name, ()):
                shelf.put(item, vectors.get((item_id(item.address), item.version)))
        if not self._shared:
            self._unname_empty([name for name in namespaces if name not in items])

    def _drop_unused(self) -> None:
        kept = sum(map(len, self._shelves.values()))
        while kept > self._items_kept and len(self._shelves) > 1:
            kept -= len(self._shelves.popitem(last=False)[1])

    def _name_fresh(self, namespaces: Iterable[Namespace]) -> None:
        """Say that namespaces hold items before they do: what a write leaves behind is found."""
        fresh = [one for one in dict.fromkeys(namespaces) if one not in self._names]
        if fresh:
            revision = uuid4().hex
            self._collections.name(fresh, revision)
            for name in fresh:
                self._names.put(name, revision)
            if not self._shared:
                self._shelves |= {name: NamespaceIndex(revision) for name in fresh}

    def _settle(
        self, items: Sequence[StoredItem], vectors: Mapping[Address, Vectors], gone: Sequence[StoredItem]
    ) -> None:
        """Bring shelves and names up to what is written now."""
        touched = list(dict.fromkeys(item.namespace for item in (*items, *gone)))
        if self._shared:
            self._collections.name(touched, uuid4().hex)
            self._forget(touched)
        else:
            self._shelve(items, vectors, gone)
            self._drop_unused()
        self._unname_empty(dict.fromkeys(item.namespace for item in gone))

    def _shelve(
        self, items: Sequence[StoredItem], vectors: Mapping[Address, Vectors], gone: Sequence[StoredItem]
    ) -> None:
        for item in items:
            if item.namespace in self._shelves:
                self._shelves[item.namespace].put(item, vectors.get(item.address))
        for item in gone:
            if item.namespace in self._shelves:
                self._shelves[item.namespace].remove(item.key)
        for name in dict.fromkeys(item.namespace for item in (*items, *gone)):
            if name in self._shelves and self._shelves[name].wasteful():
                self._shelves[name] = self._shelves[name].compacted()

    def _unname_empty(self, namespaces: Iterable[Namespace]) -> None:
        empty = [one for one in namespaces if not self._holds_any(one)]
        self._collections.unname(empty)
        for name in empty:
            self._names.remove(name)
            self._shelves.pop(name, None)
        # Another process may have put an item before the name went, and have named it before that.
        if self._shared and (back := [one for one in empty if self._collections.any_in(one)]):
            self._collections.name(back, uuid4().hex)

    def _holds_any(self, namespace: Namespace) -> bool:
        shelf = self._shelves.get(namespace)
        return self._collections.any_in(namespace) if shelf is None else bool(len(shelf))

    def _forget(self, namespaces: Iterable[Namespace]) -> None:
        for name in namespaces:
            self._shelves.pop(name, None)


def _item(put: Put, before: StoredItem | None, now: datetime) -> StoredItem:
    kept = before is not None and not before.expired(now.timestamp())
    return StoredItem(
        namespace=put.address[0],
        key=put.address[1],
        text=put.text or "",
        created_at=before.created_at if before is not None and kept else now,
        updated_at=now,
        version=uuid4().hex,
        vectors=0 if put.vectors is None else len(put.vectors),
        ttl=put.ttl,
        expires_at=None if put.ttl is None else now.timestamp() + put.ttl * 60,
    )


def _refreshed(item: StoredItem, now: float) -> StoredItem | None:
    """Give an item that lives anew, if that makes enough of a difference to be written."""
    if item.ttl is None or item.expires_at is None:
        return None
    expires_at = now + item.ttl * 60
    enough = expires_at - item.expires_at >= item.ttl * 60 * REFRESHED_SHARE
    return replace(item, expires_at=expires_at) if enough else None
