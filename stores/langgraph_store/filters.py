"""Decide which values pass the filter of a search, as LangGraph's stores over databases do."""

import operator
import reprlib
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from langgraph_engram.errors import InvalidInput

Filter: TypeAlias = dict[str, Any]
ORDERINGS: dict[str, Callable[[Any, Any], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
OPERATORS = ("$eq", "$ne", *ORDERINGS)
ORDERED = (int, float, str)
"""The types that have an order; a boolean is an int."""


def checked_filter(wanted: Mapping[str, Any] | None) -> Filter | None:
    """Validate a filter, and return a copy made of dicts and lists."""
    if wanted is None:
        return None
    if not isinstance(wanted, Mapping):
        raise InvalidInput(
            f"invalid filter {reprlib.repr(wanted)}: give a mapping such as {{'kind': 'note', 'score': {{'$gt': 3}}}}"
        )
    if odd := [name for name in wanted if not isinstance(name, str) or not name or name.startswith("$")]:
        raise InvalidInput(
            f"invalid filter key {reprlib.repr(odd[0])}: give the name of a field, and operators below it"
        )
    return {name: _checked_condition(condition) for name, condition in wanted.items()}


def passes(value: dict[str, Any], wanted: Filter) -> bool:
    """Return whether a value passes a checked filter."""
    return all(
        _meets(value[name] if name in value else _at(value, name), condition) for name, condition in wanted.items()
    )


def _checked_condition(condition: object) -> object:
    if isinstance(condition, list | tuple):
        return [_checked_condition(element) for element in condition]
    if not isinstance(condition, Mapping):
        return condition
    if not any(str(name).startswith("$") for name in condition):
        return checked_filter(condition)
    if unknown := [name for name in condition if name not in OPERATORS]:
        raise InvalidInput(f"Unsupported operator: {reprlib.repr(unknown[0])}; choose {', '.join(OPERATORS)}")
    return {name: _plain(operand) for name, operand in condition.items()}


def _plain(operand: object) -> object:
    if isinstance(operand, Mapping):
        return {name: _plain(inner) for name, inner in operand.items()}
    return [_plain(element) for element in operand] if isinstance(operand, list | tuple) else operand


def _at(value: dict[str, Any], path: str) -> object:
    """Return what stands at a path of keys with dots between them, or None."""
    inner: object = value
    for step in path.split("."):
        inner = inner.get(step) if isinstance(inner, dict) else None
    return inner


def _meets(value: object, condition: object) -> bool:
    if isinstance(condition, dict):
        if any(name in condition for name in OPERATORS):
            return all(_holds(value, name, operand) for name, operand in condition.items())
        return isinstance(value, dict) and passes(value, condition)
    if isinstance(condition, list):
        return isinstance(value, list) and len(value) == len(condition) and all(map(_meets, value, condition))
    return _equal(value, condition)


def _holds(value: object, name: str, operand: object) -> bool:
    if name == "$eq":
        return _equal(value, operand)
    if name == "$ne":
        return not _equal(value, operand)
    if not isinstance(value, ORDERED) or not isinstance(operand, ORDERED):
        return False
    if not isinstance(value, str) and not isinstance(operand, str):
        return ORDERINGS[name](value, operand)
    if numbers := _as_numbers(value, operand):
        return ORDERINGS[name](*numbers)
    return type(value) is type(operand) and ORDERINGS[name](value, operand)


def _equal(value: object, wanted: object) -> bool:
    """Compare as JSON does, where true is not 1."""
    if isinstance(value, bool) or isinstance(wanted, bool):
        return value is wanted
    if isinstance(value, dict) and isinstance(wanted, dict):
        return value.keys() == wanted.keys() and all(_equal(value[name], inner) for name, inner in wanted.items())
    if isinstance(value, list) and isinstance(wanted, list):
        return len(value) == len(wanted) and all(map(_equal, value, wanted))
    return value == wanted


def _as_numbers(value: float | str, operand: float | str) -> tuple[float, float] | None:
    """Read both sides as numbers where both are: "10" is a number, as in LangGraph's own stores."""
    try:
        return float(value), float(operand)
    except (ValueError, OverflowError):
        return None
