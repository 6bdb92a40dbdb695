"""Append-only arrays in versions that share memory, so that readers keep the version that they began with."""

from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

D = TypeVar("D", bound=np.generic)


class AppendOnlyArray(Generic[D]):
    """One immutable version of an array; adding rows returns another version and costs the new rows only.

    Any number of threads may read. One thread at a time may make new versions.
    """

    __slots__ = ("_buffer", "_size")

    def __init__(self, rows: NDArray[D]) -> None:
        """Start with a copy of `rows`."""
        self._size = len(rows)
        self._buffer = _Buffer(np.array(rows, order="C"), self._size)

    def __len__(self) -> int:
        return self._size

    @property
    def rows(self) -> NDArray[D]:
        """Return this version's rows: one contiguous block, not to be written to."""
        return self._buffer.rows[: self._size]

    def extended(self, rows: NDArray[D]) -> "AppendOnlyArray[D]":
        """Return a version with `rows` added at the end."""
        if not self._size:
            return AppendOnlyArray(rows)
        size = self._size + len(rows)
        buffer = self._buffer
        if buffer.used != self._size or size > len(buffer.rows):  # another version has grown, or the buffer is full
            buffer = self._copied(max(size, 2 * self._size))
        buffer.rows[self._size : size] = rows
        buffer.used = size
        return self._version(buffer, size)

    def replaced(self, positions: list[int], rows: NDArray[D]) -> "AppendOnlyArray[D]":
        """Return a version with other rows at `positions`; it copies all rows."""
        buffer = self._copied(2 * self._size)
        buffer.rows[positions] = rows
        return self._version(buffer, self._size)

    def _copied(self, capacity: int) -> "_Buffer[D]":
        shape: tuple[Any, ...] = (capacity, *self._buffer.rows.shape[1:])
        rows = np.empty(shape, dtype=self._buffer.rows.dtype)
        rows[: self._size] = self.rows
        return _Buffer(rows, self._size)

    def _version(self, buffer: "_Buffer[D]", size: int) -> "AppendOnlyArray[D]":
        version: AppendOnlyArray[D] = AppendOnlyArray.__new__(AppendOnlyArray)
        version._buffer, version._size = buffer, size
        return version


class _Buffer(Generic[D]):
    """Memory that versions share: the first `used` rows are written, the rest is room to grow."""

    __slots__ = ("rows", "used")

    def __init__(self, rows: NDArray[D], used: int) -> None:
        self.rows = rows
        self.used = used
