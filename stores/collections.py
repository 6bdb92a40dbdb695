"""Keep the items of all kinds in one Chroma collection, as one row each under their scope and kind.

Each request to Chroma costs about as much as ten rows, so a commit is one: all of it is written, or nothing. Chroma
writes and indexes each key of a row's metadata by itself, so a row has three: its scope and kind, which are asked for,
and the item as JSON. It reads what its graph of neighbours has not taken in yet again with each write, and no search
asks that graph: it is built as cheaply as Chroma allows and takes rows in often (docs/decisions/0045, 0048).

Each scope has a revision that changes with every commit, so that an index in the process knows that it is outdated.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from pydantic import BaseModel
from pydantic_core import PydanticSerializationError

from langgraph_engram.embeddings.base import Vectors
from langgraph_engram.errors import StoreError
from langgraph_engram.schema import Scope
from langgraph_engram.stores.base import Row
from langgraph_engram.stores.index import PENDING_TASKS, SEARCHABLE, UNSEARCHED, Kind, T

if TYPE_CHECKING:
    from chromadb import Collection
    from chromadb.api.client import Client
    from chromadb.api.collection_configuration import CreateHNSWConfiguration


M = TypeVar("M", bound=BaseModel)

PREFIX = "engram-"
MEMORIES, REVISIONS = "memories", "revisions"
KINDS: tuple[Kind[Any], ...] = (*SEARCHABLE, *UNSEARCHED)
KIND_OF_NAME = {kind.name: kind for kind in KINDS}
ITEMS_PREFIX = "engram-store-"
"""How the names of the collections of LangGraph's store begin."""
SCHEMA = 4
"""The version of what is written: rows of all kinds in one collection, an item as JSON under the key `ITEM`. Changing a
model's default changes it."""
GENERATION = "generation"
"""The key in the metadata of the collection of revisions that names the generation of vectors in use; empty for the
first."""
ITEM = "item"
"""The key of an item's JSON."""
GRAPH: "CreateHNSWConfiguration" = {
    "space": "cosine",
    "ef_construction": 10,
    "max_neighbors": 4,
    "batch_size": 100,
    "sync_threshold": 100,
}
"""How Chroma's own graph of neighbours is built, which no search of ours asks."""
COMPLETED = "completed"
"""The kind of the row of a pending task that is completed: nothing but its id is left in it, until it is removed."""
FEW = 50
"""Rows of one kind, of all scopes together, that are read where one scope's are asked for."""
PAGE_SIZE = 2_000
"""Rows of one request at most: a server refuses bodies that are too large."""


@dataclass(frozen=True)
class Batch(Generic[T]):
    """Items of one kind that are written together, and their vectors."""

    kind: Kind[T]
    items: Sequence[T]
    vectors: Vectors | None
    """None for what is never searched."""


