"""Hold arrays and items in versions that share memory: readers keep the version that they began with.

Adding to a version returns another one and costs what is added. Any number of threads may read; one at a time may make
new versions.
"""

import copy
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import index
from threading import Lock
from typing import Generic, Self, SupportsIndex, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from langgraph_engram.schema import Frozen

D = TypeVar("D", bound=np.generic)
T = TypeVar("T", bound=Frozen)

MAX_DOUBLED = 1_024
"""Rows of the largest array that doubles when it is full; a larger one grows by so many, or by an eighth."""
MAX_UNPACKED = 131_072
"""Items of one kind in a scope that are held as objects: all of them in most scopes."""
UNPACKED_BYTES = 2_200
"""What an item takes as an object, on average."""
PACKED_BYTES = sys.getsizeof(b"") + 16
"""What an item as JSON takes beside its characters: the object, with what allocation rounds up, and its place."""


class AppendOnlyArray(Generic[D]):
    """One immutable version of an array."""

    __slots__ = ("_buffer", "_size", "_used")

    def __init__(self, rows: NDArray[D], room: int = 0) -> None:
        self._buffer = np.empty((len(rows) + room, *rows.shape[1:]), rows.dtype)
        self._buffer[: len(rows)] = rows
        self._size = len(rows)
        self._used = [self._size]
        """How many rows of the buffer are written; of all versions that share it."""

    def __len__(self) -> int:
        return self._size

    @property
    def rows(self) -> NDArray[D]:
        """Return this version's rows: one contiguous block, not to be written to."""
        return self._buffer[: self._size]

    @property
    def nbytes(self) -> int:
        """Return the bytes of the rows."""
        return self.rows.nbytes

    def extended(self, rows: NDArray[D]) -> "AppendOnlyArray[D]":
        """Return a version with `rows` added at the end."""
        if not len(rows):
            return self
        if not self._size:
            return AppendOnlyArray(rows)
        size = self._size + len(rows)
        is_last = self._used[0] == self._size and size <= len(self._buffer)
        after = copy.copy(self) if is_last else AppendOnlyArray(self.rows, max(len(rows), self._room()))
        after._buffer[self._size : size] = rows
        after._size = after._used[0] = size
        return after

    def replaced(self, positions: list[int], rows: NDArray[D]) -> "AppendOnlyArray[D]":
        """Return a version with other rows at `positions`; it copies all rows, unless none differs."""
        same_nan = np.issubdtype(rows.dtype, np.floating)
        if not positions or np.array_equal(self.rows[positions], rows, equal_nan=same_nan):
            return self
        after = AppendOnlyArray(self.rows, self._room())
        after._buffer[positions] = rows
        return after

    def selected(self, positions: NDArray[np.intp]) -> "AppendOnlyArray[D]":
        """Return a version of the rows at some positions alone, in this order."""
        return AppendOnlyArray(self.rows[positions])

    def _room(self) -> int:
        return max(min(self._size, MAX_DOUBLED), self._size // 8)


class PackedItems(Sequence[T]):
    """One immutable version of a list of items, held as JSON, a tenth of what they take as objects; a few as both."""

    __slots__ = ("_characters", "_packed", "_size", "_unpacked")

    def __init__(self, item_type: type[T], packed: Iterable[bytes] = ()) -> None:
        self._unpacked = _Unpacked(item_type)
        """Of all versions."""
        self._packed = list(packed)
        """Versions share it, each up to its size."""
        self._size = len(self._packed)
        self._characters = sum(map(len, self._packed))

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, at: SupportsIndex) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> list[T]: ...
    def __getitem__(self, at: SupportsIndex | slice) -> T | list[T]:
        if isinstance(at, slice):
            return list(self.at(range(*at.indices(self._size))))
        position = index(at)
        if not -self._size <= position < self._size:
            raise IndexError(position)
        return self._unpacked[self._packed[position % self._size]]

    def __iter__(self) -> Iterator[T]:
        return self.at(range(self._size))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def at(self, positions: Iterable[int]) -> Iterator[T]:
        """Yield the items at positions."""
        return (self._unpacked[self._packed[position]] for position in positions)

    @property
    def packed(self) -> list[bytes]:
        """Return the items as JSON."""
        return self._packed[: self._size]

    @property
    def nbytes(self) -> int:
        """Return about how many bytes the items take, as JSON and as objects."""
        return self._characters + PACKED_BYTES * len(self) + UNPACKED_BYTES * len(self._unpacked)

    def extended(self, items: Iterable[T]) -> Self:
        """Return a version with items added at the end."""
        added = list(map(self._unpacked.pack, items))
        packed = self._packed if len(self._packed) == self._size else self.packed
        packed += added
        return self._version(packed, self._size + len(added), sum(map(len, added)))

    def replaced(self, items: Mapping[int, T]) -> Self:
        """Return a version with other items at some positions; it copies the list, unless there is none."""
        packed, longer = self.packed if items else self._packed, 0
        for position, item in items.items():
            before, packed[position] = packed[position], self._unpacked.pack(item)
            longer += len(packed[position]) - len(before)
        return self._version(packed, self._size, longer)

    def selected(self, positions: Sequence[int]) -> Self:
        """Return a version of the items at some positions alone, in this order."""
        packed = [self._packed[position] for position in positions]
        return self._version(packed, len(packed), sum(map(len, packed)) - self._characters)

    def _version(self, packed: list[bytes], size: int, longer: int) -> Self:
        after = copy.copy(self)
        after._packed, after._size, after._characters = packed, size, self._characters + longer
        return after


class _Unpacked(dict[bytes, T]):
    """Items as objects by their JSON, as many as were made last. Many threads may use it at once."""

    def __init__(self, item_type: type[T]) -> None:
        self._item_type, self._lock = item_type, Lock()

    def __missing__(self, packed: bytes) -> T:
        return self._hold(packed, self._item_type.model_validate_json(packed))

    def pack(self, item: T) -> bytes:
        """Return an item as JSON, and hold it as an object."""
        packed = item.model_dump_json(exclude_defaults=True).encode()
        self._hold(packed, item)
        return packed

    def _hold(self, packed: bytes, item: T) -> T:
        with self._lock:
            if len(self) >= MAX_UNPACKED:
                del self[next(iter(self))]
            self[packed] = item
        return item
