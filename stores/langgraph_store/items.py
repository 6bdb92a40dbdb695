"""Define the items of LangGraph's store, their rows in Chroma, the filters they pass, and their namespaces.

A value is stored as one JSON document, so that it may have any number of keys of any depth. All text of a row is JSON
in ASCII: half characters and zero bytes, which Chroma refuses or cuts at, pass through.
"""

import hashlib
import json
import operator
import reprlib
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, TypeAlias, cast

from langgraph.store.base import Item, SearchItem

from langgraph_engram.errors import InvalidInput, StoreError

Namespace: TypeAlias = tuple[str, ...]
Address: TypeAlias = tuple[Namespace, str]
"""A namespace and a key."""


@dataclass(frozen=True)
class StoredItem:
    """One item. Its value is JSON text, parsed when it is needed."""

    namespace: Namespace
    key: str
    text: str
    """The value as JSON."""
    created_at: datetime
    updated_at: datetime
    version: str
    """The id of the write that made it so, which its vectors carry too."""
    vectors: int = 0
    """How many vectors it has."""
    ttl: float | None = None
    """Minutes from the last read or write until it expires; None for never."""
    expires_at: float | None = None
    """Seconds since 1970 at which it expires."""

    @property
    def address(self) -> Address:
        """Return its namespace and key."""
        return self.namespace, self.key

    @cached_property
    def value(self) -> dict[str, Any]:
        """Return the value for reading only; callers get a copy of their own."""
        return value_from_text(self.text)

    def expired(self, now: float) -> bool:
        """Return whether it has expired; `now` in seconds since 1970."""
        return self.expires_at is not None and self.expires_at <= now

    def as_item(self) -> Item:
        """Return it as LangGraph's `Item`."""
        return Item(
            value=value_from_text(self.text),
            key=self.key,
            namespace=self.namespace,
            created_at=self.created_at,
            updated_at=self.updated_at,
        )

    def as_search_item(self, score: float | None) -> SearchItem:
        """Return it as a result of a search."""
        return SearchItem(self.namespace, self.key, value_from_text(self.text), self.created_at, self.updated_at, score)


def value_as_text(value: Mapping[str, Any]) -> str:
    """Write a value as JSON.

    Raises:
        InvalidInput: It is not a mapping, or holds what JSON cannot represent.
    """
    if not isinstance(value, Mapping):
        raise InvalidInput(f"invalid value of an item {reprlib.repr(value)}: give a mapping with text keys")
    try:
        return json.dumps(dict(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(
            f"a value that cannot be JSON: {error}; give text, numbers, booleans, lists, mappings"
        ) from error


def value_from_text(text: str) -> dict[str, Any]:
    """Read a value back: a copy of the caller's own."""
    return cast("dict[str, Any]", json.loads(text))


def namespace_as_text(namespace: Namespace) -> str:
    """Write a namespace as JSON."""
    return json.dumps(namespace)


def namespace_from_text(text: str) -> Namespace:
    """Read a namespace back."""
    return tuple(json.loads(text))


def row_id(*parts: object) -> str:
    """Return the id of a row: a hash of what identifies it, the same in every process."""
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=16).hexdigest()


def item_id(address: Address) -> str:
    """Return the id of an item's row."""
    return row_id(*address)


def to_row(item: StoredItem) -> dict[str, str | int | float | None]:
    """Write an item as flat metadata; None removes a key that an earlier version had."""
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
    """Read an item back.

    Raises:
        StoreError: The row is damaged.
    """
    try:
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
    except (KeyError, ValueError, TypeError) as error:
        raise StoreError(
            f"the row of an item cannot be read ({error!r}): its file is damaged; restore a copy"
        ) from error


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
    """Validate a filter before anything is read, and return a copy made of dicts and lists.

    Raises:
        InvalidInput: It is not a mapping, a key is not text or begins with "$", or an operator is unknown.
    """
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
    return {name: _plain(inner) for name, inner in wanted.items()}


def passes(value: dict[str, Any], wanted: Filter) -> bool:
    """Return whether a value passes a checked filter."""
    for name, inner in wanted.items():  # a loop: it runs for every item of a search
        found = value[name] if name in value else _at(value, name)
        if not _agrees(found, inner):
            return False
    return True


def _plain(wanted: object) -> object:
    if isinstance(wanted, Mapping):
        if any(str(name).startswith("$") for name in wanted):
            if unknown := [name for name in wanted if name not in OPERATORS]:
                raise InvalidInput(f"Unsupported operator: {reprlib.repr(unknown[0])}; choose {', '.join(OPERATORS)}")
            return {name: _plain_operand(operand) for name, operand in wanted.items()}
        return checked_filter(wanted)
    return _plain_operand(wanted) if not isinstance(wanted, list | tuple) else [_plain(element) for element in wanted]


def _plain_operand(operand: object) -> object:
    if isinstance(operand, Mapping):
        return {name: _plain_operand(inner) for name, inner in operand.items()}
    return [_plain_operand(element) for element in operand] if isinstance(operand, list | tuple) else operand


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
    """Read both sides as numbers where both are: "10" is a number, as in LangGraph's own stores."""
    try:
        return float(value), float(operand)
    except (ValueError, OverflowError):
        return None


class Namespaces:
    """Namespaces that hold items, with their revisions, found by prefix."""

    def __init__(self, revisions: Mapping[Namespace, str]) -> None:
        """Start with namespaces and their revisions."""
        self._revisions: dict[Namespace, str] = {}
        self._under: defaultdict[Namespace, dict[Namespace, None]] = defaultdict(dict)
        for namespace, revision in revisions.items():
            self.put(namespace, revision)

    def __contains__(self, namespace: Namespace) -> bool:
        return namespace in self._revisions

    def revision(self, namespace: Namespace) -> str:
        """Return the revision of a namespace that holds items."""
        return self._revisions[namespace]

    def under(self, prefix: Namespace) -> list[Namespace]:
        """Return the namespaces that begin with a prefix, which may be one itself, first put first."""
        return list(self._under.get(prefix, ()))

    def put(self, namespace: Namespace, revision: str) -> None:
        """Add a namespace, or change its revision."""
        self._revisions[namespace] = revision
        for size in range(len(namespace) + 1):
            self._under[namespace[:size]][namespace] = None

    def remove(self, namespace: Namespace) -> None:
        """Remove a namespace. An unknown one is ignored."""
        if self._revisions.pop(namespace, None) is None:
            return
        for size in range(len(namespace) + 1):
            del self._under[namespace[:size]][namespace]
            if not self._under[namespace[:size]]:
                del self._under[namespace[:size]]

    def replace(self, prefix: Namespace, revisions: Mapping[Namespace, str]) -> None:
        """Replace all namespaces under a prefix."""
        for namespace in self.under(prefix):
            self.remove(namespace)
        for namespace, revision in revisions.items():
            self.put(namespace, revision)
