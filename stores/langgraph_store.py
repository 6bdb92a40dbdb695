"""LangGraph's key-value store over Chroma, beside the memories: its items, the checks of operations, and batches.

An item has any number of vectors and its value is filtered at any depth, which Chroma's own search does not know. So it
is whole in one row, beside each prefix of its namespace: Chroma returns what is under a prefix, and that is filtered
and ranked exactly. All text is JSON in ASCII: half characters and zero bytes, which Chroma refuses, pass through.

The operations of a batch are checked before anything is done; its reads come before its writes. Filters mean what they
mean to LangGraph's stores over databases, and values compare as JSON does.
"""

import json
import reprlib
import sys
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from inspect import iscoroutinefunction
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from langchain_core.embeddings import Embeddings
from langgraph.store.base import (
    GetOp,
    IndexConfig,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    ensure_embeddings,
    get_text_at_path,
)

from langgraph_engram.embeddings.base import Encoder, Vectors
from langgraph_engram.embeddings.factory import name_of
from langgraph_engram.errors import EncoderMismatch, EncoderUnavailable, InvalidInput, InvalidSetting, StoreError
from langgraph_engram.filters import ORDERED
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
OPERATORS = ("$eq", "$ne", *ORDERED)
WITH_ORDER = (int, float, str)
"""The types that have an order; a boolean is an int."""


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
        return [
            StoredItem(
                _address_of(row_id),
                text=row["value"],
                created_at=datetime.fromisoformat(row["created_at"]),
                updated_at=datetime.fromisoformat(row["updated_at"]),
                vectors=np.frombuffer(b64decode(row["vectors"]), dtype=FLOAT32) if row.get("vectors") else None,
            )
            for row_id, row in zip(page["ids"], page["metadatas"], strict=True)
        ]
    except (KeyError, ValueError, TypeError) as error:
        raise StoreError(f"an item cannot be read ({error!r}): its file is damaged; restore a copy") from error


def checked(op: Op) -> Op:
    """Return an operation with tuples for namespaces, text for keys, and a value as it comes back from JSON."""
    match op:
        case GetOp():
            return op._replace(namespace=_labels(op.namespace), key=str(op.key))
        case PutOp():
            _check_put(op)
            value = None if op.value is None else _as_stored(op.value)
            return op._replace(namespace=_labels(op.namespace), key=str(op.key), value=value)
        case SearchOp():
            _check_counts(limit=op.limit, offset=op.offset)
            _check_filter({} if op.filter is None else op.filter)
            if op.query is not None and not isinstance(op.query, str):
                raise InvalidInput(f"invalid query {reprlib.repr(op.query)}: give text, or None")
            return op._replace(namespace_prefix=_labels(op.namespace_prefix))
        case ListNamespacesOp():
            _check_counts(limit=op.limit, offset=op.offset, max_depth=0 if op.max_depth is None else op.max_depth)
            return op._replace(match_conditions=_conditions(op.match_conditions or ()))
    raise InvalidInput(f"invalid operation {reprlib.repr(op)}: give GetOp, PutOp, SearchOp or ListNamespacesOp")


def matches(namespace: Namespace, condition: MatchCondition) -> bool:
    """Return whether a namespace begins or ends as a condition says; `*` stands for any one label."""
    size = len(condition.path)
    end = namespace[:size] if condition.match_type == "prefix" else namespace[max(0, len(namespace) - size) :]
    return len(end) == size and all(wanted in ("*", label) for wanted, label in zip(condition.path, end, strict=True))


