"""Check the operations of a batch before anything is done, and decide what passes the conditions of a read.

Filters mean what they mean to LangGraph's stores over databases, and values compare as JSON does.
"""

import json
import reprlib
import sys
from collections.abc import Mapping, Sequence
from typing import Any, cast

from langgraph.store.base import GetOp, InvalidNamespaceError, ListNamespacesOp, MatchCondition, Op, PutOp, SearchOp

from langgraph_engram.errors import InvalidInput
from langgraph_engram.filters import ORDERED
from langgraph_engram.stores.langgraph_store.items import Namespace

OPERATORS = ("$eq", "$ne", *ORDERED)
WITH_ORDER = (int, float, str)
"""The types that have an order; a boolean is an int."""


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
            _check_counts(limit=op.limit, offset=op.offset, max_depth=op.max_depth or 0)
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
