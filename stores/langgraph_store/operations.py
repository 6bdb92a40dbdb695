"""Check and run a batch of LangGraph's store operations.

A batch is checked whole before anything is read or written. All reads see the store as it was before the batch; of
several writes to one address the last one counts.
"""

import reprlib
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, islice
from operator import attrgetter
from typing import Any

import numpy as np
from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    get_text_at_path,
)

from langgraph_engram.embeddings.base import Vectors
from langgraph_engram.errors import InvalidInput
from langgraph_engram.stores.langgraph_store.index import ItemStore, NamespaceIndex, Put
from langgraph_engram.stores.langgraph_store.items import (
    Address,
    Namespace,
    StoredItem,
    checked_filter,
    passes,
    value_as_text,
    value_from_text,
)

NEVER = float("-inf")
MOST_MINUTES = 1e9
"""A longer time to live is a mistake: 1,900 years."""


@dataclass(frozen=True)
class BatchVectors:
    """The vectors of a batch, by text, each of shape (dimensions,) and length 1."""

    texts: Mapping[str, Vectors]
    queries: Mapping[str, Vectors]

    def of(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of texts, of shape (len(texts), dimensions)."""
        return np.stack([self.texts[text] for text in texts])


@dataclass(frozen=True)
class Plan:
    """A batch that has been checked."""

    ops: tuple[Op, ...]
    writes: "tuple[_Write, ...]"

    @property
    def texts(self) -> list[str]:
        """Return the texts to be encoded as documents, each once."""
        return list(dict.fromkeys(text for write in self.writes for text in write.indexed_texts))

    @property
    def queries(self) -> list[str]:
        """Return the texts to be encoded as queries, each once."""
        return list(dict.fromkeys(op.query for op in self.ops if isinstance(op, SearchOp) and op.query))

    def puts(self, vectors: BatchVectors) -> list[Put]:
        """Return the writes with their vectors."""
        return [
            Put(write.address, write.text, vectors.of(texts) if (texts := write.indexed_texts) else None, write.ttl)
            for write in self.writes
        ]


@dataclass(frozen=True)
class _Write:
    """A write that has been checked."""

    address: Address
    text: str | None
    """The value as JSON; None to remove the item."""
    indexed_texts: tuple[str, ...]
    """The texts that it is found by."""
    ttl: float | None


def plan(ops: Iterable[Op], fields: Sequence[str] | None) -> Plan:
    """Check a batch.

    Args:
        ops: LangGraph's operations.
        fields: Paths to the texts that items are found by, unless a put names its own; None where nothing is indexed.

    Raises:
        InvalidNamespaceError: A label of a namespace is not text, is empty, or holds a period or a zero byte.
        InvalidInput: Something else about an operation is invalid.
    """
    checked = tuple(map(_checked, ops))
    last = {(op.namespace, op.key): op for op in checked if isinstance(op, PutOp)}
    return Plan(checked, tuple(_write(op, fields) for op in last.values()))


def joined(plans: Sequence[Plan]) -> Plan:
    """Return batches as one: their operations in order, and of several writes to one address the last."""
    writes = {write.address: write for planned in plans for write in planned.writes}
    return Plan(tuple(chain.from_iterable(planned.ops for planned in plans)), tuple(writes.values()))


def _write(op: PutOp, fields: Sequence[str] | None) -> _Write:
    address = op.namespace, op.key
    if op.value is None:
        return _Write(address, None, (), None)
    text = value_as_text(op.value)
    paths = () if fields is None or op.index is False else fields if op.index is None else op.index
    value = value_from_text(text) if paths else {}
    indexed_texts = dict.fromkeys(found for path in paths for found in get_text_at_path(value, path))
    return _Write(address, text, tuple(indexed_texts), op.ttl)


def _checked(op: Op) -> Op:
    """Return an operation with tuples for namespaces and text for keys."""
    match op:
        case GetOp():
            return op._replace(namespace=_labels(op.namespace), key=str(op.key))
        case PutOp():
            _check_put(op)
            return op._replace(namespace=_labels(op.namespace), key=str(op.key))
        case SearchOp():
            _check_window(op.limit, op.offset)
            if op.query is not None and not isinstance(op.query, str):
                raise InvalidInput(f"invalid query {reprlib.repr(op.query)}: give text, or None")
            return op._replace(namespace_prefix=_labels(op.namespace_prefix), filter=checked_filter(op.filter))
        case ListNamespacesOp():
            _check_window(op.limit, op.offset)
            if op.max_depth is not None and not _is_count(op.max_depth):
                raise InvalidInput(f"invalid max_depth {reprlib.repr(op.max_depth)}: give a number of labels, or None")
            return op._replace(
                match_conditions=tuple(map(_condition, _listed(op.match_conditions or (), "conditions")))
            )
    raise InvalidInput(f"invalid operation {reprlib.repr(op)}: give GetOp, PutOp, SearchOp or ListNamespacesOp")


def _check_put(op: PutOp) -> None:
    if op.ttl is not None and (
        isinstance(op.ttl, bool) or not isinstance(op.ttl, int | float) or not abs(op.ttl) <= MOST_MINUTES
    ):
        raise InvalidInput(f"invalid ttl {reprlib.repr(op.ttl)}: give minutes, or None to keep the item")
    if op.index is not None and op.index is not False and not _are_paths(op.index):
        raise InvalidInput(f"invalid index {reprlib.repr(op.index)}: give paths such as ['title'], False or None")


def _are_paths(index: object) -> bool:
    return isinstance(index, list | tuple) and all(isinstance(path, str) for path in index)


def _check_window(limit: object, offset: object) -> None:
    if not _is_count(limit) or not _is_count(offset):
        raise InvalidInput(
            f"limit {reprlib.repr(limit)} and offset {reprlib.repr(offset)}: give whole numbers of 0 or above"
        )


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= sys.maxsize


def _listed(values: Any, name: str) -> Sequence[Any]:
    """Return a list, which a text is not.

    Raises:
        InvalidInput: It is none.
    """
    if not isinstance(values, Sequence) or isinstance(values, str | bytes):
        raise InvalidInput(f"invalid {name} {reprlib.repr(values)}: give a list")
    return values


def _condition(condition: object) -> MatchCondition:
    if not isinstance(condition, MatchCondition):
        raise InvalidInput(f"invalid condition {reprlib.repr(condition)}: give a MatchCondition")
    if condition.match_type not in ("prefix", "suffix"):
        raise InvalidInput(f"Unsupported match type: {condition.match_type!r}; choose 'prefix' or 'suffix'")
    return MatchCondition(condition.match_type, _labels(condition.path))


def _labels(namespace: Any) -> tuple[str, ...]:
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


def run(items: ItemStore, plan: Plan, vectors: BatchVectors, now: datetime, *, omit_expired: bool) -> list[Result]:
    """Run a batch as one: no other batch of this process comes between.

    Args:
        items: The items of the store.
        plan: The batch.
        vectors: Those of its texts and queries; a query without one is ignored.
        now: The moment of the batch, with its time zone.
        omit_expired: Whether expired items that have not been swept are left out.

    Returns:
        The result of each operation, in their order.
    """
    with items.lock:
        reads = _Reads(items, vectors.queries, now, now.timestamp() if omit_expired else NEVER)
        results = reads.results(plan)
        items.refresh(reads.touched, now.timestamp())
        if plan.writes:
            items.write(plan.puts(vectors), now)
        return results


@dataclass
class _Reads:
    """The reads of one batch."""

    items: ItemStore
    queries: Mapping[str, Vectors]
    now: datetime
    hidden_until: float
    """Seconds since 1970; an item that expires by then is left out."""
    touched: list[StoredItem] = field(default_factory=list)
    """Items that were read and whose time to live restarts."""

    def results(self, plan: Plan) -> list[Result]:
        """Return the result of each operation; None for a write."""
        found = self.items.get((op.namespace, op.key) for op in plan.ops if isinstance(op, GetOp))
        results: list[Result] = []
        for op in plan.ops:
            match op:
                case GetOp():
                    results.append(self._get(op, found))
                case SearchOp():
                    results.append(self._search(op))
                case ListNamespacesOp():
                    results.append(self._list(op))
                case _:
                    results.append(None)
        return results

    def _get(self, op: GetOp, found: Mapping[Address, StoredItem]) -> Item | None:
        item = found.get((op.namespace, op.key))
        if item is None or self._hidden(item):
            return None
        if op.refresh_ttl:
            self.touched.append(item)
        return item.as_item()

    def _search(self, op: SearchOp) -> list[SearchItem]:
        indexes = self.items.indexes(op.namespace_prefix)
        query = self.queries.get(op.query or "")
        ordered = _newest(indexes) if query is None else _ranked(indexes, query)
        passing = (
            (item, score)
            for item, score in ordered
            if not self._hidden(item) and (not op.filter or passes(item.value, op.filter))
        )
        hits = list(islice(passing, op.offset, op.offset + op.limit))
        if op.refresh_ttl:
            self.touched += [item for item, _ in hits]
        return [item.as_search_item(score) for item, score in hits]

    def _list(self, op: ListNamespacesOp) -> list[Namespace]:
        if self.hidden_until > NEVER:
            self.items.sweep(self.now)
        conditions = op.match_conditions or ()
        found = (
            namespace
            for namespace in self.items.namespaces()
            if all(_matches(namespace, condition) for condition in conditions)
        )
        distinct = sorted({namespace[: op.max_depth] for namespace in found})  # None takes all of it
        return distinct[op.offset : op.offset + op.limit]

    def _hidden(self, item: StoredItem) -> bool:
        return item.expires_at is not None and item.expires_at <= self.hidden_until


def _newest(indexes: Sequence[NamespaceIndex]) -> Iterator[tuple[StoredItem, None]]:
    """Order items by their last update, the newest first; those of one batch backwards."""
    items = sorted((item for index in indexes for item in index), key=attrgetter("updated_at"))
    return ((item, None) for item in reversed(items))


def _ranked(indexes: Sequence[NamespaceIndex], query: Vectors) -> Iterator[tuple[StoredItem, float | None]]:
    """Rank items by the cosine of their best vector, in -1..1; equal scores by age, items without a vector last.

    Args:
        indexes: The items.
        query: A vector of length 1, of shape (dimensions,).
    """
    if not indexes:
        return
    scored = [index.scores(query) for index in indexes]
    slots = np.concatenate([slots for slots, _ in scored])
    scores = np.concatenate([scores for _, scores in scored])
    owners = np.repeat(np.arange(len(indexes)), [len(slots) for slots, _ in scored])
    for row in np.argsort(-scores, kind="stable"):
        yield indexes[owners[row]].at(slots[row]), float(scores[row])
    for item in chain.from_iterable(index.unscored() for index in indexes):
        yield item, None


def _matches(namespace: Namespace, condition: MatchCondition) -> bool:
    """Return whether a namespace begins or ends as a condition says; `*` stands for any one label."""
    path: Iterable[str] = condition.path
    size = len(condition.path)
    if len(namespace) < size:
        return False
    end = namespace[:size] if condition.match_type == "prefix" else namespace[len(namespace) - size :]
    return all(wanted in ("*", label) for wanted, label in zip(path, end, strict=True))
