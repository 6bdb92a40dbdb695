"""Append-only arrays, lists and rows in versions that share memory, so that readers keep the one they began with."""

import logging
import mmap
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import prod
from operator import index
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Generic, SupportsIndex, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

log = logging.getLogger(__name__)

D = TypeVar("D", bound=np.generic)
E = TypeVar("E")
Allocate: TypeAlias = Callable[[tuple[int, ...], Any], NDArray[Any]]
"""Returns an array of a shape and a dtype, with any values in it."""
MAX_DOUBLED = 1_024
"""Rows of the largest array that doubles when it is full; a larger one grows by so many, or by an eighth."""


class AppendOnlyArray(Generic[D]):
    """One immutable version of an array; adding rows returns another version and costs the new rows only.

    Any number of threads may read. One thread at a time may make new versions.
    """

    __slots__ = ("_allocate", "_buffer", "_size")

    def __init__(self, rows: NDArray[D], allocate: Allocate = np.empty) -> None:
        """Start with a copy of `rows`, in an array that `allocate` returns, as all later versions are."""
        self._allocate = allocate
        self._size = len(rows)
        self._buffer = self._copied(rows, self._size)

    def __len__(self) -> int:
        return self._size

    @property
    def rows(self) -> NDArray[D]:
        """Return this version's rows: one contiguous block, not to be written to."""
        return self._buffer.rows[: self._size]

    @property
    def nbytes(self) -> int:
        """Return the bytes of the rows in the memory of the process; 0 where they are in a file."""
        return 0 if _mapping_of(self._buffer.rows) else self.rows.nbytes

    def release_pages(self) -> None:
        """Tell the system that the pages of rows in a file are not needed now; they are read again when asked for."""
        mapping = _mapping_of(self._buffer.rows)
        if mapping and hasattr(mmap, "MADV_DONTNEED"):
            mapping.madvise(mmap.MADV_DONTNEED)

    def extended(self, rows: NDArray[D]) -> "AppendOnlyArray[D]":
        """Return a version with `rows` added at the end."""
        if not self._size:
            return AppendOnlyArray(rows, self._allocate)
        size = self._size + len(rows)
        buffer = self._buffer
        if buffer.used != self._size or size > len(buffer.rows):  # another version has grown, or the buffer is full
            buffer = self._copied(self.rows, max(size, self._with_room()))
        buffer.rows[self._size : size] = rows
        buffer.used = size
        return self._version(buffer, size)

    def replaced(self, positions: list[int], rows: NDArray[D]) -> "AppendOnlyArray[D]":
        """Return a version with other rows at `positions`; it copies all rows, unless none differs."""
        same_nan = np.issubdtype(rows.dtype, np.floating)
        if np.array_equal(self.rows[positions], rows, equal_nan=same_nan):
            return self
        buffer = self._copied(self.rows, self._with_room())
        buffer.rows[positions] = rows
        return self._version(buffer, self._size)

    def _with_room(self) -> int:
        return self._size + max(min(self._size, MAX_DOUBLED), self._size // 8)

    def _copied(self, rows: NDArray[D], capacity: int) -> "_Buffer[D]":
        held = self._allocate((capacity, *rows.shape[1:]), rows.dtype)
        held[: len(rows)] = rows
        return _Buffer(held, len(rows))

    def _version(self, buffer: "_Buffer[D]", size: int) -> "AppendOnlyArray[D]":
        version: AppendOnlyArray[D] = AppendOnlyArray.__new__(AppendOnlyArray)
        version._allocate, version._buffer, version._size = self._allocate, buffer, size
        return version


class _Buffer(Generic[D]):
    """Memory that versions share: the first `used` rows are written, the rest is room to grow."""

    __slots__ = ("rows", "used")

    def __init__(self, rows: NDArray[D], used: int) -> None:
        self.rows = rows
        self.used = used


@dataclass(frozen=True)
class FileBacked:
    """Allocate large arrays in files of a folder, which the system reads as they are needed, and others in memory.

    A file has no name, so that nothing of it is left when the process ends, however it does. Its space is taken when it
    is made: a disk that is full later does no harm.
    """

    folder: Path
    rows: int
    """Rows from which an array is in a file."""

    def __call__(self, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
        """Return an array; in memory where the folder has no space for it."""
        size = prod(shape) * np.dtype(dtype).itemsize
        if not size or shape[0] < self.rows:
            return np.empty(shape, dtype)
        try:
            with TemporaryFile(dir=self.folder) as file:
                if hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(file.fileno(), 0, size)
                file.truncate(size)
                mapping = mmap.mmap(file.fileno(), size)
        except OSError as error:
            log.warning(
                "%s has no room for %d bytes of vectors, which are kept in memory: %s", self.folder, size, error
            )
            return np.empty(shape, dtype)
        return np.frombuffer(mapping, dtype).reshape(shape)


def _mapping_of(rows: NDArray[Any]) -> mmap.mmap | None:
    """Return the file that an array of `FileBacked` is in."""
    held: object = rows
    while isinstance(held, np.ndarray):
        held = held.base
    held = held.obj if isinstance(held, memoryview) else held
    return held if isinstance(held, mmap.mmap) else None


CHUNK = 512
"""Items of a part of a list: what another version copies for one item that differs."""


class AppendOnlyList(Sequence[E]):
    """One immutable version of a list; another version with items added or replaced shares what has not changed."""

    __slots__ = ("_chunks", "_size")

    def __init__(self, items: Iterable[E] = ()) -> None:
        """Start with items."""
        held = list(items)
        self._chunks = [held[start : start + CHUNK] for start in range(0, len(held), CHUNK)]
        self._size = len(held)

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, at: SupportsIndex) -> E: ...
    @overload
    def __getitem__(self, at: slice) -> list[E]: ...
    def __getitem__(self, at: SupportsIndex | slice) -> E | list[E]:
        if isinstance(at, slice):
            return [self.at(position) for position in range(*at.indices(self._size))]
        return self.at(index(at))

    def at(self, position: int) -> E:
        """Return the item at a position; one below 0 is counted from the end."""
        if position < 0:
            position += self._size
        return self._chunks[position // CHUNK][position % CHUNK]

    def __iter__(self) -> Iterator[E]:
        return chain.from_iterable(self._chunks)

    def extended(self, items: Iterable[E]) -> "AppendOnlyList[E]":
        """Return a version with items added at the end."""
        is_full = self._size % CHUNK == 0
        added = AppendOnlyList([*([] if is_full else self._chunks[-1]), *items])
        return self._version([*(self._chunks if is_full else self._chunks[:-1]), *added._chunks])

    def replaced(self, items: Mapping[int, E]) -> "AppendOnlyList[E]":
        """Return a version with other items at some positions."""
        chunks = list(self._chunks)
        for number in {at // CHUNK for at in items}:
            chunks[number] = list(chunks[number])
        for at, item in items.items():
            chunks[at // CHUNK][at % CHUNK] = item
        return self._version(chunks)

    def _version(self, chunks: list[list[E]]) -> "AppendOnlyList[E]":
        version: AppendOnlyList[E] = AppendOnlyList.__new__(AppendOnlyList)
        version._chunks = chunks
        version._size = (len(chunks) - 1) * CHUNK + len(chunks[-1]) if chunks else 0
        return version


@dataclass(frozen=True, eq=False)
class SessionRow:
    """Where items stand in a row: session after session, in order of time within each, with empty places between."""

    gap: int
    """Empty places before each session, and behind the last."""
    placed: AppendOnlyArray[np.intp] = field(default_factory=lambda: AppendOnlyArray(np.empty(0, dtype=np.intp)))
    """The place of each item."""
    last_place: int = -1
    """The place of the last item of the last session; -1 where there is none."""
    last_session: int = -1
    """The code of that session."""

    @property
    def places(self) -> NDArray[np.intp]:
        """Return the place of each item, `gap` or above, of shape (n,)."""
        return self.placed.rows

    @property
    def size(self) -> int:
        """Return how many places there are, at least twice the gap and one."""
        return max(self.last_place, self.gap) + self.gap + 1

    def extended(self, order: NDArray[np.intp], sessions: NDArray[np.intp]) -> "SessionRow":
        """Return the row of more items; it is made anew where one stands among those that are in it, or before them.

        Args:
            order: The positions of all items in order of time, of shape (n,).
            sessions: The code of the session of each item, of shape (n,).
        """
        known = len(self.placed)
        new = order[known:]
        if not len(new):
            return self
        new = new[np.argsort(sessions[new], kind="stable")]
        if known and (new.min() < known or sessions[new[0]] < self.last_session):
            return SessionRow(self.gap).extended(order, sessions)
        of_session = np.concatenate([[self.last_session], sessions[new]])
        steps = np.where(of_session[1:] == of_session[:-1], 1, 1 + self.gap)
        places = np.empty(len(new), dtype=np.intp)
        places[new - known] = self.last_place + np.cumsum(steps)
        last = int(new[-1])
        return SessionRow(self.gap, self.placed.extended(places), int(places[last - known]), int(sessions[last]))
