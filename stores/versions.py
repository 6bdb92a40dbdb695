"""Open the collections of a store, and migrate a store that an older version wrote.

Schema 2 and 3 have a collection for each kind. Their rows are written to the one collection of this version; then the
root says which version it is, and the older collections are dropped. Cut off before the root says so, the migration is
done again; cut off after that, the next to open the store drops what is left.
Rows of schema 2 have a key for each field: moments are milliseconds since 1970, with those that milliseconds cannot
hold under `EXACT`; lists are JSON.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, get_args, get_origin

import numpy as np
from pydantic import BaseModel

from langgraph_engram.embeddings.base import Encoder
from langgraph_engram.errors import EncoderMismatch, StoreError
from langgraph_engram.stores.collections import (
    GENERATION,
    ITEM,
    KINDS,
    PAGE_SIZE,
    PREFIX,
    REVISIONS,
    SCHEMA,
    Batch,
    Collections,
    collection_name,
    decode,
    make_collection,
    scope_of,
)
from langgraph_engram.stores.index import SEARCHABLE, Kind

if TYPE_CHECKING:
    from chromadb import Collection
    from chromadb.api.client import Client

M = TypeVar("M", bound=BaseModel)

OLDEST = 2
"""The oldest version that can be migrated."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)
EXACT = "exact"
Migrate: TypeAlias = Callable[[int], Encoder]
"""Called with the version of an older store before it is migrated, to make a copy or to refuse.

It returns the store's encoder, which is asked how many dimensions there are where no row has a vector.
"""


def open_collections(client: "Client", encoder_name: str, location: str, migrate: Migrate) -> Collections:
    """Open the collections of a store; where there is none, make them, the root last.

    Args:
        client: The Chroma client.
        encoder_name: The vector space that the store's vectors must be of.
        location: What errors call the store.
        migrate: Called before an older store is migrated.

    Raises:
        EncoderMismatch: The store's vectors were made by another encoder.
        StoreError: The store is of a version that this one cannot read.
        EncoderUnavailable: An older store has no vector, and the encoder is out of reach; the store is as it was.
    """
    root = _existing(client, PREFIX + REVISIONS)
    if root is None:
        memories = make_collection(client, collection_name(""), encoder_name)
        _check_encoder(memories, encoder_name, location)  # another process may have made it meanwhile
        root = make_collection(client, PREFIX + REVISIONS, encoder_name)
    _check_encoder(root, encoder_name, location)
    version: Any = (root.metadata or {}).get("schema")
    if version not in range(OLDEST, SCHEMA + 1):
        raise StoreError(
            f"the store {location!r} has schema {version!r} and this version reads {SCHEMA!r}: install the version "
            f"that wrote it, or choose another store"
        )
    name = collection_name(_generation(root))
    if version != SCHEMA:
        return _migrated(client, root, name, encoder_name, migrate(version))
    _drop_older(client, root)
    memories = client.get_collection(name, embedding_function=None)
    _check_encoder(memories, encoder_name, location)
    return _collections(client, memories, root)


def written_with(client: "Client") -> str | None:
    """Return the name of the encoder that a store's vectors were made with; None where there is no store."""
    root = _existing(client, PREFIX + REVISIONS)
    return str((root.metadata or {}).get("encoder")) if root else None


def _migrated(client: "Client", root: "Collection", name: str, encoder_name: str, encoder: Encoder) -> Collections:
    """Write the rows of an older store to one collection, kind by kind; then switch over to it."""
    if _existing(client, name):  # a migration was cut off, and the older version may have removed rows since
        client.delete_collection(name)
    collections = _collections(client, make_collection(client, name, encoder_name), root)
    dimensions = 0
    for kind in KINDS:  # what has vectors comes first
        if collection := _existing(client, _older_name(kind, _generation(root))):
            for metadatas, vectors in _older_pages(kind, collection):
                known = dimensions if vectors is None else vectors.shape[1]
                dimensions = known or encoder.encode([]).shape[1]
                _write_older(collections, kind, metadatas, vectors, dimensions)
    root.modify(metadata={**(root.metadata or {}), "schema": SCHEMA})
    _drop_older(client, root)
    return collections


