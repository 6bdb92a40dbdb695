"""Keep items in Chroma collections, one for each kind, as flat rows under their scope."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, get_args, get_origin

import numpy as np
from pydantic import BaseModel

from langgraph_engram.embeddings.base import Vectors
from langgraph_engram.errors import EncoderMismatch, StoreError
from langgraph_engram.schema import Scope
from langgraph_engram.stores.base import Row
from langgraph_engram.stores.index import DECISIONS, PENDING_TASKS, SEARCHABLE, TURNS, Kind, T

if TYPE_CHECKING:
    from chromadb import Collection
    from chromadb.api.client import Client


M = TypeVar("M", bound=BaseModel)
Scalar: TypeAlias = str | int | float | bool
Metadata: TypeAlias = dict[str, Scalar | None]

PREFIX = "engram-"
REVISIONS = "revisions"
KINDS: tuple[Kind[Any], ...] = (*SEARCHABLE, DECISIONS, PENDING_TASKS)
NAMES = (*(kind.name for kind in KINDS), REVISIONS)
ITEMS_PREFIX = "engram-store-"
"""How the names of the collections of LangGraph's store begin."""
SCHEMA = 3
"""The version of what is written. Version 3 may have its vectors in a generation of collections of its own."""
OLDEST = 2
"""The oldest version that can be migrated: it has the same rows, and one generation."""
GENERATION = "generation"
"""The key in the metadata of the collection of revisions that names the generation in use; empty for the first."""
Migrate: TypeAlias = Callable[[int], None]
"""Called with the version of an older store before it is migrated, to make a copy or to refuse."""
PAGE_SIZE = 2_000
"""Rows of one request at most: a server refuses bodies that are too large."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)
EXACT = "exact"
"""The key of moments that milliseconds cannot hold, and of long numbers; no model may have a field of this name."""
DIGITS = 16
"""Characters of a number from which Chroma may read its last digit otherwise than it was written."""


@dataclass(frozen=True)
class Collections:
    """The collections of one store."""

    client: "Client"
    by_name: "Mapping[str, Collection]"
    page_size: int
    """Rows that one request may write or read."""

    def write(self, scope: Scope, kind: Kind[T], items: Sequence[T], vectors: Vectors | None = None) -> None:
        """Write items of distinct ids over what has their ids, with a vector each if they are searchable."""
        rows = np.ones((len(items), 1), dtype=np.float32) if vectors is None else vectors  # Chroma wants some vector
        for start in range(0, len(items), self.page_size):
            page = items[start : start + self.page_size]
            self.by_name[kind.name].upsert(
                ids=[row_id(scope, kind.id_of(item)) for item in page],
                embeddings=rows[start : start + self.page_size],
                metadatas=[{"scope": scope.key, **encode(item)} for item in page],
                documents=None if vectors is None else [kind.text_of(item) for item in page],
            )

    def read(self, scope: Scope, kind: Kind[T]) -> list[T]:
        """Return the items of a scope, in the order they were first written."""
        return list(self.items(scope, kind))

    def items(self, scope: Scope, kind: Kind[T]) -> Iterator[T]:
        """Yield the items of a scope, in the order they were first written; a page is held at a time."""
        for page in self._pages(scope, kind, ["metadatas"]):
            yield from items_of(kind, page)

    def stored(self, scope: Scope, kind: Kind[T], ids: Sequence[str]) -> dict[str, T]:
        """Return those of these items that are stored, by id."""
        found: list[T] = []
        distinct = list(dict.fromkeys(ids))
        for start in range(0, len(distinct), self.page_size):
            page = [row_id(scope, item_id) for item_id in distinct[start : start + self.page_size]]
            found += items_of(kind, self.by_name[kind.name].get(ids=page, include=["metadatas"]))
        return {kind.id_of(item): item for item in found}

    def scopes(self) -> list[Scope]:
        """Return the scopes that any row carries, in the order of their keys."""
        keys: set[str] = set()
        for kind in KINDS:
            for page in self.pages(kind.name, ["metadatas"]):
                keys.update(str(metadata["scope"]) for metadata in page["metadatas"])
        return [scope_of(key) for key in sorted(keys)]

    def pages(self, name: str, include: list[Any], where: Any = None) -> Iterator[Mapping[str, Any]]:
        """Yield the rows of a collection in the order they were first written, as Chroma returns them, page by page."""
        offset = 0
        while True:
            page: Mapping[str, Any] = self.by_name[name].get(
                where=where, include=include, limit=self.page_size, offset=offset
            )
            if page["ids"]:
                yield page
            if len(page["ids"]) < self.page_size:
                return
            offset += self.page_size

    def read_with_vectors(self, scope: Scope, kind: Kind[T]) -> Iterator[tuple[list[T], Vectors]]:
        """Return the items of a scope and their vectors, page by page, in the order they were first written."""
        for page in self._pages(scope, kind, ["metadatas", "embeddings"]):
            yield items_of(kind, page), np.asarray(page["embeddings"], dtype=np.float32)

    def remove(self, scope: Scope, name: str, ids: Sequence[str]) -> None:
        """Remove items of the kind of this name. Unknown ids are ignored."""
        for start in range(0, len(ids), self.page_size):
            page = ids[start : start + self.page_size]
            self.by_name[name].delete(ids=[row_id(scope, item_id) for item_id in page])

    def rows(self, scope: Scope) -> Iterator[Row]:
        """Return every row of a scope as it is stored; not the revisions, which hold no memory."""
        for kind in KINDS:
            for page in self._pages(scope, kind, ["metadatas", "documents"]):
                for row_id, metadata, document in zip(page["ids"], page["metadatas"], page["documents"], strict=True):
                    texts = [value for value in metadata.values() if isinstance(value, str)]
                    yield Row(kind.name, row_id.partition(":")[2], [row_id, document or "", *texts])

    def contains_text(self, text: str) -> bool:
        """Return whether a document of any scope holds a text."""
        return any(
            collection.get(where_document={"$contains": text}, limit=1, include=[])["ids"]
            for collection in self.by_name.values()
        )

    def _pages(self, scope: Scope, kind: Kind[T], include: list[Any]) -> Iterator[Mapping[str, Any]]:
        return self.pages(kind.name, include, {"scope": scope.key})


def open_collections(client: "Client", encoder_name: str, location: str, migrate: Migrate) -> Collections:
    """Open the collections; those that are missing are made once those that exist are known to fit.

    Args:
        client: The Chroma client.
        encoder_name: The vector space that the store's vectors must be of.
        location: What errors call the store.
        migrate: Called before an older store is migrated.

    Raises:
        EncoderMismatch: The store's vectors were made by another encoder.
        StoreError: The store is of a version that this one cannot read.
    """
    root = _existing(client, PREFIX + REVISIONS)
    generation = str((root.metadata or {}).get(GENERATION, "")) if root else ""
    names = {name: collection_name(name, generation) for name in NAMES}
    found = {name: existing for name in NAMES if (existing := _existing(client, names[name]))}
    versions = {(collection.metadata or {}).get("schema") for collection in found.values()}
    _check_versions(versions, location)
    for kind in SEARCHABLE:
        if kind.name in found:
            _check_encoder(found[kind.name].metadata or {}, encoder_name, location)
    if versions - {SCHEMA}:
        migrate(OLDEST)
        for collection in found.values():  # that of revisions is the last: cut off, the migration is done again
            collection.modify(metadata={**(collection.metadata or {}), "schema": SCHEMA})
    made = {name: make_collection(client, names[name], encoder_name) for name in NAMES if name not in found}
    for collection in made.values():  # another process may have made them meanwhile
        _check_versions({(collection.metadata or {}).get("schema")}, location)
        _check_encoder(collection.metadata or {}, encoder_name, location)
    return Collections(client, found | made, min(PAGE_SIZE, client.get_max_batch_size()))


def written_with(client: "Client") -> str | None:
    """Return the name of the encoder that a store's vectors were made with; None where there is no store."""
    root = _existing(client, PREFIX + REVISIONS)
    generation = str((root.metadata or {}).get(GENERATION, "")) if root else ""
    turns = _existing(client, collection_name(TURNS.name, generation))
    return str((turns.metadata or {}).get("encoder")) if turns else None


