"""Keep items of LangGraph's store in Chroma collections of their own, never mixed with those of a memory.

Three collections: items, one row each; vectors, as many rows an item as it is found by; namespaces, one row for each
that holds items, with a revision for other processes to see. Vectors are written before the item that names their
version, so that an item changes as a whole: what a write that was cut off leaves behind belongs to no item. This module
does not know who reads.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from langgraph_engram.embeddings.base import Vectors
from langgraph_engram.errors import EncoderMismatch, StoreError
from langgraph_engram.stores.collections import PIECE
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
NAMESPACES_AT_ONCE = 200
"""Namespaces that one request asks for."""


class ItemCollections:
    """The collections of one client."""

    def __init__(self, client: "Client", location: str) -> None:
        """Open the collections, made where they are missing; that of vectors once there are any.

        Raises:
            StoreError: They are of a version that this one cannot read.
        """
        self._client, self._location = client, location
        self._items = self._open(ITEMS)
        self._namespaces = self._open(NAMESPACES)
        self._vectors = self._existing(VECTORS)
        self._piece = min(PIECE, client.get_max_batch_size())

    def use_space(self, name: str) -> None:
        """Say what vectors will be written.

        Raises:
            EncoderMismatch: Those that are there were made by another encoder.
        """
        self._vectors = self._vectors or self._open(VECTORS, encoder=name)
        written = (self._vectors.metadata or {}).get("encoder")
        if written != name:
            raise EncoderMismatch(
                f"the items of the store {self._location!r} were indexed with {written!r}, not {name!r}: open it with "
                f"the encoder they were indexed with (`encoder`, `index` or ENGRAM_ENCODER), or choose another store"
            )

    def read(self, addresses: Iterable[Address]) -> dict[Address, StoredItem]:
        """Give the items that stand at addresses."""
        ids = [item_id(address) for address in dict.fromkeys(addresses)]
        rows = (
            row
            for part in self._pieces(ids)
            for row in self._items.get(ids=part, include=["metadatas"])["metadatas"] or ()
        )
        return {item.address: item for item in map(from_row, rows)}

    def read_namespaces(self, namespaces: Sequence[Namespace]) -> dict[Namespace, list[StoredItem]]:
        """Give the items of namespaces, by namespace, first put first."""
        found: defaultdict[Namespace, list[StoredItem]] = defaultdict(list)
        for page in self._pages(self._items, namespaces, ["metadatas"]):
            for item in map(from_row, page["metadatas"]):
                found[item.namespace].append(item)
        return {name: sorted(items, key=lambda item: item.created_at) for name, items in found.items()}

    def read_vectors(self, namespaces: Sequence[Namespace]) -> dict[tuple[str, str], Vectors]:
        """Give the vectors of namespaces, by the id of the item's row and the version they belong to."""
        found: defaultdict[tuple[str, str], list[Any]] = defaultdict(list)
        if self._vectors is not None:
            for page in self._pages(self._vectors, namespaces, ["metadatas", "embeddings"]):
                for row, vector in zip(page["metadatas"], page["embeddings"], strict=True):
                    found[row["item"], row["version"]].append(vector)
        return {owner: np.asarray(vectors, dtype=np.float32) for owner, vectors in found.items()}

    def write(self, items: Sequence[StoredItem], vectors: Mapping[Address, Vectors]) -> None:
        """Write items over what stands at their addresses, each after the vectors that it names."""
        self._write_vectors(items, vectors)
        for part in self._pieces(items):
            self._items.upsert(
                ids=[item_id(item.address) for item in part],
                embeddings=_meaningless(len(part)),
                metadatas=[to_row(item) for item in part],
            )

    def remove(self, items: Sequence[StoredItem]) -> None:
        """Remove items and their vectors."""
        for part in self._pieces([item_id(item.address) for item in items]):
            self._items.delete(ids=part)
        self.remove_vectors(items)

    def remove_vectors(self, items: Sequence[StoredItem]) -> None:
        """Remove the vectors of items, of the version given and no other."""
        for part in self._pieces([one for item in items for one in _vector_ids(item)]):
            if self._vectors is not None:
                self._vectors.delete(ids=part)

    def refresh(self, items: Sequence[StoredItem]) -> None:
        """Write until when items live. An item that another process has removed stays removed."""
        for part in self._pieces(items):
            self._items.update(
                ids=[item_id(item.address) for item in part],
                metadatas=[{"expires_at": item.expires_at} for item in part],
            )

    def expired(self, now: float) -> list[StoredItem]:
        """Give the items whose time is over, `now` in seconds since 1970."""
        where: Any = {"expires_at": {"$lte": now}}
        return [from_row(row) for row in self._items.get(where=where, include=["metadatas"])["metadatas"] or ()]

    def any_that_expires(self) -> bool:
        """Say whether there is an item that does not live for ever."""
        where: Any = {"expires_at": {"$gt": 0.0}}
        return bool(self._items.get(where=where, limit=1, include=[])["ids"])

    def any_in(self, namespace: Namespace) -> bool:
        """Say whether a namespace holds an item."""
        where: Any = {"namespace": namespace_as_text(namespace)}
        return bool(self._items.get(where=where, limit=1, include=[])["ids"])

    def namespaces(self, prefix: Namespace = ()) -> dict[Namespace, str]:
        """Give the namespaces under a prefix that hold items, with their revisions, first made first."""
        where: Any = {_under(len(prefix)): namespace_as_text(prefix)} if prefix else None
        rows = self._namespaces.get(where=where, include=["metadatas"])["metadatas"] or ()
        return {namespace_from_text(str(row["namespace"])): str(row["revision"]) for row in rows}

    def name(self, namespaces: Sequence[Namespace], revision: str) -> None:
        """Say that namespaces hold items, as of a revision."""
        for part in self._pieces(namespaces):
            self._namespaces.upsert(
                ids=[row_id(one) for one in part],
                embeddings=_meaningless(len(part)),
                metadatas=[_name_row(one, revision) for one in part],
            )

    def unname(self, namespaces: Sequence[Namespace]) -> None:
        """Say that namespaces hold nothing any more."""
        for part in self._pieces([row_id(one) for one in namespaces]):
            self._namespaces.delete(ids=part)

    def _write_vectors(self, items: Sequence[StoredItem], vectors: Mapping[Address, Vectors]) -> None:
        owners = [item for item in items if item.vectors]
        ids = [one for item in owners for one in _vector_ids(item)]
        rows: list[Any] = [
            {"namespace": namespace_as_text(item.namespace), "item": item_id(item.address), "version": item.version}
            for item in owners
            for _ in range(item.vectors)
        ]
        if not owners:
            return
        assert self._vectors is not None, "use_space comes first"
        block = np.concatenate([vectors[item.address] for item in owners])
        for start in range(0, len(ids), self._piece):
            part = slice(start, start + self._piece)
            self._vectors.upsert(ids=ids[part], embeddings=block[part], metadatas=rows[part])

    def _pages(
        self, collection: "Collection", namespaces: Sequence[Namespace], include: list[Any]
    ) -> Iterator[Mapping[str, Any]]:
        names = [namespace_as_text(one) for one in namespaces]
        for start in range(0, len(names), NAMESPACES_AT_ONCE):
            where: Any = {"namespace": {"$in": names[start : start + NAMESPACES_AT_ONCE]}}
            offset = 0
            while (page := collection.get(where=where, include=include, limit=self._piece, offset=offset))["ids"]:
                yield page
                offset += self._piece

    def _pieces(self, things: Sequence[Any]) -> Iterator[list[Any]]:
        return (list(things[start : start + self._piece]) for start in range(0, len(things), self._piece))

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
    return [f"{item_id(item.address)}:{item.version}:{place}" for place in range(item.vectors)]


def _name_row(namespace: Namespace, revision: str) -> dict[str, str]:
    """Write a namespace with all of its prefixes, each under a key of its own: Chroma matches whole texts only."""
    prefixes = {_under(size): namespace_as_text(namespace[:size]) for size in range(1, len(namespace) + 1)}
    return {"namespace": namespace_as_text(namespace), "revision": revision, **prefixes}


def _under(size: int) -> str:
    return f"under_{size}"


def _meaningless(rows: int) -> Vectors:
    """Give what Chroma wants beside rows that are never searched by meaning."""
    return np.ones((rows, 1), dtype=np.float32)
