"""Keep the items of all kinds as rows of one Chroma collection, one each, under their scope and kind.

Each request to Chroma costs about as much as ten rows, so a commit is one: all of it is written, or nothing. Chroma
writes and indexes each key of a row's metadata by itself, so a row has three: its scope and kind, which are asked for,
and the item as JSON.
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
from langgraph_engram.stores.kinds import SEARCHABLE, UNSEARCHED, Kind, T

if TYPE_CHECKING:
    from chromadb import Collection
    from chromadb.api.client import Client


M = TypeVar("M", bound=BaseModel)

KINDS: tuple[Kind[Any], ...] = (*SEARCHABLE, *UNSEARCHED)
KIND_OF_NAME = {kind.name: kind for kind in KINDS}
ITEM = "item"
"""The key of an item's JSON."""
PAGE_SIZE = 2_000
"""Rows of one request at most: a server refuses bodies that are too large."""


@dataclass(frozen=True)
class KindItems(Generic[T]):
    """Items of one kind that are written together, and their vectors."""

    kind: Kind[T]
    items: Sequence[T]
    vectors: Vectors | None
    """None for what is never searched."""


@dataclass(frozen=True)
class Rows:
    """The rows of one store."""

    client: "Client"
    memories: "Collection"
    root: "Collection"
    """Says what the store is, and holds the revisions of a server's scopes."""
    page_size: int
    """Rows that one request may write or read."""

    def write(self, scope: Scope, parts: Sequence[KindItems[Any]], dimensions: int) -> None:
        """Write items over what has their ids, of several with one id the last; at once, where they fit in a request.

        Args:
            scope: Whose they are.
            parts: The items.
            dimensions: Of the store's vectors. What is never searched has one that says nothing: Chroma wants some.
        """
        rows: dict[str, tuple[dict[str, str], str, Vectors]] = {}
        for kind, item, vector in _with_vectors(parts):
            key = row_id(scope, kind, kind.id_of(item))
            written = _placeholder(key, dimensions) if vector is None else vector
            rows[key] = ({"scope": scope.key, "kind": kind.name, ITEM: encode(item)}, kind.text_of(item), written)
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
            yield from (decode(kind.model, metadata) for metadata in page["metadatas"])

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
        keys = {str(metadata.get("scope")) for page in pages for metadata in page["metadatas"]}
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
        if kind in UNSEARCHED:  # of which there are few: Chroma looks for all that the first condition fits
            wanted.reverse()
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


def _with_vectors(parts: Sequence[KindItems[Any]]) -> Iterator[tuple[Kind[Any], Any, Vectors | None]]:
    for part in parts:
        for position, item in enumerate(part.items):
            yield part.kind, item, None if part.vectors is None else part.vectors[position]


def _placeholder(key: str, dimensions: int) -> Vectors:
    """Return a unit vector that says nothing, for Chroma wants one; a graph of equal ones would be slow to add to."""
    vector = np.frombuffer(hashlib.shake_128(key.encode("utf-8", "surrogatepass")).digest(dimensions), np.uint8) - 127.5
    return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


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
