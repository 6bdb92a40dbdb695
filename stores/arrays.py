"""Append-only arrays in versions that share memory, so that readers keep the version they began with."""

from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

D = TypeVar("D", bound=np.generic)

MAX_DOUBLED = 1_024
"""Rows of the largest array that doubles when it is full; a larger one grows by so many, or by an eighth."""


class AppendOnlyArray(Generic[D]):
    """One immutable version of an array; adding rows returns another version and costs the new rows only.

    Any number of threads may read. One thread at a time may make new versions.
    """

    __slots__ = ("_buffer", "_size")

    def __init__(self, rows: NDArray[D]) -> None:
        """Start with a copy of `rows`."""
        self._buffer = _Buffer(rows, len(rows))
        self._size = len(rows)

    def __len__(self) -> int:
        return self._size

    @property
    def rows(self) -> NDArray[D]:
        """Return this version's rows: one contiguous block, not to be written to."""
        return self._buffer.rows[: self._size]

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
        buffer = self._buffer
        if buffer.used != self._size or size > len(buffer.rows):  # another version has grown, or the buffer is full
            buffer = _Buffer(self.rows, max(size, self._with_room()))
        buffer.rows[self._size : size] = rows
        buffer.used = size
        return self._version(buffer, size)

    def replaced(self, positions: list[int], rows: NDArray[D]) -> "AppendOnlyArray[D]":
        """Return a version with other rows at `positions`; it copies all rows, unless none differs."""
        if not positions:
            return self
        same_nan = np.issubdtype(rows.dtype, np.floating)
        if np.array_equal(self.rows[positions], rows, equal_nan=same_nan):
            return self
        buffer = _Buffer(self.rows, self._with_room())
        buffer.rows[positions] = rows
        return self._version(buffer, self._size)

    def _with_room(self) -> int:
        return self._size + max(min(self._size, MAX_DOUBLED), self._size // 8)

    def _version(self, buffer: "_Buffer[D]", size: int) -> "AppendOnlyArray[D]":
        version: AppendOnlyArray[D] = AppendOnlyArray.__new__(AppendOnlyArray)
        version._buffer, version._size = buffer, size
        return version


class _Buffer(Generic[D]):
    """Memory that versions share: the first `used` rows are written, the rest is room to grow."""

    __slots__ = ("rows", "used")

    def __init__(self, rows: NDArray[D], capacity: int) -> None:
        self.rows = np.empty((capacity, *rows.shape[1:]), rows.dtype)
        self.used = len(rows)
        self.rows[: self.used] = rows