def _drop_older(client: "Client", root: "Collection") -> None:
    """Delete the collections that a migrated store had before; another process may do so at once."""
    from chromadb.errors import NotFoundError

    older = {_older_name(kind, _generation(root)) for kind in KINDS}
    for collection in client.list_collections():
        if collection.name in older:
            with suppress(NotFoundError):
                client.delete_collection(collection.name)


def _older_pages(kind: Kind[Any], collection: "Collection") -> Iterator[tuple[list[Any], Any]]:
    """Yield metadata and vectors of the rows of a kind, page by page; None for what is never searched."""
    include: list[Any] = ["metadatas", "embeddings"] if kind in SEARCHABLE else ["metadatas"]
    for offset in range(0, collection.count(), PAGE_SIZE):
        page = collection.get(include=include, limit=PAGE_SIZE, offset=offset)
        vectors = np.asarray(page["embeddings"], dtype=np.float32) if kind in SEARCHABLE else None
        yield list(page["metadatas"] or []), vectors


def _write_older(
    collections: Collections, kind: Kind[Any], metadatas: list[Any], vectors: Any, dimensions: int
) -> None:
    by_scope: dict[str, list[int]] = {}
    for position, metadata in enumerate(metadatas):
        by_scope.setdefault(str(metadata["scope"]), []).append(position)
    for key, positions in by_scope.items():
        items = [_decode_older(kind.model, metadatas[position]) for position in positions]
        batch = Batch(kind, items, None if vectors is None else vectors[positions])
        collections.write(scope_of(key), [batch], dimensions)


def _older_name(kind: Kind[Any], generation: str) -> str:
    """Return what the collection of a kind was called; only what has vectors differs from generation to generation."""
    return PREFIX + (f"{generation}-" if generation and kind in SEARCHABLE else "") + kind.name


def _decode_older(model: type[M], metadata: Mapping[str, Any]) -> M:
    return decode(model, metadata) if ITEM in metadata else decode_flat(model, metadata)


def decode_flat(model: type[M], metadata: Mapping[str, Any]) -> M:
    """Read a model back from a row of schema 2.

    Raises:
        pydantic.ValidationError: A field is missing, or is not what it should be.
    """
    values = {name: metadata[name] for name in model.model_fields if metadata.get(name) is not None}
    exact: dict[str, str] = json.loads(metadata.get(EXACT) or "{}")
    for name in _fields_holding(model, datetime) & values.keys():
        values[name] = datetime.fromisoformat(exact[name]) if name in exact else _moment(values[name])
    for name in _fields_holding(model, list, dict) & values.keys():
        values[name] = json.loads(values[name])
    return model.model_validate(values)


def _moment(milliseconds: int) -> datetime:
    return EPOCH + milliseconds * MILLISECOND


@lru_cache
def _fields_holding(model: type[BaseModel], *types: type) -> frozenset[str]:
    """Return the fields that hold a value of one of `types`, or None."""
    return frozenset(
        name
        for name, field in model.model_fields.items()
        if any((get_origin(part) or part) in types for part in (field.annotation, *get_args(field.annotation)))
    )


def _collections(client: "Client", memories: "Collection", root: "Collection") -> Collections:
    return Collections(client, memories, root, min(PAGE_SIZE, client.get_max_batch_size()))


def _generation(root: "Collection") -> str:
    return str((root.metadata or {}).get(GENERATION, ""))


def _existing(client: "Client", name: str) -> "Collection | None":
    from chromadb.errors import NotFoundError

    try:
        return client.get_collection(name, embedding_function=None)
    except NotFoundError:
        return None


def _check_encoder(collection: "Collection", encoder_name: str, location: str) -> None:
    if (written := (collection.metadata or {}).get("encoder")) != encoder_name:
        raise EncoderMismatch(
            f"the store {location!r} was written with the encoder {written!r}, not {encoder_name!r}: open it with the "
            f"encoder it was written with (ENGRAM_ENCODER), move it (`engram reembed`), or choose another store",
            written_with=str(written),
        )
