"""Keep things in Chroma collections, one a kind, each row under its scope. This module does not know commits."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from langgraph_engram.encoder import Vectors
from langgraph_engram.errors import EncoderMismatch, StoreError
from langgraph_engram.schema import Scope
from langgraph_engram.stores.codec import decode, encode
from langgraph_engram.stores.kinds import (
    BOUNDARIES,
    DECISIONS,
    EVENTS,
    PENDINGS,
    RECORDS,
    SYNTHESES,
    TURNS,
    Kind,
    T,
)
from langgraph_engram.stores.revisions import scope_hash
from langgraph_engram.stores.store import Row

if TYPE_CHECKING:
    from chromadb import Collection
    from chromadb.api.client import Client

PREFIX = "engram-"
REVISIONS = "revisions"
KINDS: tuple[Kind[Any], ...] = (TURNS, EVENTS, BOUNDARIES, RECORDS, SYNTHESES, DECISIONS, PENDINGS)
NAMES = (*(kind.name for kind in KINDS), REVISIONS)
SCHEMA = 1
"""The version of what is written. A store of another version is refused."""
PIECE = 2_000
"""Rows of one request at most: a server refuses bodies that are too large."""


@dataclass(frozen=True)
class Collections:
    """The collections of one store."""

    by_name: "Mapping[str, Collection]"
    piece: int
    """Rows that one request may write or read."""

    def write(self, scope: Scope, kind: Kind[T], items: Sequence[T], vectors: Vectors | None = None) -> None:
        """Write things under their ids, over what stands there; distinct ids, and a vector a row if they have any."""
        rows = np.ones((len(items), 1), dtype=np.float32) if vectors is None else vectors
        for start in range(0, len(items), self.piece):
            part = items[start : start + self.piece]
            self.by_name[kind.name].upsert(
                ids=[_row_id(scope, kind.id_of(item)) for item in part],
                embeddings=rows[start : start + self.piece],
                metadatas=[{"scope": scope.key, **encode(item)} for item in part],
                documents=None if vectors is None else [kind.text_of(item) for item in part],
            )

    def read(self, scope: Scope, kind: Kind[T]) -> list[T]:
        """Give the things of a scope, in the order they were first written."""
        return [item for page in self._pages(scope, kind, ["metadatas"]) for item in _items(kind, page)]

    def read_with_vectors(self, scope: Scope, kind: Kind[T]) -> Iterator[tuple[list[T], Vectors]]:
        """Give the things of a scope and their vectors, page by page, in the order they were first written."""
        for page in self._pages(scope, kind, ["metadatas", "embeddings"]):
            yield _items(kind, page), np.asarray(page["embeddings"], dtype=np.float32)

    def remove(self, scope: Scope, name: str, ids: Sequence[str]) -> None:
        """Remove things of the kind of this name. Ids that are not there are passed over."""
        for start in range(0, len(ids), self.piece):
            part = ids[start : start + self.piece]
            self.by_name[name].delete(ids=[_row_id(scope, one) for one in part])

    def rows(self, scope: Scope) -> Iterator[Row]:
        """Give everything that lies under a scope, as it lies there; revisions, which hold no memory, aside."""
        for kind in KINDS:
            for page in self._pages(scope, kind, ["metadatas", "documents"]):
                for row_id, metadata, document in zip(page["ids"], page["metadatas"], page["documents"], strict=True):
                    texts = [one for one in metadata.values() if isinstance(one, str)]
                    yield Row(kind.name, row_id.partition(":")[2], [row_id, document or "", *texts])

    def say(self, text: str) -> bool:
        """Say whether a document of any scope holds a text."""
        found = (one.get(where_document={"$contains": text}, limit=1, include=[]) for one in self.by_name.values())
        return any(one["ids"] for one in found)

    def _pages(self, scope: Scope, kind: Kind[T], include: list[Any]) -> Iterator[Mapping[str, Any]]:
        offset = 0
        while True:
            page: Mapping[str, Any] = self.by_name[kind.name].get(
                where={"scope": scope.key}, include=include, limit=self.piece, offset=offset
            )
            if page["ids"]:
                yield page
            if len(page["ids"]) < self.piece:
                return
            offset += self.piece


def open_collections(client: "Client", encoder_name: str, location: str) -> Collections:
    """Open the collections, and make those that are missing once those that exist are known to fit.

    Raises:
        EncoderMismatch: The store's vectors were made by another encoder.
        StoreError: The store is of a version that this one cannot read.
    """
    found = {name: collection for name in NAMES if (collection := _existing(client, name))}
    for collection in found.values():
        _check(collection.metadata or {}, encoder_name, location)
    made = {name: _make(client, name, encoder_name) for name in NAMES if name not in found}
    for collection in made.values():
        _check(collection.metadata or {}, encoder_name, location)
    return Collections(found | made, min(PIECE, client.get_max_batch_size()))


def _existing(client: "Client", name: str) -> "Collection | None":
    from chromadb.errors import NotFoundError

    try:
        return client.get_collection(PREFIX + name, embedding_function=None)
    except NotFoundError:
        return None


def _make(client: "Client", name: str, encoder_name: str) -> "Collection":
    return client.get_or_create_collection(
        PREFIX + name,
        embedding_function=None,
        metadata={"encoder": encoder_name, "schema": SCHEMA},
        configuration={"hnsw": {"space": "cosine"}},
    )


def _check(metadata: Mapping[str, Any], encoder_name: str, location: str) -> None:
    if metadata.get("schema") != SCHEMA:
        raise StoreError(
            f"the store {location!r} has schema {metadata.get('schema')!r} and this version reads {SCHEMA!r}: install "
            f"the version that wrote it, or choose another store"
        )
    if metadata.get("encoder") != encoder_name:
        raise EncoderMismatch(
            f"the store {location!r} was written with the encoder {metadata.get('encoder')!r}, not {encoder_name!r}: "
            f"open it with the encoder it was written with (ENGRAM_ENCODER), or choose another store"
        )


def _row_id(scope: Scope, item_id: str) -> str:
    return f"{scope_hash(scope)}:{item_id}"


def _items(kind: Kind[T], page: Mapping[str, Any]) -> list[T]:
    return [decode(kind.model, metadata) for metadata in page["metadatas"]]
