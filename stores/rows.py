"""Keep the items of all kinds as rows of one Chroma collection, one each, under their scope and kind.

Each request to Chroma costs about as much as ten rows, so a commit is one: all of it is written, or nothing. Each key
of a row's metadata costs too, so a row has three: its scope and kind, which are asked for, and the item as JSON. No
search asks Chroma's graph of neighbours: it is built as cheaply as Chroma allows (docs/decisions/0003, 0004).
"""

import hashlib
import json
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from itertools import count, islice
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

import numpy as np
from pydantic import BaseModel
from pydantic_core import PydanticSerializationError

from langgraph_engram.embeddings.base import Vectors
from langgraph_engram.errors import EncoderMismatch, StoreError
from langgraph_engram.schema import Scope
from langgraph_engram.stores.kinds import SEARCHABLE, UNSEARCHED, Kind, KindItems, T

if TYPE_CHECKING:
    from chromadb import Collection
    from chromadb.api.client import Client
    from chromadb.api.collection_configuration import CreateHNSWConfiguration

M = TypeVar("M", bound=BaseModel)
V = TypeVar("V")

KINDS: tuple[Kind[Any], ...] = (*SEARCHABLE, *UNSEARCHED)
KIND_OF_NAME = {kind.name: kind for kind in KINDS}
ITEM = "item"
"""The key of an item's JSON."""
PAGE_SIZE = 2_000
"""Rows of one request at most: a server refuses bodies that are too large."""

PREFIX = "engram-"
MEMORIES, ROOT = "memories", "revisions"
ITEMS_PREFIX = "engram-store-"
"""How the names of the collections of LangGraph's store begin."""
SCHEMA = 4
"""The version of what is written: rows of all kinds in one collection, an item as JSON. Changing a model's default
changes it."""
GRAPH: "CreateHNSWConfiguration" = {
    "space": "cosine",
    "ef_construction": 10,
    "max_neighbors": 4,
    "batch_size": 100,
    "sync_threshold": 100,
}
"""How Chroma's own graph of neighbours is built."""
SILENT_MS = 24 * 60 * 60 * 1000
"""After how many milliseconds without a commit a writer's row is removed."""


