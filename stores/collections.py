"""Keep items in Chroma collections, one for each kind, as one row each under their scope.

Chroma writes and indexes each key of a row's metadata by itself, so a row has two: its scope, which is asked for, and
the item as JSON. It reads what its graph of neighbours has not taken in yet again with each write, and no search asks
that graph: it is built as cheaply as Chroma allows and takes rows in often (docs/decisions/0045).

Each scope has a revision that changes with every commit, so that an index in the process knows that it is outdated.
"""

import hashlib
import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, get_args, get_origin
from uuid import uuid4

import numpy as np
from pydantic import BaseModel
from pydantic_core import PydanticSerializationError

from langgraph_engram.embeddings.base import Vectors
from langgraph_engram.errors import EncoderMismatch, StoreError
from langgraph_engram.schema import Scope
from langgraph_engram.stores.base import Row
from langgraph_engram.stores.index import DECISIONS, PENDING_TASKS, SEARCHABLE, Kind, T

if TYPE_CHECKING:
    from chromadb import Collection
    from chromadb.api.client import Client
    from chromadb.api.collection_configuration import CreateHNSWConfiguration, UpdateHNSWConfiguration


M = TypeVar("M", bound=BaseModel)

PREFIX = "engram-"
REVISIONS = "revisions"
KINDS: tuple[Kind[Any], ...] = (*SEARCHABLE, DECISIONS, PENDING_TASKS)
NAMES = (*(kind.name for kind in KINDS), REVISIONS)
SCHEMA = 3
"""The version of what is written: an item is JSON under the key `ITEM`. Changing a model's default changes it."""
FLAT_SCHEMA = 2
"""An older version that is read, too: each field of an item under a key of its own."""
ITEM = "item"
"""The key of an item's JSON; no model may have a field of this name."""
GRAPH: "CreateHNSWConfiguration" = {
    "space": "cosine",
    "ef_construction": 10,
    "max_neighbors": 4,
    "batch_size": 100,
    "sync_threshold": 100,
}
"""How Chroma's own graph of neighbours is built, which no search of ours asks."""
PAGE_SIZE = 2_000
"""Rows of one request at most: a server refuses bodies that are too large."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)
EXACT = "exact"
"""The key of moments in flat rows that milliseconds cannot hold."""


@dataclass(frozen=True)
class Collections:
    """The collections of one store."""

    by_name: "Mapping[str, Collection]"
    page_size: int
    """Rows that one request may write or read."""

    def write(self, scope: Scope, kind: Kind[T], items: Sequence[T], vectors: Vectors | None = None) -> None:
        """Write items of distinct ids over what has their ids, with a vector each if they are searchable."""
        rows = np.ones((len(items), 1), dtype=np.float32) if vectors is None else vectors  # Chroma wants some vector
        for start in range(0, len(items), self.page_size):
            page = items[start : start + self.page_size]
            self.by_name[kind.name].upsert(
                ids=[_row_id(scope, kind.id_of(item)) for item in page],
                embeddings=rows[start : start + self.page_size],
                metadatas=[{**self._outdated_keys(kind), "scope": scope.key, ITEM: encode(item)} for item in page],
                documents=None if vectors is None else [kind.text_of(item) for item in page],
            )

    def read(self, scope: Scope, kind: Kind[T]) -> list[T]:
        """Return the items of a scope, in the order they were first written."""
        return [item for page in self._pages(scope, kind, ["metadatas"]) for item in _items(kind, page)]

    def read_with_vectors(self, scope: Scope, kind: Kind[T]) -> Iterator[tuple[list[T], Vectors]]:
        """Return the items of a scope and their vectors, page by page, in the order they were first written."""
        for page in self._pages(scope, kind, ["metadatas", "embeddings"]):
            yield _items(kind, page), np.asarray(page["embeddings"], dtype=np.float32)

    def remove(self, scope: Scope, name: str, ids: Sequence[str]) -> None:
        """Remove items of the kind of this name. Unknown ids are ignored."""
        for start in range(0, len(ids), self.page_size):
            page = ids[start : start + self.page_size]
            self.by_name[name].delete(ids=[_row_id(scope, item_id) for item_id in page])

    def rows(self, scope: Scope) -> Iterator[Row]:
        """Return every row of a scope as it is stored; not the revisions, which hold no memory."""
        for kind in KINDS:
            for page in self._pages(scope, kind, ["metadatas", "documents"]):
                for row_id, metadata, document in zip(page["ids"], page["metadatas"], page["documents"], strict=True):
                    item = json.loads(metadata.get(ITEM, "null"))
                    texts = [*_strings_in(metadata), *_strings_in(item)]
                    yield Row(kind.name, row_id.partition(":")[2], [row_id, document or "", *texts])

    def contains_text(self, text: str) -> bool:
        """Return whether a document of any scope holds a text."""
        return any(
            collection.get(where_document={"$contains": text}, limit=1, include=[])["ids"]
            for collection in self.by_name.values()
        )

    def _outdated_keys(self, kind: Kind[Any]) -> dict[str, None]:
        """Return the keys of rows of an older version, each to be removed: Chroma keeps those that it is not given."""
        if (self.by_name[kind.name].metadata or {}).get("schema") != FLAT_SCHEMA:
            return {}
        return dict.fromkeys([*kind.model.model_fields, EXACT])

    def _pages(self, scope: Scope, kind: Kind[T], include: list[Any]) -> Iterator[Mapping[str, Any]]:
        offset = 0
        while True:
            page: Mapping[str, Any] = self.by_name[kind.name].get(
                where={"scope": scope.key}, include=include, limit=self.page_size, offset=offset
            )
            if page["ids"]:
                yield page
            if len(page["ids"]) < self.page_size:
                return
            offset += self.page_size


def open_collections(client: "Client", encoder_name: str, location: str) -> Collections:
    """Open the collections; those that are missing are made once those that exist are known to fit.

    Raises:
        EncoderMismatch: The store's vectors were made by another encoder.
        StoreError: The store is of a version that this one cannot read.
    """
    found = {name: collection for name in NAMES if (collection := _existing(client, name))}
    for collection in found.values():
        _check(collection.metadata or {}, encoder_name, location)
        _sync_often(collection)
    made = {name: _make(client, name, encoder_name) for name in NAMES if name not in found}
    for collection in made.values():  # another process may have made them meanwhile
        _check(collection.metadata or {}, encoder_name, location)
    return Collections(found | made, min(PAGE_SIZE, client.get_max_batch_size()))


def scope_hash(scope: Scope) -> str:
    """Return a short name of a scope, equal in every process, that does not tell whose it is."""
    return hashlib.blake2b(scope.key.encode(), digest_size=8).hexdigest()


def encode(item: BaseModel) -> str:
    """Write a model as JSON, without what is as by default.

    Raises:
        UnicodeEncodeError: A text holds half a character (a lone surrogate).
    """
    try:
        return item.model_dump_json(exclude_defaults=True)
    except PydanticSerializationError:
        json.dumps(item.model_dump(), ensure_ascii=False, default=str).encode()  # pydantic's own error names no text
        raise


def decode(model: type[M], metadata: Mapping[str, Any]) -> M:
    """Read a model back from a row of any version.

    Raises:
        pydantic.ValidationError: A field is missing, or is not what it should be.
    """
    return model.model_validate_json(metadata[ITEM]) if ITEM in metadata else _decode_flat(model, metadata)


def _decode_flat(model: type[M], metadata: Mapping[str, Any]) -> M:
    """Read a model whose fields have a key each; moments are milliseconds since 1970, and lists JSON."""
    values = {name: metadata[name] for name in model.model_fields if metadata.get(name) is not None}
    exact: dict[str, str] = json.loads(metadata.get(EXACT) or "{}")
    for name in _fields_holding(model, datetime) & values.keys():
        values[name] = datetime.fromisoformat(exact[name]) if name in exact else _moment(values[name])
    for name in _fields_holding(model, list, dict) & values.keys():
        values[name] = json.loads(values[name])
    return model.model_validate(values)


def _moment(milliseconds: int) -> datetime:
    return EPOCH + milliseconds * MILLISECOND


def _strings_in(value: object) -> Iterator[str]:
    """Yield every string within a value of JSON."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _strings_in(list(value.values()))
    elif isinstance(value, list):
        for part in value:
            yield from _strings_in(part)


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
        return client.get_collection(PREFIX + name, embedding_function=None)
    except NotFoundError:
        return None