def collection_name(name: str, generation: str) -> str:
    """Return what the collection of a kind is called; only what has vectors differs from generation to generation."""
    return PREFIX + (f"{generation}-" if generation and name in {kind.name for kind in SEARCHABLE} else "") + name


def unused_collections(collections: Collections) -> list[str]:
    """Return the names of collections of ours that belong to no store: a move to another encoder was cut off."""
    used = {collection.name for collection in collections.by_name.values()}
    names = [collection.name for collection in collections.client.list_collections()]
    return sorted(
        name for name in names if name.startswith(PREFIX) and not name.startswith(ITEMS_PREFIX) and name not in used
    )


def make_collection(client: "Client", name: str, encoder_name: str) -> "Collection":
    """Make a collection, or open the one of this name."""
    return client.get_or_create_collection(
        name,
        embedding_function=None,
        metadata={"encoder": encoder_name, "schema": SCHEMA},
        configuration={"hnsw": {"space": "cosine"}},
    )


def scope_hash(scope: Scope) -> str:
    """Return a short name of a scope, equal in every process, that does not tell whose it is."""
    return hashlib.blake2b(scope.key.encode(), digest_size=8).hexdigest()


def scope_of(key: str) -> Scope:
    """Return the scope of a key.

    Raises:
        ValueError: It is the key of none.
    """
    tenant, user_id, agent_id = json.loads(key)
    return Scope(tenant=tenant, user_id=user_id, agent_id=agent_id)


