"""Run a checked batch over the items of a store: its texts are embedded, then come its reads, and then its writes.

Texts are embedded with LangChain's `Embeddings`, or with an `Encoder` as such.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from inspect import iscoroutinefunction
from itertools import chain
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings
from langgraph.store.base import (
    GetOp,
    IndexConfig,
    Item,
    ListNamespacesOp,
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
from langgraph_engram.errors import EncoderUnavailable, InvalidSetting
from langgraph_engram.stores.langgraph_store.items import Address, Items, Namespace, StoredItem
from langgraph_engram.stores.langgraph_store.operations import matches, passes

WHOLE_VALUE = ["$"]
"""The path to all of a value, which items are found by by default."""


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
    embed, fields, dimensions = index.get("embed"), list(index.get("fields") or WHOLE_VALUE), index.get("dims")
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
