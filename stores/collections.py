"""Keep things in Chroma collections, one a kind, each row under its scope. This module does not know commits."""

import hashlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, get_args, get_origin
from uuid import uuid4

import numpy as np
from pydantic import BaseModel

from langgraph_engram.embeddings.base import Vectors
from langgraph_engram.errors import EncoderMismatch, StoreError
from langgraph_engram.schema import Scope
from langgraph_engram.stores.base import Row
from langgraph_engram.stores.index import (
    BOUNDARIES,
    DECISIONS,
    EVENTS,
    PENDING_TASKS,
    RECORDS,
    SYNTHESES,
    TURNS,
    Kind,
    T,
)

if TYPE_CHECKING:
    from chromadb import Collection
    from chromadb.api.client import Client


M = TypeVar("M", bound=BaseModel)
Scalar: TypeAlias = str | int | float | bool
Metadata: TypeAlias = dict[str, Scalar | None]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)
EXACT = "exact"
"""The key under which moments stand that milliseconds cannot hold; no model may have a field of this name."""


def encode(item: BaseModel) -> Metadata:
    """Write a model as flat metadata.

    Raises:
        UnicodeEncodeError: A text holds half a character (a lone surrogate).
    """
    values = {name: getattr(item, name) for name in type(item).model_fields}
    moments = {name: value for name, value in values.items() if isinstance(value, datetime)}
    exact = {name: value.isoformat() for name, value in moments.items() if value.isoformat() != _reread(value)}
    metadata = {name: _flat(value, type(item).model_fields[name].default) for name, value in values.items()}
    return metadata | {EXACT: json.dumps(exact) if exact else None}


def decode(model: type[M], metadata: Mapping[str, Any]) -> M:
    """Read a model back. Keys that are none of its fields are passed over.

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
    """Name the fields that hold a value of one of `types`, or none."""
    return frozenset(
        name
        for name, field in model.model_fields.items()
        if any((get_origin(one) or one) in types for one in (field.annotation, *get_args(field.annotation)))
    )


NO_MEANING: list[Sequence[float]] = [[1.0]]
"""The vector of what is never searched: Chroma wants one."""
SILENT_MS = 24 * 60 * 60 * 1000
"""After how many milliseconds without a commit a writer's row goes."""


class OwnRevisions:
    """The revisions of a store that one process has to itself: nothing has to be written for another to see.

    Everything in the process shares the store's indexes, so that a token in memory is enough. It saves a write and a
    read a commit: a fifth of the time that writing a short session takes.
    """

    def read(self, scope: Scope) -> str:
        """Give a text that no revision of the scope was before."""
        return self.renew(scope)

    def renew(self, scope: Scope) -> str:  # noqa: ARG002 - the port of `Revisions`
        """Give the revision after a commit."""
        return _revision([{"writer": "own", "token": uuid4().hex}])

    def only_mine_since(self, before: str, now: str) -> bool:  # noqa: ARG002 - the port of `Revisions`
        """Say that nobody else has committed."""
        return True


@dataclass(frozen=True)
class Revisions:
    """The revisions of all scopes, as one writer keeps them."""

    collection: "Collection"
    writer: str
    """The writer's own name; no other process has it."""

    def read(self, scope: Scope) -> str:
        """Give the revision of a scope: a text that changes with every commit of any process."""
        return _revision(self._rows(scope))

    def renew(self, scope: Scope) -> str:
        """Say that a commit to the scope is written, and give the revision with it."""
        now = time.time_ns() // 1_000_000
        name = scope_hash(scope)  # the row outlives what it is about, so that it must not say whose it was
        row: dict[str, str | int] = {"scope": name, "writer": self.writer, "token": uuid4().hex, "written_at": now}
        self.collection.upsert(ids=[f"{name}:{self.writer}"], embeddings=NO_MEANING, metadatas=[row])
        rows = self._rows(scope)
        if any(row["written_at"] < now - SILENT_MS for row in rows):
            silent: Any = [{"scope": name}, {"written_at": {"$lt": now - SILENT_MS}}]
            self.collection.delete(where={"$and": silent})
        return _revision(rows)

    def only_mine_since(self, before: str, now: str) -> bool:
        """Say whether nobody but this writer has committed between two revisions."""
        return self._others(before) == self._others(now)

    def _others(self, revision: str) -> dict[str, str]:
        tokens: dict[str, str] = json.loads(revision)
        return {writer: token for writer, token in tokens.items() if writer != self.writer}

    def _rows(self, scope: Scope) -> list[Mapping[str, Any]]:
        return list(self.collection.get(where={"scope": scope_hash(scope)}, include=["metadatas"])["metadatas"] or [])


def scope_hash(scope: Scope) -> str:
    """Give a short name for a scope, to tell apart the ids of several."""
    return hashlib.blake2b(scope.key.encode(), digest_size=8).hexdigest()


def _revision(rows: list[Mapping[str, Any]]) -> str:
    return json.dumps({row["writer"]: row["token"] for row in rows}, sort_keys=True)


PREFIX = "engram-"
REVISIONS = "revisions"
KINDS: tuple[Kind[Any], ...] = (TURNS, EVENTS, BOUNDARIES, RECORDS, SYNTHESES, DECISIONS, PENDING_TASKS)
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