def encode(item: BaseModel) -> Metadata:
    """Write a model as flat metadata.

    Raises:
        UnicodeEncodeError: A text holds half a character (a lone surrogate).
    """
    values = {name: getattr(item, name) for name in type(item).model_fields}
    moments = {name: value for name, value in values.items() if isinstance(value, datetime)}
    exact: dict[str, str | float] = {
        name: value.isoformat() for name, value in moments.items() if value.isoformat() != _reread(value)
    }
    exact |= {name: value for name, value in values.items() if isinstance(value, float) and len(repr(value)) > DIGITS}
    metadata = {name: _flat(value, type(item).model_fields[name].default) for name, value in values.items()}
    return metadata | {EXACT: json.dumps(exact) if exact else None}


def decode(model: type[M], metadata: Mapping[str, Any]) -> M:
    """Read a model back. Keys that are none of its fields are ignored.

    Raises:
        pydantic.ValidationError: A field is missing, or is not what it should be.
    """
    values = {name: metadata[name] for name in model.model_fields if metadata.get(name) is not None}
    exact: dict[str, Any] = json.loads(metadata.get(EXACT) or "{}")
    for name in _fields_holding(model, datetime) & values.keys():
        values[name] = datetime.fromisoformat(exact[name]) if name in exact else _moment(values[name])
    for name in _fields_holding(model, float) & exact.keys():
        values[name] = exact[name]
    for name in _fields_holding(model, list, dict) & values.keys():
        values[name] = json.loads(values[name])
    return model.model_validate(values)


def _flat(value: object, default: object) -> Scalar | None:
    if isinstance(value, datetime):
        return _milliseconds(value)
    if value is None or (value == default and value in ("", [], {})):
        return None
    if isinstance(value, int | float):
        return value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text.encode()  # Chroma's own complaint about half a character names no text
    return text


def _milliseconds(moment: datetime) -> int:
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - EPOCH) // MILLISECOND


def _moment(milliseconds: int) -> datetime:
    return EPOCH + milliseconds * MILLISECOND


def _reread(moment: datetime) -> str:
    return _moment(_milliseconds(moment)).isoformat()


@lru_cache
def _fields_holding(model: type[BaseModel], *types: type) -> frozenset[str]:
    """Return the fields that hold a value of one of `types`, or None."""
    return frozenset(
        name
        for name, field in model.model_fields.items()
        if any((get_origin(part) or part) in types for part in (field.annotation, *get_args(field.annotation)))
    )


def _existing(client: "Client", name: str) -> "Collection | None":
    from chromadb.errors import NotFoundError

    try:
        return client.get_collection(name, embedding_function=None)
    except NotFoundError:
        return None


def _check_versions(versions: Iterable[object], location: str) -> None:
    for version in versions:
        if version not in (OLDEST, SCHEMA):
            raise StoreError(
                f"the store {location!r} has schema {version!r} and this version reads {SCHEMA!r}: install the version "
                f"that wrote it, or choose another store"
            )


def _check_encoder(metadata: Mapping[str, Any], encoder_name: str, location: str) -> None:
    if (written := metadata.get("encoder")) != encoder_name:
        raise EncoderMismatch(
            f"the store {location!r} was written with the encoder {written!r}, not {encoder_name!r}: open it with the "
            f"encoder it was written with (ENGRAM_ENCODER), move it (`engram reembed`), or choose another store",
            written_with=str(written),
        )


def row_id(scope: Scope, item_id: str) -> str:
    """Return the id of an item's row."""
    return f"{scope_hash(scope)}:{item_id}"


def items_of(kind: Kind[T], page: Mapping[str, Any]) -> list[T]:
    """Return the items of a page of rows."""
    return [decode(kind.model, metadata) for metadata in page["metadatas"]]