@dataclass(frozen=True)
class Collections:
    """The collections of one store."""

    client: "Client"
    memories: "Collection"
    revisions: "Collection"
    page_size: int
    """Rows that one request may write or read."""

    def write(
        self, scope: Scope, batches: Sequence[Batch[Any]], dimensions: int, completed: Sequence[str] = ()
    ) -> None:
        """Write items over what has their ids, of several with one id the last; at once, where they fit in a request.

        Args:
            scope: Whose they are.
            batches: The items.
            dimensions: Of the store's vectors. What is never searched has one that says nothing: Chroma wants some.
            completed: Ids of pending tasks that are done once the items are written; `remove_completed` removes their
                rows, which are not read from now on.
        """
        rows: dict[str, tuple[dict[str, str], str, Vectors]] = {}
        for kind, item, vector in _with_vectors(batches):
            key = row_id(scope, kind, kind.id_of(item))
            written = _placeholder(key, dimensions) if vector is None else vector
            rows[key] = (_metadata_of(scope, kind.name, encode(item)), kind.text_of(item), written)
        for key in (row_id(scope, PENDING_TASKS, item_id) for item_id in completed):
            rows.pop(key, None)
            rows[key] = (_metadata_of(scope, COMPLETED, "null"), "", _placeholder(key, dimensions))
        keys = iter(rows)
        while page := list(islice(keys, self.page_size)):
            self.memories.upsert(
                ids=page,
                embeddings=np.stack([rows[key][2] for key in page]),
                metadatas=[rows[key][0] for key in page],
                documents=[rows[key][1] or None for key in page],  # type: ignore[misc]  # it may
            )

    def dimensions(self) -> int:
        """Return the dimensions of the vectors that are stored; 0 while there is none."""
        found = self.memories.get(limit=1, include=["embeddings"])["embeddings"]
        return 0 if found is None or not len(found) else len(found[0])

    def items(self, scope: Scope, kind: Kind[T]) -> Iterator[T]:
        """Yield the items of a scope, in the order they were first written; a page is held at a time."""
        for page in self.pages(["metadatas"], scope, kind):
            yield from items_of(kind, page)

    def rare_items(self, scope: Scope, kind: Kind[T]) -> list[T]:
        """Return the items of a scope of a kind of which a store holds few at a time, however many rows the scope has.

        Chroma reads all rows that a condition fits before it looks at the next: here those of the kind, while they are
        few, and not those of the scope.
        """
        page = self.memories.get(where={"kind": kind.name}, include=["metadatas"], limit=FEW)
        if len(page["ids"]) == FEW:
            return list(self.items(scope, kind))
        return [decode(kind.model, row) for row in page["metadatas"] or [] if row.get("scope") == scope.key]

    def stored(self, scope: Scope, kind: Kind[T], ids: Sequence[str]) -> dict[str, T]:
        """Return those of these items that are stored, by id."""
        found: list[T] = []
        distinct = list(dict.fromkeys(ids))
        for start in range(0, len(distinct), self.page_size):
            page = [row_id(scope, kind, item_id) for item_id in distinct[start : start + self.page_size]]
            rows = self.memories.get(ids=page, include=["metadatas"])["metadatas"] or []
            found += [decode(kind.model, row) for row in rows if row.get("kind") == kind.name]
        return {kind.id_of(item): item for item in found}

    def scopes(self) -> list[Scope]:
        """Return the scopes that any row carries, in the order of their keys.

        Raises:
            StoreError: A row carries none that can be read.
        """
        pages = self.pages(["metadatas"])
        rows = (metadata for page in pages for metadata in page["metadatas"] if metadata.get("kind") != COMPLETED)
        keys = {str(metadata.get("scope")) for metadata in rows}
        try:
            return [scope_of(key) for key in sorted(keys)]
        except (ValueError, TypeError) as error:
            raise StoreError("a row does not say whose it is: `engram doctor` names it; restore a copy") from error

    def pages(
        self, include: list[Any], scope: Scope | None = None, kind: Kind[Any] | None = None
    ) -> Iterator[Mapping[str, Any]]:
        """Yield the rows in the order they were first written, as Chroma returns them, page by page.

        Args:
            include: The parts of the rows, as Chroma names them.
            scope: Whose rows; by default everybody's.
            kind: Rows of which kind; by default of all.
        """
        wanted = [{"scope": scope.key}] if scope else []
        wanted += [{"kind": kind.name}] if kind else []
        where: Any = {"$and": wanted} if len(wanted) > 1 else wanted[0] if wanted else None
        offset = 0
        while True:
            page: Mapping[str, Any] = self.memories.get(
                where=where, include=include, limit=self.page_size, offset=offset
            )
            if page["ids"]:
                yield page
            if len(page["ids"]) < self.page_size:
                return
            offset += self.page_size

    def read(self, scope: Scope) -> Iterator[tuple[Kind[Any], list[Any], Vectors]]:
        """Yield the items of a scope and their vectors, by kind and page, in the order they were first written."""
        for page in self.pages(["metadatas", "embeddings"], scope):
            positions: defaultdict[str, list[int]] = defaultdict(list)
            for position, metadata in enumerate(page["metadatas"]):
                positions[str(metadata.get("kind"))].append(position)
            vectors = np.asarray(page["embeddings"], dtype=np.float32)
            for kind, own in ((kind, positions[kind.name]) for kind in KINDS if kind.name in positions):
                yield kind, [decode(kind.model, page["metadatas"][position]) for position in own], vectors[own]

    def remove(self, scope: Scope, removed: Mapping[str, Sequence[str]]) -> None:
        """Remove items by the name of their kind, in that order. Unknown ids are ignored."""
        keys = [row_id(scope, KIND_OF_NAME[name], item_id) for name, ids in removed.items() for item_id in ids]
        for start in range(0, len(keys), self.page_size):
            self.memories.delete(ids=keys[start : start + self.page_size])

    def remove_completed(self, keys: Sequence[str] = ()) -> None:
        """Remove the rows of completed tasks: those of these keys, or all, which Chroma looks for in all rows."""
        self.memories.delete(ids=list(keys) or None, where={"kind": COMPLETED})

    def rows(self, scope: Scope) -> Iterator[Row]:
        """Return every row of a scope as it is stored; not the revisions, which hold no memory."""
        for page in self.pages(["metadatas", "documents"], scope):
            for row_id, metadata, document in zip(page["ids"], page["metadatas"], page["documents"], strict=True):
                item = json.loads(metadata.get(ITEM, "null"))
                texts = [*_strings_in(metadata), *_strings_in(item)]
                yield Row(str(metadata.get("kind")), row_id.split(":", 2)[-1], [row_id, document or "", *texts])

    def contains_text(self, text: str) -> bool:
        """Return whether a document of any scope holds a text."""
        return bool(self.memories.get(where_document={"$contains": text}, limit=1, include=[])["ids"])