def _make(client: "Client", name: str, encoder_name: str) -> "Collection":
    return client.get_or_create_collection(
        PREFIX + name,
        embedding_function=None,
        metadata={"encoder": encoder_name, "schema": SCHEMA},
        configuration={"hnsw": GRAPH},
    )


def _sync_often(collection: "Collection") -> None:
    """Let the graph of a collection that an older version made take rows in as often as that of a new one."""
    graph = collection.configuration_json.get("hnsw") or {}
    if graph.get("sync_threshold") not in (None, GRAPH["sync_threshold"]):
        update: UpdateHNSWConfiguration = {
            "batch_size": GRAPH["batch_size"],
            "sync_threshold": GRAPH["sync_threshold"],
        }
        collection.modify(configuration={"hnsw": update})


def _check(metadata: Mapping[str, Any], encoder_name: str, location: str) -> None:
    if metadata.get("schema") not in (FLAT_SCHEMA, SCHEMA):
        raise StoreError(
            f"the store {location!r} has schema {metadata.get('schema')!r} and this version reads {FLAT_SCHEMA!r} "
            f"and {SCHEMA!r}: install the version that wrote it, or choose another store"
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


SILENT_MS = 24 * 60 * 60 * 1000
"""After how many milliseconds without a commit a writer's row is removed."""


class Revisions(Protocol):
    """The revisions of a store's scopes, as one writer sees them."""

    def read(self, scope: Scope) -> str:
        """Return the revision of a scope: a text that changes with every commit of any process."""

    def renew(self, scope: Scope) -> str:
        """Record a commit to a scope, and return the revision with it."""

    def only_mine_since(self, before: str, now: str) -> bool:
        """Return whether nobody but this writer has committed between two revisions."""


class LocalRevisions:
    """The revisions of a store that one process has to itself: none is written, because nobody else would read it.

    Everything in the process shares the store's indexes, so that a token in memory is enough. It saves a write and a
    read a commit: a fifth of the time that writing a short session takes.
    """

    def read(self, scope: Scope) -> str:
        """Return a text that no revision of the scope was before."""
        return self.renew(scope)

    def renew(self, scope: Scope) -> str:  # noqa: ARG002 - the port names it
        """Return the revision after a commit."""
        return _as_text([{"writer": "own", "token": uuid4().hex}])

    def only_mine_since(self, before: str, now: str) -> bool:  # noqa: ARG002 - the port names them
        """Return true: there is no other writer."""
        return True


@dataclass(frozen=True)
class SharedRevisions:
    """The revisions of a store that several processes write to: one row for each scope and writer."""

    collection: "Collection"
    writer: str
    """The writer's own name; no other process has it."""

    def read(self, scope: Scope) -> str:
        """Return the revision of a scope: a text that changes with every commit of any process."""
        return _as_text(self._rows(scope))

    def renew(self, scope: Scope) -> str:
        """Record a commit to a scope, and return the revision with it."""
        now = time.time_ns() // 1_000_000
        name = scope_hash(scope)  # the row outlives what it is about, so it must not name the user
        row: dict[str, str | int] = {"scope": name, "writer": self.writer, "token": uuid4().hex, "written_at": now}
        self.collection.upsert(
            ids=[f"{name}:{self.writer}"], embeddings=np.ones((1, 1), dtype=np.float32), metadatas=[row]
        )
        rows = self._rows(scope)
        if any(row["written_at"] < now - SILENT_MS for row in rows):
            silent: Any = [{"scope": name}, {"written_at": {"$lt": now - SILENT_MS}}]
            self.collection.delete(where={"$and": silent})
        return _as_text(rows)

    def only_mine_since(self, before: str, now: str) -> bool:
        """Return whether nobody but this writer has committed between two revisions."""
        return self._others(before) == self._others(now)

    def _others(self, revision: str) -> dict[str, str]:
        tokens: dict[str, str] = json.loads(revision)
        return {writer: token for writer, token in tokens.items() if writer != self.writer}

    def _rows(self, scope: Scope) -> list[Mapping[str, Any]]:
        return list(self.collection.get(where={"scope": scope_hash(scope)}, include=["metadatas"])["metadatas"] or [])


def _as_text(rows: Iterable[Mapping[str, Any]]) -> str:
    return json.dumps({row["writer"]: row["token"] for row in rows}, sort_keys=True)