@dataclass(frozen=True)
class Rows:
    """The rows of one store."""

    memories: "Collection"
    root: "Collection"
    """Says what the store is, and holds the revisions of a server's scopes."""
    page_size: int
    """Rows that one request may write or read."""

    def write(self, scope: Scope, parts: Sequence[KindItems[Any]], dimensions: int) -> None:
        """Write items over what has their ids, of several with one id the last; at once, where they fit in a request.

        What is never searched gets a vector of so many dimensions that says nothing: Chroma wants some.
        """
        rows: dict[str, tuple[dict[str, str], str | None, Vectors]] = {}
        for kind, items, vectors in parts:
            for position, item in enumerate(items):
                key = row_id(scope, kind, kind.id_of(item))
                vector = _placeholder(key, dimensions) if vectors is None else vectors[position]
                metadata = {"scope": scope.key, "kind": kind.name, ITEM: encode(item)}
                rows[key] = metadata, kind.text_of(item) or None, vector
        for page in in_pages(rows, self.page_size):
            metadatas, documents, embeddings = map(list, zip(*(rows[key] for key in page), strict=True))
            self.memories.upsert(ids=page, embeddings=np.stack(embeddings), metadatas=metadatas, documents=documents)

    def dimensions(self) -> int:
        """Return the dimensions of the vectors that are stored; 0 while there is none."""
        found: Any = self.memories.get(limit=1, include=["embeddings"])["embeddings"]
        return len(found[0]) if len(found) else 0

    def items(self, scope: Scope, kind: Kind[T]) -> Iterator[T]:
        """Yield the items of a scope, in the order they were first written; a page is held at a time."""
        for page in self.pages(["metadatas"], scope, kind):
            yield from (decode(kind.model, metadata) for metadata in page["metadatas"])

    def stored(self, scope: Scope, kind: Kind[T], ids: Sequence[str]) -> dict[str, T]:
        """Return those of these items that are stored, by id."""
        keys = [row_id(scope, kind, item_id) for item_id in dict.fromkeys(ids)]
        pages = (self.memories.get(ids=page, include=["metadatas"]) for page in in_pages(keys, self.page_size))
        rows = (row for page in pages for row in page["metadatas"] or ())
        items = (decode(kind.model, row) for row in rows if row.get("kind") == kind.name)
        return {kind.id_of(item): item for item in items}

    def scopes(self) -> list[Scope]:
        """Return the scopes that rows carry, in the order of their keys; `StoreError` for one that cannot be read."""
        pages = self.pages(["metadatas"])
        keys = {str(metadata.get("scope")) for page in pages for metadata in page["metadatas"]}
        try:
            return [scope_of(key) for key in sorted(keys)]
        except (ValueError, TypeError) as error:
            raise StoreError("a row does not say whose it is: `engram doctor` names it; restore a copy") from error

    def pages(
        self, include: list[Any], scope: Scope | None = None, kind: Kind[Any] | None = None
    ) -> Iterator[Mapping[str, Any]]:
        """Yield the rows in the order they were first written, as Chroma returns them, with the parts it is to include.

        By default they are everybody's, and of all kinds.
        """
        wanted = [{"scope": scope.key}] if scope else []
        wanted += [{"kind": kind.name}] if kind else []
        if kind in UNSEARCHED:  # of which there are few: Chroma looks for all that the first condition fits
            wanted.reverse()
        where: Any = {"$and": wanted} if len(wanted) > 1 else wanted[0] if wanted else None
        for offset in count(0, self.page_size):
            page: Mapping[str, Any] = self.memories.get(
                where=where, include=include, limit=self.page_size, offset=offset
            )
            if page["ids"]:
                yield page
            if len(page["ids"]) < self.page_size:
                return

    def read(self, scope: Scope) -> Iterator[KindItems[Any]]:
        """Yield the items of a scope and their vectors, by kind and page, in the order they were first written."""
        for page in self.pages(["metadatas", "embeddings"], scope):
            positions: defaultdict[str, list[int]] = defaultdict(list)
            for position, metadata in enumerate(page["metadatas"]):
                positions[str(metadata.get("kind"))].append(position)
            vectors = np.asarray(page["embeddings"], dtype=np.float32)
            for kind, own in ((kind, positions[kind.name]) for kind in KINDS if kind.name in positions):
                items = [decode(kind.model, page["metadatas"][position]) for position in own]
                yield KindItems(kind, items, vectors[own] if kind in SEARCHABLE else None)

    def remove(self, scope: Scope, removed: Mapping[str, Sequence[str]]) -> None:
        """Remove items by the name of their kind, in that order. Unknown ids are ignored."""
        keys = [row_id(scope, KIND_OF_NAME[name], item_id) for name, ids in removed.items() for item_id in ids]
        for page in in_pages(keys, self.page_size):
            self.memories.delete(ids=page)

    def rows(self, scope: Scope) -> Iterator[tuple[str, list[str]]]:
        """Yield the kind and every text of each row of a scope; not of the revisions, which hold no memory."""
        for page in self.pages(["metadatas", "documents"], scope):
            for row_id, metadata, document in zip(page["ids"], page["metadatas"], page["documents"], strict=True):
                values = values_in([row_id, document, metadata, json.loads(metadata.get(ITEM, "null"))])
                yield str(metadata.get("kind")), [value for value in values if isinstance(value, str)]

    def vectors(self, keys: list[str]) -> dict[str, Vectors]:
        """Return the vectors of rows by id; none where Chroma has lost one of them, which makes it fail."""
        from chromadb.errors import InternalError

        try:
            page: Any = self.memories.get(ids=keys, include=["embeddings"])
        except InternalError:
            return {}
        return dict(zip(page["ids"], np.asarray(page["embeddings"], dtype=np.float32), strict=True))


@dataclass(frozen=True)
class SharedRevisions:
    """The revisions of a store that several processes write to: one row for each scope and writer.

    The revision of a scope changes with every commit.
    """

    collection: "Collection"
    writer: str
    """The writer's own name; no other process has it."""

    def read(self, scope: Scope) -> str:
        """Return the revision of a scope: a text that changes with every commit of any process."""
        return _as_text(self._rows(scope))

    def renew(self, scope: Scope) -> str:
        """Record a commit to a scope, and return the revision with it."""
        now = time.time_ns() // 1_000_000
        name = scope.digest  # the row outlives what it is about, so it must not name the user
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
        mine = {self.writer: ""}
        return bool(json.loads(before) | mine == json.loads(now) | mine)

    def _rows(self, scope: Scope) -> list[Mapping[str, Any]]:
        return list(self.collection.get(where={"scope": scope.digest}, include=["metadatas"])["metadatas"] or [])