def _with_vectors(batches: Sequence[Batch[Any]]) -> Iterator[tuple[Kind[Any], Any, Vectors | None]]:
    for batch in batches:
        for position, item in enumerate(batch.items):
            yield batch.kind, item, None if batch.vectors is None else batch.vectors[position]


def _placeholder(key: str, dimensions: int) -> Vectors:
    """Return a unit vector that says nothing; another for each row: a graph of equal points has no short ways."""
    seed = int.from_bytes(hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest())
    vector = np.random.default_rng(seed).standard_normal(dimensions).astype(np.float32)
    return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


def _metadata_of(scope: Scope, kind: str, item: str) -> dict[str, str]:
    """Return the metadata of the row of an item in JSON."""
    return {"scope": scope.key, "kind": kind, ITEM: item}


def make_collection(client: "Client", name: str, encoder_name: str) -> "Collection":
    """Make a collection, or open the one of this name."""
    return client.get_or_create_collection(
        name,
        embedding_function=None,
        metadata={"encoder": encoder_name, "schema": SCHEMA},
        configuration={"hnsw": GRAPH},
    )


def collection_name(generation: str) -> str:
    """Return what the collection of memories is called whose vectors are of a generation."""
    return PREFIX + (f"{generation}-" if generation else "") + MEMORIES


def unused_collections(collections: Collections) -> list[str]:
    """Return the names of collections of ours that belong to no store: a move to another encoder was cut off."""
    used = {collections.memories.name, collections.revisions.name}
    names = [collection.name for collection in collections.client.list_collections()]
    return sorted(
        name for name in names if name.startswith(PREFIX) and not name.startswith(ITEMS_PREFIX) and name not in used
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
    """Read a model back from a row.

    Raises:
        pydantic.ValidationError: A field is missing, or is not what it should be.
    """
    return model.model_validate_json(str(metadata.get(ITEM, "")))


def _strings_in(value: object) -> Iterator[str]:
    """Yield every string within a value of JSON."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _strings_in(list(value.values()))
    elif isinstance(value, list):
        for part in value:
            yield from _strings_in(part)


def row_id(scope: Scope, kind: Kind[Any], item_id: str) -> str:
    """Return the id of an item's row."""
    return f"{scope_hash(scope)}:{kind.name}:{item_id}"


def items_of(kind: Kind[T], page: Mapping[str, Any]) -> list[T]:
    """Return the items of a page of rows."""
    return [decode(kind.model, metadata) for metadata in page["metadatas"]]
