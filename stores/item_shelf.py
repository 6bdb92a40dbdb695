"""Hold the items of one namespace in the process, with the vectors they are found by.

An item has a slot, in the order in which items were first put; a new value keeps the slot. Rows of vectors are only
added: what they belonged to before is marked, and a shelf that is mostly marks is made anew. Not for several threads at
once. This module does not know Chroma.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from langgraph_engram.encoder import Vectors
from langgraph_engram.stores.items import StoredItem

NOBODY = -1
"""The slot of a row that belongs to nothing any more; as an index it is the last place, which is kept free for it."""
LEAST_SLACK = 64
"""Rows without an owner below which a shelf is never made anew."""


class ItemShelf:
    """The items of one namespace."""

    def __init__(self, revision: str = "") -> None:
        """Start empty, as of a revision of the namespace."""
        self.revision = revision
        self._slots: list[StoredItem | None] = []
        self._slot_of: dict[str, int] = {}
        self._rows: Vectors | None = None
        self._owners = np.empty(0, dtype=np.intp)
        self._filled = 0
        self._owned = 0

    def __len__(self) -> int:
        """Give how many items there are."""
        return len(self._slot_of)

    def __iter__(self) -> Iterator[StoredItem]:
        """Give the items, first put first."""
        return (item for item in self._slots if item is not None)

    def get(self, key: str) -> StoredItem | None:
        """Give the item of a key, if there is one."""
        slot = self._slot_of.get(key)
        return None if slot is None else self._slots[slot]

    def put(self, item: StoredItem, vectors: Vectors | None) -> None:
        """Put an item in the place of an earlier one of its key, or at the end.

        Args:
            item: The item.
            vectors: What it is found by, of shape (n, dimensions) and length 1 each; None for nothing.
        """
        slot = self._slot_of.get(item.key)
        if slot is None:
            slot = self._slot_of[item.key] = len(self._slots)
            self._slots.append(item)
        else:
            self._slots[slot] = item
            self._disown(slot)
        if vectors is not None and len(vectors):
            self._add_rows(slot, vectors)

    def remove(self, key: str) -> None:
        """Take an item away. A key that is not there is passed over."""
        slot = self._slot_of.pop(key, None)
        if slot is not None:
            self._slots[slot] = None
            self._disown(slot)

    def refresh(self, key: str, expires_at: float) -> None:
        """Let an item live until another time, in seconds since 1970."""
        slot = self._slot_of.get(key)
        if slot is not None and (item := self._slots[slot]) is not None:
            self._slots[slot] = replace(item, expires_at=expires_at)

    def at(self, slot: int) -> StoredItem:
        """Give the item of a slot that `scores` named."""
        item = self._slots[slot]
        assert item is not None
        return item

    def scores(self, query: Vectors) -> tuple[NDArray[np.intp], Vectors]:
        """Score the items that have vectors by the best of each item's.

        Args:
            query: A vector of length 1, of shape (dimensions,).

        Returns:
            The slots of the items, first put first, and the cosine of each, in -1..1.
        """
        best = np.full(len(self._slots) + 1, -np.inf, dtype=np.float32)
        if self._rows is not None:
            np.maximum.at(best, self._owners[: self._filled], self._rows[: self._filled] @ query)
        slots = np.flatnonzero(best[:-1] > -np.inf)
        return slots, best[slots]

    def unscored(self) -> Iterator[StoredItem]:
        """Give the items that no vector finds, first put first."""
        found = set(self._owners[: self._filled].tolist())
        return (item for slot, item in enumerate(self._slots) if item is not None and slot not in found)

    def wasteful(self) -> bool:
        """Say whether most of its rows or slots belong to nothing any more."""
        rows, slots = self._filled - self._owned, len(self._slots) - len(self)
        return rows > max(self._owned, LEAST_SLACK) or slots > max(len(self), LEAST_SLACK)

    def compacted(self) -> "ItemShelf":
        """Give a shelf of the same items without the waste."""
        fresh = ItemShelf(self.revision)
        owners = self._owners[: self._filled]
        order = np.argsort(owners, kind="stable")
        for slot, item in enumerate(self._slots):
            if item is not None:
                start, end = np.searchsorted(owners, (slot, slot + 1), sorter=order)
                fresh.put(item, self._rows[order[start:end]] if self._rows is not None else None)
        return fresh

    def _disown(self, slot: int) -> None:
        owners = self._owners[: self._filled]
        mine = owners == slot
        owners[mine] = NOBODY
        self._owned -= int(np.count_nonzero(mine))

    def _add_rows(self, slot: int, vectors: Vectors) -> None:
        end = self._filled + len(vectors)
        if self._rows is None or end > len(self._rows):
            self._make_room(max(2 * self._filled, end), vectors.shape[1])
        assert self._rows is not None
        self._rows[self._filled : end] = vectors
        self._owners[self._filled : end] = slot
        self._filled, self._owned = end, self._owned + len(vectors)

    def _make_room(self, size: int, dimensions: int) -> None:
        rows, owners = np.empty((size, dimensions), dtype=np.float32), np.full(size, NOBODY, dtype=np.intp)
        if self._rows is not None:
            rows[: self._filled] = self._rows[: self._filled]
            owners[: self._filled] = self._owners[: self._filled]
        self._rows, self._owners = rows, owners