def _as_text(rows: Iterable[Mapping[str, Any]]) -> str:
    return json.dumps({row["writer"]: row["token"] for row in rows}, sort_keys=True)


def open_rows(client: "Client", encoder_name: str, location: str) -> Rows:
    """Open the rows of a store; where there is none, make its collections, the root last.

    Raises:
        EncoderMismatch: The store's vectors were made by another encoder.
        StoreError: The store is of a version that this one cannot read.
    """
    from chromadb.errors import NotFoundError

    try:
        root = client.get_collection(PREFIX + ROOT, embedding_function=None)
    except NotFoundError:
        memories = make_collection(client, PREFIX + MEMORIES, encoder_name)
        _check_encoder(memories, encoder_name, location)  # another process may have made it meanwhile
        root = make_collection(client, PREFIX + ROOT, encoder_name)
    _check_encoder(root, encoder_name, location)
    metadata = root.metadata or {}
    if (version := metadata.get("schema")) != SCHEMA:
        raise StoreError(
            f"the store {location!r} has schema {version!r} and this version reads {SCHEMA!r}: export it with the "
            f"version that wrote it and load it into a new store, or choose another store"
        )
    memories = client.get_collection(PREFIX + MEMORIES, embedding_function=None)
    _check_encoder(memories, encoder_name, location)
    return Rows(memories, root, min(PAGE_SIZE, client.get_max_batch_size()))


def make_collection(client: "Client", name: str, encoder_name: str) -> "Collection":
    """Make a collection, or open the one of this name."""
    return client.get_or_create_collection(
        name,
        embedding_function=None,
        metadata={"encoder": encoder_name, "schema": SCHEMA},
        configuration={"hnsw": GRAPH},
    )


def _check_encoder(collection: "Collection", encoder_name: str, location: str) -> None:
    if (written := (collection.metadata or {}).get("encoder")) != encoder_name:
        raise EncoderMismatch(
            f"the store {location!r} was written with the encoder {written!r}, not {encoder_name!r}: open it with the "
            f"encoder it was written with (ENGRAM_ENCODER), or export it and load it into a new store"
        )


def _placeholder(key: str, dimensions: int) -> Vectors:
    """Return a unit vector that says nothing, for Chroma wants one; a graph of equal ones would be slow to add to."""
    vector = np.frombuffer(hashlib.shake_128(key.encode("utf-8", "surrogatepass")).digest(dimensions), np.uint8) - 127.5
    return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


def scope_of(key: str) -> Scope:
    """Return the scope of a key; `ValueError` where it is the key of none."""
    tenant, user_id, agent_id = json.loads(key)
    return Scope(tenant=tenant, user_id=user_id, agent_id=agent_id)


def encode(item: BaseModel) -> str:
    """Write a model as JSON, without what is as by default; `UnicodeEncodeError` where a text has a lone surrogate."""
    try:
        return item.model_dump_json(exclude_defaults=True)
    except PydanticSerializationError:
        json.dumps(item.model_dump(), ensure_ascii=False, default=str).encode()  # pydantic's own error names no text
        raise


def decode(item_type: type[M], metadata: Mapping[str, Any]) -> M:
    """Read a model back from a row; `ValidationError` where a field is missing or wrong."""
    return item_type.model_validate_json(str(metadata.get(ITEM, "")))


def values_in(value: object) -> Iterator[object]:
    """Yield a value and every value within it: of models, dataclasses, mappings and lists."""
    yield value
    if isinstance(value, BaseModel):
        yield from values_in(value.__dict__)
    elif is_dataclass(value) and not isinstance(value, type):
        yield from values_in([getattr(value, name) for name in value.__dataclass_fields__])
    elif isinstance(value, Mapping):
        yield from values_in(list(value.values()))
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from values_in(item)


def in_pages(values: Iterable[V], size: int) -> Iterator[list[V]]:
    """Yield values in lists of so many at most."""
    left = iter(values)
    while page := list(islice(left, size)):
        yield page


def row_id(scope: Scope, kind: Kind[Any], item_id: str) -> str:
    """Return the id of an item's row."""
    return f"{scope.digest}:{kind.name}:{item_id}"
