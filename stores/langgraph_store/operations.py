"""Check a batch of LangGraph's operations whole, before anything is read or written, and say what must become vectors.

Of several writes to one address the last one counts. This module does not know what stands in the store.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, islice
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


@dataclass(frozen=True)
class Write:
    """A write that has been checked."""

    address: Address
    text: str | None
    """The value as JSON; None where the item is to go."""
    found_by: tuple[str, ...]
    """The texts whose vectors it is found by."""
    ttl: float | None


@dataclass(frozen=True)
class BatchVectors:
    """The vectors of texts, by text, each of shape (dimensions,) and length 1."""

    texts: Mapping[str, Vectors]
    queries: Mapping[str, Vectors]

    def of(self, texts: Sequence[str]) -> Vectors:
        """Give the vectors of texts, of shape (len(texts), dimensions)."""
        return np.stack([self.texts[text] for text in texts])


@dataclass(frozen=True)
class Plan:
    """A batch that has been checked."""

    ops: tuple[Op, ...]
    writes: tuple[Write, ...]

    @property
    def texts(self) -> list[str]:
        """Give the texts to be encoded as they are kept, each once."""
        return list(dict.fromkeys(text for write in self.writes for text in write.found_by))

    @property
    def queries(self) -> list[str]:
        """Give the texts to be encoded as they are asked, each once."""
        return list(dict.fromkeys(op.query for op in self.ops if isinstance(op, SearchOp) and op.query))

    def puts(self, meanings: BatchVectors) -> list[Put]:
        """Give what is to be written, with its vectors."""
        return [
            Put(write.address, write.text, meanings.of(write.found_by) if write.found_by else None, write.ttl)
            for write in self.writes
        ]


def plan(ops: Iterable[Op], fields: Sequence[str] | None) -> Plan:
    """Check a batch.

    Args:
        ops: LangGraph's operations.
        fields: Paths to the texts that items are found by unless a put names its own; None where nothing is indexed.

    Raises:
        InvalidNamespaceError: A label of a namespace is no text, empty, or holds a period or a zero byte.
        InvalidInput: Something else about an operation means nothing.
    """
    checked = tuple(map(_checked, ops))
    last = {(op.namespace, op.key): op for op in checked if isinstance(op, PutOp)}
    return Plan(checked, tuple(_write(op, fields) for op in last.values()))


def _write(op: PutOp, fields: Sequence[str] | None) -> Write:
    address = op.namespace, op.key
    if op.value is None:
        return Write(address, None, (), None)
    text = value_as_text(op.value)
    paths = () if fields is None or op.index is False else fields if op.index is None else op.index
    value = value_from_text(text) if paths else {}
    found_by = dict.fromkeys(one for path in paths for one in get_text_at_path(value, path))
    return Write(address, text, tuple(found_by), op.ttl)


def _checked(op: Op) -> Op:
    """Give an operation with tuples for namespaces and text for keys."""
    match op:
        case GetOp():
            return op._replace(namespace=_labels(op.namespace), key=str(op.key))
        case PutOp():
            _check_put(op)
            return op._replace(namespace=_labels(op.namespace), key=str(op.key))
        case SearchOp():
            _check_window(op.limit, op.offset)
            return op._replace(namespace_prefix=_labels(op.namespace_prefix), filter=checked_filter(op.filter))
        case ListNamespacesOp():
            _check_window(op.limit, op.offset)
            return op._replace(match_conditions=tuple(map(_condition, op.match_conditions or ())))
    raise InvalidInput(f"no operation of a store: {op!r}; give GetOp, PutOp, SearchOp or ListNamespacesOp")


def _check_put(op: PutOp) -> None:
    if op.ttl is not None and (isinstance(op.ttl, bool) or not isinstance(op.ttl, int | float)):
        raise InvalidInput(f"no time to live: {op.ttl!r}; give minutes, or None for ever")
    if op.index not in (None, False) and not isinstance(op.index, list | tuple):
        raise InvalidInput(f"no index of an item: {op.index!r}; give paths such as ['title'], False or None")


def _check_window(limit: int, offset: int) -> None:
    if limit < 0 or offset < 0:
        raise InvalidInput(f"limit {limit!r} and offset {offset!r}: give numbers of 0 or above")


def _condition(condition: MatchCondition) -> MatchCondition:
    if condition.match_type not in ("prefix", "suffix"):
        raise InvalidInput(f"Unsupported match type: {condition.match_type!r}; choose 'prefix' or 'suffix'")
    return MatchCondition(condition.match_type, _labels(condition.path))


def _labels(namespace: Any) -> tuple[str, ...]:
    """Give a namespace as a tuple, by the rules of LangGraph's own stores."""
    labels = tuple(namespace)
    for label in labels:
        if not isinstance(label, str) or not label or "." in label or "\x00" in label:
            raise InvalidNamespaceError(
                f"Invalid namespace label {label!r} found in {labels}: give text that is not empty and holds neither "
                f"a period nor a zero byte"
            )
    return labels