def passes(value: dict[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Return whether a value passes a filter; a key with dots that is no key of the value is a path."""
    return all(
        _meets(value[name] if name in value else _at(value, name), condition) for name, condition in wanted.items()
    )


def _as_stored(value: object) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidInput(f"invalid value of an item {reprlib.repr(value)}: give a mapping with text keys")
    try:
        return cast("dict[str, Any]", json.loads(json.dumps(dict(value))))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(
            f"a value that cannot be JSON: {error}; give text, numbers, booleans, lists, mappings"
        ) from error


def _check_put(op: PutOp) -> None:
    if op.ttl is not None:
        raise InvalidInput(f"invalid ttl {reprlib.repr(op.ttl)}: items of this store do not expire, leave it out")
    paths = () if op.index is None or op.index is False else op.index
    if not isinstance(paths, list | tuple) or not all(isinstance(path, str) for path in paths):
        raise InvalidInput(f"invalid index {reprlib.repr(op.index)}: give paths such as ['title'], False or None")


def _check_counts(**counts: object) -> None:
    for name, value in counts.items():
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= sys.maxsize:
            raise InvalidInput(f"{name} is {reprlib.repr(value)}: give a whole number of 0 or above")


def _conditions(conditions: Any) -> tuple[MatchCondition, ...]:
    if not isinstance(conditions, list | tuple) or not all(isinstance(wanted, MatchCondition) for wanted in conditions):
        raise InvalidInput(f"invalid conditions {reprlib.repr(conditions)}: give a list of MatchCondition")
    for condition in conditions:
        if condition.match_type not in ("prefix", "suffix"):
            raise InvalidInput(f"Unsupported match type: {condition.match_type!r}; choose 'prefix' or 'suffix'")
    return tuple(condition._replace(path=_labels(condition.path)) for condition in conditions)


def _labels(namespace: Any) -> Namespace:
    """Return a namespace as a tuple, checked by the rules of LangGraph's own stores."""
    if not isinstance(namespace, Sequence) or isinstance(namespace, str | bytes):
        raise InvalidNamespaceError(f"Invalid namespace {reprlib.repr(namespace)}: give a tuple of labels")
    labels = tuple(namespace)
    for label in labels:
        if not isinstance(label, str) or not label or "." in label or "\x00" in label:
            raise InvalidNamespaceError(
                f"Invalid namespace label {reprlib.repr(label)} found in {reprlib.repr(labels)}: give text that is not "
                f"empty and holds neither a period nor a zero byte"
            )
    return labels


def _check_filter(wanted: object) -> None:
    if not isinstance(wanted, Mapping):
        raise InvalidInput(
            f"invalid filter {reprlib.repr(wanted)}: give a mapping such as {{'kind': 'note', 'score': {{'$gt': 3}}}}"
        )
    if odd := [name for name in wanted if not isinstance(name, str) or not name or name.startswith("$")]:
        raise InvalidInput(
            f"invalid filter key {reprlib.repr(odd[0])}: give the name of a field, and operators below it"
        )
    for condition in wanted.values():
        _check_condition(condition)


def _check_condition(condition: object) -> None:
    if isinstance(condition, list | tuple):
        for element in condition:
            _check_condition(element)
    elif isinstance(condition, Mapping) and not any(str(name).startswith("$") for name in condition):
        _check_filter(condition)
    elif isinstance(condition, Mapping) and (unknown := [name for name in condition if name not in OPERATORS]):
        raise InvalidInput(f"Unsupported operator: {reprlib.repr(unknown[0])}; choose {', '.join(OPERATORS)}")


def _at(value: dict[str, Any], path: str) -> object:
    """Return what stands at a path of keys with dots between them, or None."""
    inner: object = value
    for step in path.split("."):
        inner = inner.get(step) if isinstance(inner, dict) else None
    return inner


def _meets(value: object, condition: object) -> bool:
    if isinstance(condition, Mapping):
        if any(name in condition for name in OPERATORS):
            return all(_holds(value, name, operand) for name, operand in condition.items())
        return isinstance(value, dict) and passes(value, condition)
    if isinstance(condition, list | tuple):
        return isinstance(value, list) and len(value) == len(condition) and all(map(_meets, value, condition))
    return _equal(value, condition)


def _holds(value: object, name: str, operand: object) -> bool:
    if name in ("$eq", "$ne"):
        return _equal(value, operand) is (name == "$eq")
    if not isinstance(value, WITH_ORDER) or not isinstance(operand, WITH_ORDER):
        return False
    texts = sum(isinstance(side, str) for side in (value, operand))
    try:  # a text that is a number counts as one, as in LangGraph's own stores
        return ORDERED[name](float(value), float(operand)) if texts else ORDERED[name](value, operand)
    except (ValueError, OverflowError):
        return texts == 2 and ORDERED[name](value, operand)


def _equal(value: object, wanted: object) -> bool:
    """Compare as JSON does, where true is not 1."""
    if isinstance(value, bool) or isinstance(wanted, bool):
        return value is wanted
    if isinstance(value, dict) and isinstance(wanted, Mapping):
        return value.keys() == wanted.keys() and all(_equal(value[name], inner) for name, inner in wanted.items())
    if isinstance(value, list) and isinstance(wanted, list | tuple):
        return len(value) == len(wanted) and all(map(_equal, value, wanted))
    return value == wanted


@dataclass(frozen=True)
class BatchVectors:
    """The vectors of a batch, of length 1 each, or 0."""

    items: Mapping[Address, Vectors] = field(default_factory=dict)
    """What each written item is found by, one vector after another."""
    queries: Mapping[str, Vectors] = field(default_factory=dict)


@dataclass(frozen=True)
class Indexer:
    """Embed documents as documents and queries as queries, in one vector space."""

    embeddings: Embeddings
    name: str
    """What identifies the vector space."""
    fields: Sequence[str]
    """The paths to what items are found by, where a write names none."""
    dimensions: int | None = None
    """The size of a vector; None for any."""

    def embed(self, ops: Sequence[Op]) -> BatchVectors:
        """Embed what the writes of a batch are found by, and its queries, each text once."""
        texts = {address: self._texts_of(op) for address, op in _writes_of(ops).items() if op.value is not None}
        documents = list(dict.fromkeys(chain.from_iterable(texts.values())))
        queries = list(dict.fromkeys(op.query for op in ops if isinstance(op, SearchOp) and op.query))
        found = self._by_text(documents, self.embeddings.embed_documents(documents) if documents else [])
        asked = self._by_text(queries, [self.embeddings.embed_query(query) for query in queries])
        items = {address: [found[text] for text in of_item] for address, of_item in texts.items() if of_item}
        return BatchVectors({address: np.concatenate(vectors) for address, vectors in items.items()}, asked)

    def _texts_of(self, op: PutOp) -> list[str]:
        paths = self.fields if op.index is None else op.index or ()
        return list(dict.fromkeys(text for path in paths for text in get_text_at_path(op.value, path)))

    def _by_text(self, texts: Sequence[str], vectors: Sequence[Sequence[float]]) -> dict[str, Vectors]:
        """Return vectors scaled to length 1, but for those of zeros."""
        sizes = sorted({len(vector) for vector in vectors})
        wanted = [self.dimensions or size for size in sizes[:1]]
        if len(vectors) != len(texts) or sizes != wanted or 0 in sizes:
            raise EncoderUnavailable(
                f"{self.name!r} gave {len(vectors)} vectors of {sizes} dimensions for {len(texts)} texts: check the "
                f"embeddings, and `dims`"
            )
        rows = np.asarray(vectors, dtype=np.float64).reshape(len(texts), *sizes or (0,))
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return dict(zip(texts, np.asarray(rows / np.where(lengths > 0, lengths, 1), dtype=np.float32), strict=True))


def open_indexer(index: IndexConfig, encoder: Encoder) -> Indexer:
    """Open what embeds items and queries."""
    embed, fields, dimensions = index.get("embed"), list(index.get("fields") or ["$"]), index.get("dims")
    if embed is None:
        return Indexer(ensure_embeddings(lambda texts: encoder.encode(texts).tolist()), encoder.name, fields)
    is_named = isinstance(embed, str | Embeddings)
    if not (is_named or callable(embed)) or iscoroutinefunction(embed):
        raise InvalidSetting(
            f"invalid `embed` {embed!r}: give LangChain `Embeddings`, a function that is not asynchronous, or "
            f"'provider:model'"
        )
    embeddings = ensure_embeddings(embed)
    function = embed if hasattr(embed, "__qualname__") else type(embed)
    name = name_of(embeddings) if is_named else f"{function.__module__}.{function.__qualname__}"
    return Indexer(embeddings, f"{name}:{dimensions}" if dimensions else name, fields, dimensions)


def run_batch(items: Items, ops: Sequence[Op], vectors: BatchVectors, now: datetime) -> list[Result]:
    """Run checked operations over items that are held."""
    got = items.get((op.namespace, op.key) for op in ops if isinstance(op, GetOp))
    results = [_read(op, items, got, vectors.queries) for op in ops]
    writes = _writes_of(ops)
    replaced = items.get(writes)
    items.put(
        StoredItem(
            address,
            text=json.dumps(op.value),
            created_at=replaced[address].created_at if address in replaced else now,
            updated_at=now,
            vectors=vectors.items.get(address),
        )
        for address, op in writes.items()
        if op.value is not None
    )
    items.delete(address for address, op in writes.items() if op.value is None)
    return results


def _read(op: Op, items: Items, got: Mapping[Address, StoredItem], queries: Mapping[str, Vectors]) -> Result:
    """Return the result of an operation; None for a write."""
    match op:
        case GetOp():
            item = got.get((op.namespace, op.key))
            return Item(**_fields_of(item)) if item else None
        case SearchOp():
            return _search(op, items.under(op.namespace_prefix), queries.get(op.query or ""))
        case ListNamespacesOp():
            return _list(op, items.namespaces())
    return None


def _search(op: SearchOp, items: list[StoredItem], query: Vectors | None) -> list[SearchItem]:
    """Return the newest items for no query; else the nearest, equal ones as they come, without a vector last."""
    wanted = op.filter or {}
    passing = [item for item in items if not wanted or passes(item.value, wanted)]
    if query is None:
        passing = sorted(passing, key=lambda item: item.updated_at)[::-1]  # those of one batch backwards
    hits = [(item, None if query is None else item.score(query)) for item in passing]
    ranked = sorted(hits, key=lambda hit: float("inf") if hit[1] is None else -hit[1])
    return [SearchItem(**_fields_of(item), score=score) for item, score in ranked[op.offset : op.offset + op.limit]]


def _list(op: ListNamespacesOp, known: set[Namespace]) -> list[Namespace]:
    conditions = op.match_conditions or ()
    listed = (namespace for namespace in known if all(matches(namespace, wanted) for wanted in conditions))
    distinct = sorted({namespace[: op.max_depth] for namespace in listed})  # None takes all of it
    return distinct[op.offset : op.offset + op.limit]


def _fields_of(item: StoredItem) -> dict[str, Any]:
    namespace, key = item.address
    times = {"created_at": item.created_at, "updated_at": item.updated_at}
    return {"namespace": namespace, "key": key, "value": item.value, **times}


def _writes_of(ops: Sequence[Op]) -> dict[Address, PutOp]:
    """Return the writes of a batch. Of several to one address the last one counts."""
    return {(op.namespace, op.key): op for op in ops if isinstance(op, PutOp)}
