"""Keep the items of LangGraph's store in Chroma collections of their own.

Three collections: items, one row each; vectors, one row for each text that an item is found by; namespaces, one row for
each that holds items, with a revision for other processes to see. Vectors are written before the item that names their
version, so that an item changes as a whole: what an interrupted write leaves behind belongs to no item.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from langgraph_engram.embeddings.base import Vectors
from langgraph_engram.errors import EncoderMismatch, StoreError
from langgraph_engram.stores.collections import PAGE_SIZE
from langgraph_engram.stores.langgraph_store.items import (
    Address,
    Namespace,
    StoredItem,
    from_row,
    item_id,
    namespace_as_text,
    namespace_from_text,
    row_id,
    to_row,
)

if TYPE_CHECKING:
    from chromadb import Collection
    from chromadb.api.client import Client


ITEMS, VECTORS, NAMESPACES = "engram-store-items", "engram-store-vectors", "engram-store-namespaces"
SCHEMA = 1
"""The version of what is written. A store of another version is refused."""
NAMESPACES_PER_REQUEST = 200


class ItemCollections:
    """The collections of items of one client."""

    def __init__(self, client: "Client", location: str) -> None:
        """Open the collections, made where they are missing; that of vectors once any are written.

        Raises:
            StoreError: They are of a version that this one cannot read.
        """
        self._client, self._location = client, location
        self._items = self._open(ITEMS)
        self._namespaces = self._open(NAMESPACES)
        self._vectors = self._existing(VECTORS)
        self._page_size = min(PAGE_SIZE, client.get_max_batch_size())

    def require_encoder(self, name: str) -> None:
        """Check that vectors may be written with the encoder of this name; comes before they are.

        Raises:
            EncoderMismatch: The stored ones were made by another encoder.
        """
        self._vectors = self._vectors or self._open(VECTORS, encoder=name)
        written = (self._vectors.metadata or {}).get("encoder")
        if written != name:
            raise EncoderMismatch(
                f"the items of the store {self._location!r} were indexed with {written!r}, not {name!r}: open it with "
                f"the encoder they were indexed with (`encoder`, `index` or ENGRAM_ENCODER), or choose another store"
            )

    def read(self, addresses: Iterable[Address]) -> dict[Address, StoredItem]:
        """Return the items at addresses; an address that has none is left out."""
        ids = [item_id(address) for address in dict.fromkeys(addresses)]
        rows = (
            row
            for page in self._split(ids)
            for row in self._items.get(ids=page, include=["metadatas"])["metadatas"] or ()
        )
        return {item.address: item for item in map(from_row, rows)}

    def read_namespaces(self, namespaces: Sequence[Namespace]) -> dict[Namespace, list[StoredItem]]:
        """Return the items of namespaces, by namespace, first put first."""
        found: defaultdict[Namespace, list[StoredItem]] = defaultdict(list)
        for page in self._pages(self._items, namespaces, ["metadatas"]):
            for item in map(from_row, page["metadatas"]):
                found[item.namespace].append(item)
        return {namespace: sorted(items, key=lambda item: item.created_at) for namespace, items in found.items()}

    def read_vectors(self, namespaces: Sequence[Namespace]) -> dict[tuple[str, str], Vectors]:
        """Return the vectors of namespaces, by the id of the item's row and the version they belong to."""
        found: defaultdict[tuple[str, str], list[Any]] = defaultdict(list)
        if self._vectors is not None:
            for page in self._pages(self._vectors, namespaces, ["metadatas", "embeddings"]):
                for row, vector in zip(page["metadatas"], page["embeddings"], strict=True):
                    found[row["item"], row["version"]].append(vector)
        return {owner: np.asarray(vectors, dtype=np.float32) for owner, vectors in found.items()}

    def write(self, items: Sequence[StoredItem], vectors: Mapping[Address, Vectors]) -> None:
        """Write items over what is at their addresses, each after its vectors."""
        self._write_vectors(items, vectors)
        for page in self._split(items):
            self._items.upsert(
                ids=[item_id(item.address) for item in page],
                embeddings=_unused_vectors(len(page)),
                metadatas=[to_row(item) for item in page],
            )

    def remove(self, items: Sequence[StoredItem]) -> None:
        """Remove items and their vectors."""
        for page in self._split([item_id(item.address) for item in items]):
            self._items.delete(ids=page)
        self.remove_vectors(items)

    def remove_vectors(self, items: Sequence[StoredItem]) -> None:
        """Remove the vectors of these versions of items, and no others."""
        if self._vectors is not None:
            for page in self._split([vector_id for item in items for vector_id in _vector_ids(item)]):
                self._vectors.delete(ids=page)

    def clear_vectors(self) -> None:
        """Remove all vectors; items are found without a query then."""
        while self._vectors and (ids := self._vectors.get(limit=self._page_size, include=[])["ids"]):
            self._vectors.delete(ids=ids)

    def write_vectors(self, vectors_of: Callable[[Sequence[StoredItem]], Mapping[Address, Vectors]]) -> int:
        """Write vectors of all items that had some, as they are given for items; return how many items have them."""
        written = 0
        for offset in range(0, self._items.count(), self._page_size):
            rows = self._items.get(limit=self._page_size, offset=offset, include=["metadatas"])["metadatas"] or ()
            items = [item for item in map(from_row, rows) if item.vectors]
            vectors = vectors_of(items)
            self.write([replace(item, vectors=len(vectors.get(item.address, ()))) for item in items], vectors)
            written += len(vectors)
        return written

    def refresh(self, items: Sequence[StoredItem]) -> None:
        """Write the expiry of items. An item that another process has removed stays removed."""
        for page in self._split(items):
            self._items.update(
                ids=[item_id(item.address) for item in page],
                metadatas=[{"expires_at": item.expires_at} for item in page],
            )

    def expired(self, now: float) -> list[StoredItem]:
        """Return the items that have expired; `now` in seconds since 1970."""
        where: Any = {"expires_at": {"$lte": now}}
        return [from_row(row) for row in self._items.get(where=where, include=["metadatas"])["metadatas"] or ()]

    def any_expiring(self) -> bool:
        """Return whether any item has an expiry."""
        where: Any = {"expires_at": {"$gt": 0.0}}
        return bool(self._items.get(where=where, limit=1, include=[])["ids"])

    def any_in(self, namespace: Namespace) -> bool:
        """Return whether a namespace holds an item."""
        where: Any = {"namespace": namespace_as_text(namespace)}
        return bool(self._items.get(where=where, limit=1, include=[])["ids"])

    def namespaces(self, prefix: Namespace = ()) -> dict[Namespace, str]:
        """Return the namespaces under a prefix that hold items, with their revisions, first made first."""
        where: Any = {_prefix_field(len(prefix)): namespace_as_text(prefix)} if prefix else None
        rows = self._namespaces.get(where=where, include=["metadatas"])["metadatas"] or ()
        return {namespace_from_text(str(row["namespace"])): str(row["revision"]) for row in rows}

    def put_namespaces(self, namespaces: Sequence[Namespace], revision: str) -> None:
        """Record that namespaces hold items, as of a revision."""
        for page in self._split(namespaces):
            self._namespaces.upsert(
                ids=[row_id(namespace) for namespace in page],
                embeddings=_unused_vectors(len(page)),
                metadatas=[_namespace_row(namespace, revision) for namespace in page],
            )

    def remove_namespaces(self, namespaces: Sequence[Namespace]) -> None:
        """Record that namespaces hold nothing any more."""
        for page in self._split([row_id(namespace) for namespace in namespaces]):
            self._namespaces.delete(ids=page)

    def _write_vectors(self, items: Sequence[StoredItem], vectors: Mapping[Address, Vectors]) -> None:
        owners = [item for item in items if item.vectors]
        if not owners:
            return
        assert self._vectors is not None, "require_encoder comes first"
        ids = [vector_id for item in owners for vector_id in _vector_ids(item)]
        rows: list[Any] = [
            {"namespace": namespace_as_text(item.namespace), "item": item_id(item.address), "version": item.version}
            for item in owners
            for _ in range(item.vectors)
        ]
        block = np.concatenate([vectors[item.address] for item in owners])
        for start in range(0, len(ids), self._page_size):
            page = slice(start, start + self._page_size)
            self._vectors.upsert(ids=ids[page], embeddings=block[page], metadatas=rows[page])

    def _pages(
        self, collection: "Collection", namespaces: Sequence[Namespace], include: list[Any]
    ) -> Iterator[Mapping[str, Any]]:
        names = list(map(namespace_as_text, namespaces))
        for start in range(0, len(names), NAMESPACES_PER_REQUEST):
            where: Any = {"namespace": {"$in": names[start : start + NAMESPACES_PER_REQUEST]}}
            offset = 0
            while (page := collection.get(where=where, include=include, limit=self._page_size, offset=offset))["ids"]:
                yield page
                offset += self._page_size

    def _split(self, values: Sequence[Any]) -> Iterator[list[Any]]:
        return (list(values[start : start + self._page_size]) for start in range(0, len(values), self._page_size))

    def _open(self, name: str, **metadata: str) -> "Collection":
        return self._existing(name) or self._checked(
            self._client.get_or_create_collection(
                name,
                embedding_function=None,
                metadata={"schema": SCHEMA, **metadata},
                configuration={"hnsw": {"space": "cosine" if metadata else "l2"}},
            )
        )

    def _existing(self, name: str) -> "Collection | None":
        from chromadb.errors import NotFoundError

        try:
            return self._checked(self._client.get_collection(name, embedding_function=None))
        except NotFoundError:
            return None

    def _checked(self, collection: "Collection") -> "Collection":
        schema = (collection.metadata or {}).get("schema")
        if schema != SCHEMA:
            raise StoreError(
                f"the items of the store {self._location!r} have schema {schema!r} and this version reads {SCHEMA!r}: "
                f"install the version that wrote them, or choose another store"
            )
        return collection


def _vector_ids(item: StoredItem) -> list[str]:
    return [f"{item_id(item.address)}:{item.version}:{number}" for number in range(item.vectors)]


def _namespace_row(namespace: Namespace, revision: str) -> dict[str, str]:
    """Write a namespace with all of its prefixes, each under a key of its own: Chroma matches whole texts only."""
    prefixes = {_prefix_field(size): namespace_as_text(namespace[:size]) for size in range(1, len(namespace) + 1)}
    return {"namespace": namespace_as_text(namespace), "revision": revision, **prefixes}


def _prefix_field(size: int) -> str:
    return f"under_{size}"


def _unused_vectors(rows: int) -> Vectors:
    """Return what Chroma wants beside rows that are never searched by vector."""
    return np.ones((rows, 1), dtype=np.float32)
