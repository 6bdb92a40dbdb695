"""Keep the items of LangGraph's store in a Chroma collection, each whole in one row.

An item has any number of vectors and its value is filtered at any depth, which Chroma's own search does not know. So a
row has the item's value and vectors as metadata, beside each prefix of its namespace: Chroma returns what is under a
prefix, and that is filtered and ranked exactly. Its id names namespace and key. All text is JSON in ASCII: half
characters and zero bytes, which Chroma refuses or cuts at, pass through.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from langgraph_engram.embeddings.base import Vectors
from langgraph_engram.errors import EncoderMismatch, StoreError
from langgraph_engram.stores.chroma_files import writes_to
from langgraph_engram.stores.rows import PAGE_SIZE, in_pages

if TYPE_CHECKING:
    from chromadb.api.client import Client

Namespace: TypeAlias = tuple[str, ...]
Address: TypeAlias = tuple[Namespace, str]
"""A namespace and a key."""

COLLECTION = "engram-store-items"
SCHEMA = 2
"""The version of what is written. A store of another version is refused."""
FLOAT32 = np.dtype("<f4")


@dataclass(frozen=True, eq=False)
class StoredItem:
    """One item."""

    address: Address
    text: str
    """The value as JSON."""
    created_at: datetime
    updated_at: datetime
    vectors: Vectors | None = None
    """The vectors it is found by, one after another, of length 1 each; None if it has none."""

    @property
    def value(self) -> dict[str, Any]:
        """Return the value: a copy of the caller's own."""
        return cast("dict[str, Any]", json.loads(self.text))

    def score(self, query: Vectors) -> float | None:
        """Return the cosine of its nearest vector to a query of length 1, in -1..1; None if it has no vectors."""
        return None if self.vectors is None else float((self.vectors.reshape(-1, len(query)) @ query).max())


class Items:
    """The items of one Chroma client. Use its methods inside `writes.held`."""

    def __init__(self, client: "Client", location: str, folder: Path | None = None) -> None:
        self._location, self.writes = location, writes_to(folder)
        self._rows = client.get_or_create_collection(COLLECTION, embedding_function=None, metadata={"schema": SCHEMA})
        if (schema := self._metadata.get("schema")) != SCHEMA:
            raise StoreError(
                f"the items of the store {location!r} have schema {schema!r} and this version reads {SCHEMA!r}: "
                f"install the version that wrote them, or choose another store"
            )

    def require_encoder(self, name: str) -> None:
        """Have all items indexed with the encoder of this name."""
        written = self._metadata.get("encoder")
        if written is None:
            self._rows.modify(metadata={**self._metadata, "encoder": name})
        elif written != name:
            raise EncoderMismatch(
                f"the items of the store {self._location!r} were indexed with {written!r}, not {name!r}: open it with "
                f"the encoder they were indexed with (`encoder`, `index` or ENGRAM_ENCODER), or choose another store"
            )

    def get(self, addresses: Iterable[Address]) -> dict[Address, StoredItem]:
        """Return the items at addresses; an address that has none is left out."""
        ids = map(json.dumps, dict.fromkeys(addresses))
        pages = (self._rows.get(ids=page, include=["metadatas"]) for page in in_pages(ids, PAGE_SIZE))
        return {item.address: item for page in pages for item in _items_of(page)}

    def under(self, prefix: Namespace) -> list[StoredItem]:
        """Return the items whose namespace begins with a prefix, the oldest first."""
        where: Any = _prefixes(prefix, len(prefix)) if prefix else None
        items = _items_of(self._rows.get(where=where, include=["metadatas"]))
        return sorted(items, key=lambda item: item.created_at)

    def namespaces(self) -> set[Namespace]:
        """Return the namespaces that hold items."""
        return {_address_of(row_id)[0] for row_id in self._rows.get(include=[])["ids"]}

    def put(self, items: Iterable[StoredItem]) -> None:
        """Write items over what is at their addresses, each whole or not at all."""
        for page in in_pages(items, PAGE_SIZE):
            self._rows.upsert(
                ids=[json.dumps(item.address) for item in page],
                embeddings=np.ones((len(page), 1), dtype=np.float32),  # Chroma wants one, and nothing asks for it
                metadatas=[_row_of(item) for item in page],
            )

    def delete(self, addresses: Iterable[Address]) -> None:
        """Remove what is at addresses."""
        for page in in_pages(map(json.dumps, addresses), PAGE_SIZE):
            self._rows.delete(ids=page)

    @property
    def _metadata(self) -> Mapping[str, Any]:
        return self._rows.metadata or {}


def _address_of(row_id: str) -> Address:
    namespace, key = json.loads(row_id)
    return tuple(namespace), key


def _prefixes(namespace: Namespace, shortest: int = 1) -> dict[str, str]:
    """Return the prefixes of a namespace, each under a key that names its length."""
    return {f"under_{size}": json.dumps(namespace[:size]) for size in range(shortest, len(namespace) + 1)}


def _row_of(item: StoredItem) -> dict[str, str | None]:
    """Write an item as flat metadata; None removes a key that the item before it had."""
    return {
        **_prefixes(item.address[0]),
        "value": item.text,
        "vectors": None if item.vectors is None else b64encode(item.vectors.astype(FLOAT32).tobytes()).decode(),
        "created_at": item.created_at.isoformat(),
        "updated_at": item.updated_at.isoformat(),
    }


def _items_of(page: Mapping[str, Any]) -> list[StoredItem]:
    try:
        return [_item_of(row_id, row) for row_id, row in zip(page["ids"], page["metadatas"], strict=True)]
    except (KeyError, ValueError, TypeError) as error:
        raise StoreError(
            f"the row of an item cannot be read ({error!r}): its file is damaged; restore a copy"
        ) from error


def _item_of(row_id: str, row: Mapping[str, Any]) -> StoredItem:
    vectors = row.get("vectors")
    return StoredItem(
        _address_of(row_id),
        text=row["value"],
        created_at=datetime.fromisoformat(row["created_at"]),
        updated_at=datetime.fromisoformat(row["updated_at"]),
        vectors=None if vectors is None else np.frombuffer(b64decode(vectors), dtype=FLOAT32),
    )
