"""Say whether a value passes a filter of LangGraph's store: plain equality, and `$eq $ne $gt $gte $lt $lte`.

Values compare as JSON does: a boolean equals no number, 1 is 1.0, lists and mappings go by their members. A key that a
value does not have reads as null, and null is neither above nor below anything. Texts that are both numbers compare as
such, other texts by their letters. A key of a filter that has dots and is no key of the value is a path into it.
"""

import operator
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
"""What may be above or below something, booleans among it."""


def checked_filter(wanted: Mapping[str, Any] | None) -> Filter | None:
    """Refuse a filter that means nothing, before anything is read, and give a copy made of dicts and lists.

    Raises:
        InvalidInput: It is no mapping, or names an operator that there is not.
    """
    if wanted is None:
        return None
    if not isinstance(wanted, Mapping):
        raise InvalidInput(f"no filter: {wanted!r}; give a mapping such as {{'kind': 'note', 'score': {{'$gt': 3}}}}")
    return {name: _plain(inner) for name, inner in wanted.items()}


def passes(value: dict[str, Any], wanted: Filter) -> bool:
    """Say whether a value has everything that a checked filter asks for."""
    for name, inner in wanted.items():  # a loop: it runs for every item of a search
        found = value[name] if name in value else _at(value, name)
        if not _agrees(found, inner):
            return False
    return True


def _plain(wanted: object) -> object:
    if isinstance(wanted, Mapping):
        if any(str(name).startswith("$") for name in wanted):
            if unknown := [name for name in wanted if name not in OPERATORS]:
                raise InvalidInput(f"Unsupported operator: {unknown[0]!r}; choose {', '.join(OPERATORS)}")
            return {name: _plain_operand(operand) for name, operand in wanted.items()}
        return checked_filter(wanted)
    return _plain_operand(wanted) if not isinstance(wanted, list | tuple) else [_plain(one) for one in wanted]


def _plain_operand(operand: object) -> object:
    if isinstance(operand, Mapping):
        return {name: _plain_operand(inner) for name, inner in operand.items()}
    return [_plain_operand(one) for one in operand] if isinstance(operand, list | tuple) else operand


def _at(value: dict[str, Any], name: str) -> object:
    if "." not in name:
        return None
    inner: object = value
    for step in name.split("."):
        inner = inner.get(step) if isinstance(inner, dict) else None
    return inner


def _agrees(value: object, wanted: object) -> bool:
    if isinstance(wanted, dict):
        if any(name in wanted for name in OPERATORS):
            return all(_holds(value, name, operand) for name, operand in wanted.items())
        return isinstance(value, dict) and passes(value, wanted)
    if isinstance(wanted, list):
        return isinstance(value, list) and len(value) == len(wanted) and all(map(_agrees, value, wanted))
    return _equal(value, wanted)


def _holds(value: object, name: str, operand: object) -> bool:
    if name == "$eq":
        return _equal(value, operand)
    if name == "$ne":
        return not _equal(value, operand)
    if not isinstance(value, ORDERED) or not isinstance(operand, ORDERED):
        return False
    if not isinstance(value, str) and not isinstance(operand, str):
        return ORDERINGS[name](value, operand)
    pair = _as_numbers(value, operand)
    if pair is not None:
        return ORDERINGS[name](*pair)
    return type(value) is type(operand) and ORDERINGS[name](value, operand)


def _equal(value: object, wanted: object) -> bool:
    if isinstance(value, bool) or isinstance(wanted, bool):
        return value is wanted
    if isinstance(wanted, dict):
        if not isinstance(value, dict) or value.keys() != wanted.keys():
            return False
        return all(_equal(value[name], inner) for name, inner in wanted.items())
    if isinstance(wanted, list):
        return isinstance(value, list) and len(value) == len(wanted) and all(map(_equal, value, wanted))
    return value == wanted


def _as_numbers(value: float | str, operand: float | str) -> tuple[float, float] | None:
    """Read both sides as numbers where both are: "10" is one, as in LangGraph's own stores."""
    try:
        return float(value), float(operand)
    except (ValueError, OverflowError):
        return None
