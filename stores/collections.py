"""Keep items in Chroma collections, one for each kind, as one row each under their scope.

Chroma writes and indexes each key of a row's metadata by itself, so a row has two: its scope, which is asked for, and
the item as JSON. It reads what its graph of neighbours has not taken in yet again with each write, and no search asks
that graph: it is built as cheaply as Chroma allows and takes rows in often (docs/decisions/0045).

Each scope has a revision that changes with every commit, so that an index in the process knows that it is outdated.
"""

import hashlib
import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from pydantic import BaseModel
from pydantic_core import PydanticSerializationError

from langgraph_engram.embeddings.base import Vectors
from langgraph_engram.errors import EncoderMismatch, StoreError
from langgraph_engram.schema import Scope
from langgraph_engram.stores.base import Row
from langgraph_engram.stores.flat_rows import OLDEST, decode_flat, flat_keys
from langgraph_engram.stores.index import DECISIONS, PENDING_TASKS, SEARCHABLE, TURNS, Kind, T

if TYPE_CHECKING:
    from chromadb import Collection
    from chromadb.api.client import Client
    from chromadb.api.collection_configuration import CreateHNSWConfiguration, UpdateHNSWConfiguration


M = TypeVar("M", bound=BaseModel)

PREFIX = "engram-"
REVISIONS = "revisions"
KINDS: tuple[Kind[Any], ...] = (*SEARCHABLE, DECISIONS, PENDING_TASKS)
NAMES = (*(kind.name for kind in KINDS), REVISIONS)
ITEMS_PREFIX = "engram-store-"
"""How the names of the collections of LangGraph's store begin."""
SCHEMA = 3
"""The version of what is written: an item is JSON under the key `ITEM`, and its vectors may be in a generation of
collections of their own. Changing a model's default changes it."""
GENERATION = "generation"
"""The key in the metadata of the collection of revisions that names the generation in use; empty for the first."""
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
Migrate: TypeAlias = Callable[[int], None]
"""Called with the version of an older store before it is migrated, to make a copy or to refuse."""
PAGE_SIZE = 2_000
"""Rows of one request at most: a server refuses bodies that are too large."""


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
                metadatas=[{"scope": scope.key, ITEM: encode(item)} for item in page],
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
                    item = json.loads(metadata.get(ITEM, "null"))
                    texts = [*_strings_in(metadata), *_strings_in(item)]
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
        for name, collection in found.items():  # that of revisions is the last: cut off, the migration is done again
            _migrate(collection, name)
    made = {name: make_collection(client, names[name], encoder_name) for name in NAMES if name not in found}
    for collection in made.values():  # another process may have made them meanwhile
        _check_versions({(collection.metadata or {}).get("schema")}, location)
        _check_encoder(collection.metadata or {}, encoder_name, location)
    return Collections(client, found | made, min(PAGE_SIZE, client.get_max_batch_size()))


def _migrate(collection: "Collection", name: str) -> None:
    """Write the flat rows of a collection anew, and let its graph take rows in as often as that of a new one."""
    for kind in (kind for kind in KINDS if kind.name == name):
        removed = dict.fromkeys(flat_keys(kind.model))
        for ids, metadatas in _flat_pages(collection):
            items: list[BaseModel] = [decode_flat(kind.model, metadata) for metadata in metadatas]
            collection.update(ids=ids, metadatas=[{**removed, ITEM: encode(item)} for item in items])
    often: UpdateHNSWConfiguration = {"batch_size": GRAPH["batch_size"], "sync_threshold": GRAPH["sync_threshold"]}
    with warnings.catch_warnings():  # Chroma warns of collections without an embedding function, which ours never have
        warnings.simplefilter("ignore", DeprecationWarning)
        collection.modify(configuration={"hnsw": often})
    collection.modify(metadata={**(collection.metadata or {}), "schema": SCHEMA})


def _flat_pages(collection: "Collection") -> Iterator[tuple[list[str], list[Mapping[str, Any]]]]:
    """Yield ids and metadata of the rows that are not migrated yet, a page at a time."""
    for offset in range(0, collection.count(), PAGE_SIZE):
        page = collection.get(include=["metadatas"], limit=PAGE_SIZE, offset=offset)
        rows = [row for row in zip(page["ids"], page["metadatas"] or [], strict=True) if ITEM not in row[1]]
        if rows:
            yield [row_id for row_id, _ in rows], [metadata for _, metadata in rows]


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
        configuration={"hnsw": GRAPH},
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
    return model.model_validate_json(metadata[ITEM])


def _strings_in(value: object) -> Iterator[str]:
    """Yield every string within a value of JSON."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _strings_in(list(value.values()))
    elif isinstance(value, list):
        for part in value:
            yield from _strings_in(part)


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
