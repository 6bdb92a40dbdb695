"""Keep rows that only grow, in versions that share memory, so that a reader's version stays as it was.

A scope index grows with each commit while other threads read it. Each version is a value that never changes; adding
rows gives a new version and costs the new rows only. This module does not know what the rows mean.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

D = TypeVar("D", bound=np.generic)


class _Memory(Generic[D]):
    """Rows that versions share: the first `filled` are taken, the rest is room to grow."""

    __slots__ = ("filled", "rows")

    def __init__(self, rows: NDArray[D], filled: int) -> None:
        self.rows = rows
        self.filled = filled


class AppendOnlyArray(Generic[D]):
    """One version of growing rows. Only one thread at a time may make new versions; any number may read."""

    __slots__ = ("_memory", "_size")

    def __init__(self, rows: NDArray[D]) -> None:
        """Start with a copy of `rows`."""
        self._size = len(rows)
        self._memory = _Memory(np.array(rows, order="C"), self._size)

    def __len__(self) -> int:
        return self._size

    @property
    def rows(self) -> NDArray[D]:
        """Give this version's rows: one contiguous block, not to be written to."""
        return self._memory.rows[: self._size]

    def extended(self, rows: NDArray[D]) -> "AppendOnlyArray[D]":
        """Give a version with `rows` added. Memory doubles when it is full."""
        if not self._size:
            return AppendOnlyArray(rows)
        size = self._size + len(rows)
        memory = self._memory
        if memory.filled != self._size or size > len(memory.rows):
            memory = self._with_room(size)
        memory.rows[self._size : size] = rows
        memory.filled = size
        return self._version(memory, size)

    def replaced(self, positions: list[int], rows: NDArray[D]) -> "AppendOnlyArray[D]":
        """Give a version with other rows at `positions`. It copies all rows, because versions before it keep theirs."""
        memory = self._with_room(self._size)
        memory.rows[positions] = rows
        memory.filled = self._size
        return self._version(memory, self._size)

    def _with_room(self, size: int) -> _Memory[D]:
        shape: tuple[Any, ...] = (max(size, 2 * self._size), *self._memory.rows.shape[1:])
        fresh = np.empty(shape, dtype=self._memory.rows.dtype)
        fresh[: self._size] = self.rows
        return _Memory(fresh, self._size)

    def _version(self, memory: _Memory[D], size: int) -> "AppendOnlyArray[D]":
        version: AppendOnlyArray[D] = AppendOnlyArray.__new__(AppendOnlyArray)
        version._memory, version._size = memory, size
        return version


def neighbours(order: Sequence[int], groups: Sequence[str | None]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Give, for each position, the one before and the one after it in its group.

    Args:
        order: Every position once, first to last.
        groups: The group of each position; what has none has no neighbours.

    Returns:
        Two arrays of shape (n,), by position; -1 for none.
    """
    before, after = np.full(len(order), -1, dtype=np.intp), np.full(len(order), -1, dtype=np.intp)
    last: dict[str, int] = {}
    for position in order:
        group = groups[position]
        if group is None:
            continue
        if (previous := last.get(group)) is not None:
            before[position], after[previous] = previous, position
        last[group] = position
    return before, after


def grouped(pairs: Iterable[tuple[str | None, int]]) -> dict[str, list[int]]:
    """Gather positions by their group, in the order given; what has none is left out."""
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for group, position in pairs:
        if group is not None:
            groups[group].append(position)
    return dict(groups)
