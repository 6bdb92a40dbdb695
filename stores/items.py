"""Hold an item of LangGraph's store, and write it as a row of Chroma and back.

Values are kept as one JSON document, so that they may have any number of keys of any depth. All text of a row is JSON
in ASCII: half characters and zero bytes, which Chroma refuses or cuts at, pass through. This module does not know
collections.
"""

import hashlib
import json
from collections.abc import Mapping
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
