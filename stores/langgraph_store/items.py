"""Hold an item of LangGraph's store, and write it as a row of Chroma and back.

Values are kept as one JSON document, so that they may have any number of keys of any depth. All text of a row is JSON
in ASCII: half characters and zero bytes, which Chroma refuses or cuts at, pass through. This module does not know
collections.
"""

import hashlib
import json
import operator
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, TypeAlias, cast

from langgraph.store.base import Item, SearchItem

from langgraph_engram.errors import InvalidInput

Namespace: TypeAlias = tuple[str, ...]
Address: TypeAlias = tuple[Namespace, str]
"""A namespace and a key: where an item stands."""


@dataclass(frozen=True)
class StoredItem:
    """One item. Its value is JSON text, read when it is needed."""

    namespace: Namespace
    key: str
    text: str
    """The value as JSON."""
    created_at: datetime
    updated_at: datetime
    version: str
    """The write that made it so: the vectors that belong to it carry the same."""
    vectors: int = 0
    """How many vectors it is found by."""
    ttl: float | None = None
    """Minutes it lives after it was last read or written; None for ever."""
    expires_at: float | None = None
    """Seconds since 1970 at which it expires."""

    @property
    def address(self) -> Address:
        """Give where it stands."""
        return self.namespace, self.key

    @cached_property
    def value(self) -> dict[str, Any]:
        """Give the value for reading only; what callers get is a copy of their own."""
        return value_from_text(self.text)

    def expired(self, now: float) -> bool:
        """Say whether its time is over, `now` in seconds since 1970."""
        return self.expires_at is not None and self.expires_at <= now

    def as_item(self) -> Item:
        """Give it as LangGraph knows it."""
        return Item(
            value=value_from_text(self.text),
            key=self.key,
            namespace=self.namespace,
            created_at=self.created_at,
            updated_at=self.updated_at,
        )

    def as_search_item(self, score: float | None) -> SearchItem:
        """Give it as a result of a search."""
        return SearchItem(self.namespace, self.key, value_from_text(self.text), self.created_at, self.updated_at, score)


def value_as_text(value: Mapping[str, Any]) -> str:
    """Write a value as JSON.

    Raises:
        InvalidInput: It is no mapping, or holds what JSON cannot say.
    """
    if not isinstance(value, Mapping):
        raise InvalidInput(f"no value of an item: {value!r}; give a mapping with text keys")
    try:
        return json.dumps(dict(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(
            f"a value that is no JSON: {error}; give text, numbers, booleans, lists, mappings"
        ) from error


def value_from_text(text: str) -> dict[str, Any]:
    """Read a value back: a copy of the caller's own."""
    return cast("dict[str, Any]", json.loads(text))


def namespace_as_text(namespace: Namespace) -> str:
    """Write a namespace so that no two are alike and it can be read back."""
    return json.dumps(namespace)


def namespace_from_text(text: str) -> Namespace:
    """Read a namespace back."""
    return tuple(json.loads(text))


def row_id(*parts: object) -> str:
    """Give a row's id: a hash of what names it, the same in every process."""
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=16).hexdigest()


def item_id(address: Address) -> str:
    """Give the id of an item's row."""
    return row_id(*address)


def to_row(item: StoredItem) -> dict[str, str | int | float | None]:
    """Write an item as flat metadata; None takes a key away that an earlier version had."""
    return {
        "namespace": namespace_as_text(item.namespace),
        "key": json.dumps(item.key),
        "value": item.text,
        "created_at": item.created_at.isoformat(),
        "updated_at": item.updated_at.isoformat(),
        "version": item.version,
        "vectors": item.vectors,
        "ttl": item.ttl,
        "expires_at": item.expires_at,
    }


def from_row(row: Mapping[str, Any]) -> StoredItem:
    """Read an item back."""
    return StoredItem(
        namespace=namespace_from_text(row["namespace"]),
        key=json.loads(row["key"]),
        text=row["value"],
        created_at=datetime.fromisoformat(row["created_at"]),
        updated_at=datetime.fromisoformat(row["updated_at"]),
        version=row["version"],
        vectors=row["vectors"],
        ttl=row.get("ttl"),
        expires_at=row.get("expires_at"),
    )


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


class Namespaces:
    """Namespaces with their revisions, first named first."""

    def __init__(self, revisions: Mapping[Namespace, str]) -> None:
        """Start with namespaces and their revisions."""
        self._revisions: dict[Namespace, str] = {}
        self._under: defaultdict[Namespace, dict[Namespace, None]] = defaultdict(dict)
        for name, revision in revisions.items():
            self.put(name, revision)

    def __contains__(self, name: Namespace) -> bool:
        """Say whether a namespace holds items."""
        return name in self._revisions

    def revision(self, name: Namespace) -> str:
        """Give the revision of a namespace that holds items."""
        return self._revisions[name]

    def under(self, prefix: Namespace) -> list[Namespace]:
        """Give the namespaces that begin with a prefix, which may be one itself."""
        return list(self._under.get(prefix, ()))

    def put(self, name: Namespace, revision: str) -> None:
        """Say that a namespace holds items, as of a revision."""
        self._revisions[name] = revision
        for size in range(len(name) + 1):
            self._under[name[:size]][name] = None

    def remove(self, name: Namespace) -> None:
        """Say that a namespace holds nothing any more."""
        if self._revisions.pop(name, None) is None:
            return
        for size in range(len(name) + 1):
            del self._under[name[:size]][name]
            if not self._under[name[:size]]:
                del self._under[name[:size]]

    def replace(self, prefix: Namespace, revisions: Mapping[Namespace, str]) -> None:
        """Say anew what stands under a prefix."""
        for name in self.under(prefix):
            self.remove(name)
        for name, revision in revisions.items():
            self.put(name, revision)
