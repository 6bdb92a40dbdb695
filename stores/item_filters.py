"""Say whether a value passes a filter of LangGraph's store: plain equality, and `$eq $ne $gt $gte $lt $lte`.

Values compare as JSON does: a boolean is no number, 1 is 1.0, lists and mappings go by their members. A key that a
value does not have reads as null, and null is neither above nor below anything. A key of a filter that has dots and is
no key of the value is a path into it.
"""

import operator
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from langgraph_engram.errors import InvalidInput

Filter: TypeAlias = Mapping[str, Any]

ORDERINGS: dict[str, Callable[[Any, Any], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
OPERATORS = ("$eq", "$ne", *ORDERINGS)


def check_filter(wanted: Filter | None) -> None:
    """Refuse a filter that means nothing, before anything is read.

    Raises:
        InvalidInput: It is no mapping, or names an operator that there is not.
    """
    if wanted is None:
        return
    if not isinstance(wanted, Mapping):
        raise InvalidInput(f"no filter: {wanted!r}; give a mapping such as {{'kind': 'note', 'score': {{'$gt': 3}}}}")
    for inner in wanted.values():
        if isinstance(inner, Mapping):
            _check_inner(inner)


def _check_inner(wanted: Filter) -> None:
    if not any(str(name).startswith("$") for name in wanted):
        check_filter(wanted)
    elif unknown := [name for name in wanted if name not in OPERATORS]:
        raise InvalidInput(f"Unsupported operator: {unknown[0]!r}; choose {', '.join(OPERATORS)}")


def passes(value: Mapping[str, Any], wanted: Filter | None) -> bool:
    """Say whether a value has everything that a checked filter asks for."""
    return all(_agrees(_at(value, name), inner) for name, inner in (wanted or {}).items())


def _at(value: Mapping[str, Any], name: str) -> object:
    if name in value or "." not in name:
        return value.get(name)
    inner: object = value
    for step in name.split("."):
        inner = inner.get(step) if isinstance(inner, Mapping) else None
    return inner


def _agrees(value: object, wanted: object) -> bool:
    if isinstance(wanted, Mapping):
        if any(str(name).startswith("$") for name in wanted):
            return all(_holds(value, name, operand) for name, operand in wanted.items())
        return isinstance(value, Mapping) and passes(value, wanted)
    if isinstance(wanted, list | tuple):
        return isinstance(value, list) and len(value) == len(wanted) and all(map(_agrees, value, wanted))
    return _equal(value, wanted)


def _holds(value: object, name: str, operand: object) -> bool:
    if name == "$eq":
        return _equal(value, operand)
    if name == "$ne":
        return not _equal(value, operand)
    pair = _as_numbers(value, operand)
    if pair is None and isinstance(value, str) and isinstance(operand, str):
        return ORDERINGS[name](value, operand)
    return pair is not None and ORDERINGS[name](*pair)


def _equal(value: object, wanted: object) -> bool:
    if isinstance(value, bool) or isinstance(wanted, bool):
        return value is wanted
    if isinstance(wanted, Mapping):
        return (
            isinstance(value, Mapping)
            and value.keys() == wanted.keys()
            and all(_equal(value[name], inner) for name, inner in wanted.items())
        )
    if isinstance(wanted, list | tuple):
        return isinstance(value, list) and len(value) == len(wanted) and all(map(_equal, value, wanted))
    return value == wanted


def _as_numbers(value: object, operand: object) -> tuple[float, float] | None:
    """Read both sides as numbers where both are: "10" is one, as in LangGraph's own stores."""
    if not isinstance(value, int | float | str) or not isinstance(operand, int | float | str):
        return None
    try:
        return float(value), float(operand)
    except (ValueError, OverflowError):
        return None
