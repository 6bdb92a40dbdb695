"""Check the operations of a batch before anything is read or written, and find what they ask for."""

import json
import reprlib
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

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

from langgraph_engram.errors import InvalidInput
from langgraph_engram.stores.langgraph_store.filters import checked_filter
from langgraph_engram.stores.langgraph_store.items import Address, Namespace

MOST_MINUTES = 1e9
"""A longer time to live is a mistake: 1,900 years."""


@dataclass(frozen=True)
class Write:
    """A write that has been checked."""

    address: Address
    text: str | None
    """The value as JSON; None to remove the item."""
    indexed_texts: tuple[str, ...] = ()
    """The texts that it is found by."""
    ttl: float | None = None
    """Minutes to live; None for never to expire."""


@dataclass(frozen=True)
class CheckedBatch:
    """A batch that has been checked."""

    ops: tuple[Op, ...]
    writes: tuple[Write, ...]
    """To distinct addresses."""

    @cached_property
    def texts(self) -> list[str]:
        """Return the texts to be embedded as documents, each once."""
        return list(dict.fromkeys(text for write in self.writes for text in write.indexed_texts))

    @cached_property
    def queries(self) -> list[str]:
        """Return the texts to be embedded as queries, each once."""
        return list(dict.fromkeys(op.query for op in self.ops if isinstance(op, SearchOp) and op.query))


def checked_batch(ops: Iterable[Op], fields: Sequence[str] | None) -> CheckedBatch:
    """Check a batch. Of several writes to one address the last one counts."""
    checked = tuple(map(_checked, ops))
    last = {(op.namespace, op.key): op for op in checked if isinstance(op, PutOp)}
    return CheckedBatch(checked, tuple(_write(op, fields) for op in last.values()))


def matches(namespace: Namespace, condition: MatchCondition) -> bool:
    """Return whether a namespace begins or ends as a condition says; `*` stands for any one label."""
    size = len(condition.path)
    end = namespace[:size] if condition.match_type == "prefix" else namespace[max(0, len(namespace) - size) :]
    return len(end) == size and all(wanted in ("*", label) for wanted, label in zip(condition.path, end, strict=True))


def _write(op: PutOp, fields: Sequence[str] | None) -> Write:
    address = op.namespace, op.key
    if op.value is None:
        return Write(address, None)
    text = _as_json(op.value)
    paths = () if fields is None or op.index is False else fields if op.index is None else op.index
    value = json.loads(text) if paths else {}
    indexed_texts = dict.fromkeys(found for path in paths for found in get_text_at_path(value, path))
    return Write(address, text, tuple(indexed_texts), op.ttl)


def _as_json(value: object) -> str:
    if not isinstance(value, Mapping):
        raise InvalidInput(f"invalid value of an item {reprlib.repr(value)}: give a mapping with text keys")
    try:
        return json.dumps(dict(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(
            f"a value that cannot be JSON: {error}; give text, numbers, booleans, lists, mappings"
        ) from error


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
            return op._replace(match_conditions=_conditions(op.match_conditions or ()))
    raise InvalidInput(f"invalid operation {reprlib.repr(op)}: give GetOp, PutOp, SearchOp or ListNamespacesOp")


def _check_put(op: PutOp) -> None:
    if op.ttl is not None and (
        isinstance(op.ttl, bool) or not isinstance(op.ttl, int | float) or not abs(op.ttl) <= MOST_MINUTES
    ):
        raise InvalidInput(f"invalid ttl {reprlib.repr(op.ttl)}: give minutes, or None to keep the item")
    paths = () if op.index is None or op.index is False else op.index
    if not isinstance(paths, list | tuple) or not all(isinstance(path, str) for path in paths):
        raise InvalidInput(f"invalid index {reprlib.repr(op.index)}: give paths such as ['title'], False or None")


def _check_window(limit: object, offset: object) -> None:
    if not _is_count(limit) or not _is_count(offset):
        raise InvalidInput(
            f"limit {reprlib.repr(limit)} and offset {reprlib.repr(offset)}: give whole numbers of 0 or above"
        )


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= sys.maxsize


def _conditions(conditions: Any) -> tuple[MatchCondition, ...]:
    if not isinstance(conditions, Sequence) or isinstance(conditions, str | bytes):
        raise InvalidInput(f"invalid conditions {reprlib.repr(conditions)}: give a list")
    return tuple(map(_condition, conditions))


def _condition(condition: object) -> MatchCondition:
    if not isinstance(condition, MatchCondition):
        raise InvalidInput(f"invalid condition {reprlib.repr(condition)}: give a MatchCondition")
    if condition.match_type not in ("prefix", "suffix"):
        raise InvalidInput(f"Unsupported match type: {condition.match_type!r}; choose 'prefix' or 'suffix'")
    return MatchCondition(condition.match_type, _labels(condition.path))


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
