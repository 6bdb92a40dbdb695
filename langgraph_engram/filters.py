"""Filter what is stored by its fields, and by the metadata that it was written with.

{"session": "s1", "day": {"$gte": "2023-05-01", "$lt": "2023-06-01"}, "metadata.project": {"$in": ["atlas", "boreal"]}}

All conditions have to hold, and a value alone means "$eq". The operators are those of Chroma's and LangGraph's stores.
What lacks a value fulfils "$ne" and "$nin" alone, as in Chroma.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from math import isfinite
from operator import ge, gt, le, lt
from reprlib import repr as short
from typing import Any, get_args

from langgraph_engram.errors import InvalidInput
from langgraph_engram.schema import (
    Boundary,
    Event,
    Frozen,
    Lasting,
    MemoryType,
    Metadata,
    RecordKind,
    RecordStatus,
    Scalar,
    Synthesis,
    Turn,
)

Filters = dict[str, Scalar | list[Scalar] | dict[str, Scalar | list[Scalar]]]
"""Conditions by key: a value, or values by operator."""
METADATA = "metadata."
ITEM_KINDS: dict[type[Frozen], str] = {Turn: "turn", Event: "event", Boundary: "boundary", Synthesis: "synthesis"}
"""What is of a kind other than those of records."""
DAY_FIELDS = ("mentioned_at", "said_at", "started_at", "at", "window_start")
CHOICES: dict[str, tuple[str, ...]] = {
    "kind": (*get_args(RecordKind), *ITEM_KINDS.values()),
    "type": get_args(MemoryType),
    "lasting": get_args(Lasting),
    "status": (*get_args(RecordStatus), "open", "closed", "stale"),
}
"""The values of the keys that have few."""
FIELDS: dict[str, Callable[[Any], str | None]] = {
    "kind": lambda item: ITEM_KINDS.get(type(item)) or item.kind,
    "type": lambda item: getattr(item, "memory_type", None),
    "lasting": lambda item: getattr(item, "lasting", None),
    "status": lambda item: getattr(item, "status", None),
    "session": lambda item: getattr(item, "session_id", None),
    "speaker": lambda item: getattr(item, "speaker", None),
    "location": lambda item: getattr(item, "location", None),
    "day": lambda item: _day_of(item),
}
"""The value of an item by key; None or empty for none."""
ORDERED: dict[str, Callable[[Any, Any], bool]] = {"$gt": gt, "$gte": ge, "$lt": lt, "$lte": le}
OPERATORS = ("$eq", "$ne", "$in", "$nin", *ORDERED)
MOST_KEYS, MOST_KEY_CHARACTERS, MOST_VALUE_CHARACTERS = 32, 64, 1_000
PARSED: Callable[[str], Metadata] = lru_cache(maxsize=65_536)(json.loads)


@dataclass(frozen=True)
class Condition:
    """One condition on the items of a kind."""

    key: str
    operator: str
    value: Any
    """A scalar, or a list of scalars under "$in" and "$nin"."""

    @property
    def column(self) -> str:
        """The name of the column that holds what `text_of` returns."""
        return f"filter.{METADATA.rstrip('.') if self.key.startswith(METADATA) else self.key}"

    def text_of(self, item: Any) -> str:
        """Return what the condition is about as text, the same for items with the same value; empty for none."""
        if self.key.startswith(METADATA):
            metadata = getattr(item, "metadata", None)
            return json.dumps(metadata, sort_keys=True) if metadata else ""
        return FIELDS[self.key](item) or ""

    def accepts(self, text: str) -> bool:
        """Return whether items with this text fulfil the condition."""
        known: Scalar | None = text or None
        if self.key.startswith(METADATA):
            known = PARSED(text).get(self.key.removeprefix(METADATA)) if text else None
        if self.operator in ORDERED:
            return _sort(known) == _sort(self.value) and ORDERED[self.operator](known, self.value)
        values = self.value if isinstance(self.value, list) else [self.value]
        is_among = any(_sort(known) == _sort(value) and known == value for value in values)
        return is_among if self.operator in ("$eq", "$in") else not is_among


def check_filters(filters: object) -> Filters | None:
    """Return filters with a value by operator for each key; None for none."""
    if filters is None:
        return None
    if not isinstance(filters, Mapping):
        raise InvalidInput(f'filters is {short(filters)}: pass a dict, such as {{"session": "s1"}}')
    wanted = {key: value if isinstance(value, Mapping) else {"$eq": value} for key, value in filters.items()}
    if empty := next((key for key, values in wanted.items() if not values), None):
        raise InvalidInput(f"the filter {short(empty)} names no operator: use {', '.join(OPERATORS)}, or a value")
    return {
        key: {operator: _checked(key, operator, value) for operator, value in values.items()}
        for key, values in wanted.items()
    } or None


def conditions_of(filters: Filters | None) -> list[Condition]:
    """Return the conditions of filters that were checked; none for None."""
    return [
        Condition(key, operator, value)
        for key, values in (filters or {}).items()
        for operator, value in (values if isinstance(values, dict) else {"$eq": values}).items()
    ]


def both(fixed: Filters | None, asked: Filters | None) -> Filters | None:
    """Return filters that hold where both do."""
    joined: dict[str, dict[str, Any]] = {}
    for condition in (*conditions_of(check_filters(fixed)), *conditions_of(check_filters(asked))):
        known = joined.setdefault(condition.key, {})
        if known.setdefault(condition.operator, condition.value) != condition.value:
            raise InvalidInput(f"the filter {condition.key!r} is fixed: leave it out")
    return {**joined} or None


def check_limit(limit: object) -> None:
    """Refuse a limit that is neither None nor a whole number of at least 1."""
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        raise InvalidInput(f"the limit is {short(limit)}: give a whole number, at least 1, or leave it out")


def check_metadata(metadata: object) -> Metadata:
    """Return the metadata of a call; empty for None."""
    if metadata is None:
        return {}
    if not isinstance(metadata, Mapping):
        raise InvalidInput(f'metadata is {short(metadata)}: pass a flat dict, such as {{"project": "atlas"}}')
    if len(metadata) > MOST_KEYS:
        raise InvalidInput(f"metadata has {len(metadata)} keys: give {MOST_KEYS} at most")
    for key, value in metadata.items():
        if not isinstance(key, str) or not 0 < len(key) <= MOST_KEY_CHARACTERS or not is_text(key):
            raise InvalidInput(f"the metadata key {short(key)} is no text of 1 to {MOST_KEY_CHARACTERS} characters")
        _check_scalar(f"metadata[{key!r}]", value)
    return dict(metadata)


def join_metadata(parts: Iterable[Metadata]) -> Metadata:
    """Return the metadata of what several things were made into: of a key that differs, the last value."""
    return {key: value for part in parts for key, value in part.items()}


def _checked(key: object, operator: object, value: object) -> Any:
    if not isinstance(key, str) or not (key in FIELDS or (key.startswith(METADATA) and key != METADATA)):
        raise InvalidInput(f"unknown filter key {short(key)}: use {', '.join(FIELDS)}, or {METADATA}NAME")
    if operator not in OPERATORS:
        raise InvalidInput(f"unknown operator {short(operator)} of the filter {key!r}: use {', '.join(OPERATORS)}")
    if operator in ("$in", "$nin"):
        if not isinstance(value, list | tuple | set | frozenset):
            raise InvalidInput(f"the filter {key!r} has {short(value)} under {operator!r}: give a list of values")
        return [_checked_value(key, member) for member in value]
    return _checked_value(key, value)


def _checked_value(key: str, value: object) -> Scalar:
    if key == "day":
        return _checked_day(value)
    if key.startswith(METADATA):
        return _check_scalar(f"the filter {key!r}", value)
    if not isinstance(value, str):
        raise InvalidInput(f"the filter {key!r} is {short(value)}: give a string")
    if value not in CHOICES.get(key, (value,)):
        raise InvalidInput(f"the filter {key!r} is {short(value)}: choose among {', '.join(CHOICES[key])}")
    return value


def _checked_day(value: object) -> str:
    if isinstance(value, date):
        return (value.date() if isinstance(value, datetime) else value).isoformat()
    try:
        return date.fromisoformat(str(value).strip() if isinstance(value, str) else "").isoformat()
    except ValueError:
        raise InvalidInput(f"the filter 'day' is {short(value)}: give a day as ISO 8601 (2023-05-07)") from None


def _check_scalar(what: str, value: object) -> Scalar:
    if isinstance(value, str) and len(value) <= MOST_VALUE_CHARACTERS and is_text(value):
        return value
    if (isinstance(value, int) and abs(value) < 2**63) or (isinstance(value, float) and isfinite(value)):
        return value
    raise InvalidInput(
        f"{what} is {short(value)}: give a text of at most {MOST_VALUE_CHARACTERS:,} characters, a number or a boolean"
    )


def is_text(value: str) -> bool:
    """Return whether a store can hold a text: no lone surrogate, no NUL."""
    return "\x00" not in value and not any("\ud800" <= character <= "\udfff" for character in value)


def _day_of(item: object) -> str | None:
    """Return the day of an item on its speaker's clock, ISO 8601."""
    moments = (getattr(item, name, None) for name in DAY_FIELDS)
    moment: datetime | None = next((moment for moment in moments if moment is not None), None)
    return moment.date().isoformat() if moment else None


def _sort(value: Scalar | None) -> str:
    """Return what kind of value it is: only values of one kind are compared."""
    if isinstance(value, bool) or value is None:
        return type(value).__name__
    return "text" if isinstance(value, str) else "number"
