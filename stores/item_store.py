"""Keep items of LangGraph's store in Chroma, and serve reads from shelves in the process, one for each namespace.

A shelf is filled when a search first needs it and grows with this store's own writes. On a server every write gives its
namespaces a fresh revision once it is done, and a shelf of another revision is filled again, so that another process's
writes are seen. Shelves used longest ago are dropped when there are too many items.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from threading import RLock
from typing import TYPE_CHECKING
from uuid import uuid4

from langgraph_engram.encoder import Vectors
from langgraph_engram.stores.item_collections import ItemCollections
from langgraph_engram.stores.item_shelf import ItemShelf
from langgraph_engram.stores.items import Address, Namespace, StoredItem, item_id
from langgraph_engram.stores.namespaces import Namespaces

if TYPE_CHECKING:
    from chromadb.api.client import Client

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
        self._shelves: OrderedDict[Namespace, ItemShelf] = OrderedDict()
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

    def shelves(self, prefix: Namespace) -> list[ItemShelf]:
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
            shelf = self._shelves[name] = ItemShelf(self._names.revision(name))
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
                self._shelves |= {name: ItemShelf(revision) for name in fresh}

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
