"""Check a batch of LangGraph's operations whole, before anything is read or written, and say what must become vectors.

Of several writes to one address the last one counts. This module does not know what stands in the store.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    SearchOp,
    get_text_at_path,
)

from langgraph_engram.encoder import Vectors
from langgraph_engram.errors import InvalidInput
from langgraph_engram.stores.item_filters import checked_filter
from langgraph_engram.stores.item_store import Put
from langgraph_engram.stores.items import Address, value_as_text, value_from_text


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
class Meanings:
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

    def puts(self, meanings: Meanings) -> list[Put]:
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