NEVER = float("-inf")


def run(items: ItemStore, plan: Plan, meanings: BatchVectors, now: datetime, *, omit_expired: bool) -> list[Result]:
    """Run a batch, as one: no other batch of this process comes between.

    Args:
        items: What the batch is about.
        plan: The batch.
        meanings: The vectors of its texts and queries; a query without one is passed over.
        now: The moment of the batch, with its time zone.
        omit_expired: Whether items whose time is over are passed over, though they have not been swept.

    Returns:
        What each operation gives, in their order.
    """
    with items.lock:
        reading = Reading(items, meanings.queries, now, now.timestamp() if omit_expired else NEVER)
        results = reading.answers(plan)
        items.refresh(reading.touched, now.timestamp())
        if plan.writes:
            items.write(plan.puts(meanings), now)
        return results


@dataclass
class Reading:
    """The reads of one batch."""

    items: ItemStore
    queries: Mapping[str, Vectors]
    now: datetime
    gone_at: float
    """Seconds since 1970 before which an item has to expire in order to be passed over."""
    touched: list[StoredItem] = field(default_factory=list)
    """Items that were read and are to live anew."""

    def answers(self, plan: Plan) -> list[Result]:
        """Give what each operation gives."""
        found = self.items.find((op.namespace, op.key) for op in plan.ops if isinstance(op, GetOp))
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
        shelves = self.items.shelves(op.namespace_prefix)
        query = self.queries.get(op.query or "")
        ordered = ((item, None) for shelf in shelves for item in shelf) if query is None else ranked(shelves, query)
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
        if self.gone_at > NEVER:
            self.items.sweep(self.now)
        conditions = op.match_conditions or ()
        found = (one for one in self.items.namespaces() if all(matches(one, each) for each in conditions))
        names = sorted({one[: op.max_depth] for one in found})  # None takes all of it
        return names[op.offset : op.offset + op.limit]

    def _hidden(self, item: StoredItem) -> bool:
        return item.expires_at is not None and item.expires_at <= self.gone_at


def ranked(shelves: Sequence[NamespaceIndex], query: Vectors) -> Iterator[tuple[StoredItem, float | None]]:
    """Give items by meaning: best score first, those first put first where scores are equal; last those without one.

    Args:
        shelves: Where the items stand.
        query: A vector of length 1, of shape (dimensions,).

    Returns:
        Each item with its score, the cosine of its best vector, in -1..1; None where it has no vector.
    """
    if not shelves:
        return
    scored = [shelf.scores(query) for shelf in shelves]
    slots = np.concatenate([slots for slots, _ in scored])
    scores = np.concatenate([scores for _, scores in scored])
    owners = np.repeat(np.arange(len(shelves)), [len(slots) for slots, _ in scored])
    for place in np.argsort(-scores, kind="stable"):
        yield shelves[owners[place]].at(slots[place]), float(scores[place])
    for item in chain.from_iterable(shelf.unscored() for shelf in shelves):
        yield item, None


def matches(namespace: Namespace, condition: MatchCondition) -> bool:
    """Say whether a namespace begins or ends as a condition says; `*` stands for any one label."""
    path: Iterable[str] = condition.path
    size = len(condition.path)
    if len(namespace) < size:
        return False
    end = namespace[:size] if condition.match_type == "prefix" else namespace[len(namespace) - size :]
    return all(wanted in ("*", label) for wanted, label in zip(path, end, strict=True))
