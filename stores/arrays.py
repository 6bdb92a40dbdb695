"""Append-only arrays, lists and texts in versions that share memory, so that readers keep the one they began with."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from operator import index
from typing import Any, Generic, SupportsIndex, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

D = TypeVar("D", bound=np.generic)
E = TypeVar("E")


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
        """Return a version with other rows at `positions`; it copies all rows, unless none differs."""
        same_nan = np.issubdtype(rows.dtype, np.floating)
        if np.array_equal(self.rows[positions], rows, equal_nan=same_nan):
            return self
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


BLOCK_CHARACTERS = 65_536
"""Characters from which a block of texts takes no more of them: adding a text copies one block at most."""
SEPARATOR = "\0"


class SearchableTexts:
    """One immutable version of many texts, joined in blocks, so that all of them are searched at the speed of one."""

    __slots__ = ("_blocks", "_size")

    def __init__(self, texts: Sequence[str] = (), blocks: "tuple[_Block, ...]" = ()) -> None:
        """Start with blocks, and with texts behind them."""
        self._blocks = (*blocks, *_blocks(texts, len(blocks[-1]) + blocks[-1].first if blocks else 0))
        self._size = len(self._blocks[-1]) + self._blocks[-1].first if self._blocks else 0

    def __len__(self) -> int:
        return self._size

    def extended(self, texts: Sequence[str]) -> "SearchableTexts":
        """Return a version with `texts` added at the end."""
        last = self._blocks[-1:]
        if not last or len(last[0].joined) >= BLOCK_CHARACTERS:
            return SearchableTexts(texts, self._blocks)
        return SearchableTexts([*last[0].texts, *texts], self._blocks[:-1])

    def replaced(self, positions: Sequence[int], texts: Sequence[str]) -> "SearchableTexts":
        """Return a version with other texts at `positions`; it copies their blocks."""
        blocks, firsts = list(self._blocks), [block.first for block in self._blocks]
        for position, text in zip(positions, texts, strict=True):
            number = bisect_right(firsts, position) - 1
            blocks[number] = blocks[number].replaced(position, text)
        return SearchableTexts((), tuple(blocks))

    def positions_of(self, part: str) -> NDArray[np.intp]:
        """Return the positions of the texts that contain `part`, at least one character, ascending."""
        return np.concatenate([np.empty(0, dtype=np.intp), *(block.positions_of(part) for block in self._blocks)])


@dataclass(frozen=True, eq=False)
class _Block:
    joined: str
    starts: NDArray[np.intp]
    """Where each text begins."""
    first: int
    """The position of the first text."""

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def texts(self) -> list[str]:
        return self.joined.split(SEPARATOR)

    def replaced(self, position: int, text: str) -> "_Block":
        texts = self.texts
        texts[position - self.first] = text.replace(SEPARATOR, " ")
        return _block(texts, self.first)

    def positions_of(self, part: str) -> NDArray[np.intp]:
        found: list[int] = []
        at = self.joined.find(part)
        while at >= 0:
            found.append(at)
            at = self.joined.find(part, at + len(part))
        return np.unique(self.first + np.searchsorted(self.starts, found, side="right") - 1)


def _block(texts: Sequence[str], first: int) -> _Block:
    ends = accumulate(len(text) + len(SEPARATOR) for text in texts[:-1])
    return _Block(SEPARATOR.join(texts), np.array([0, *ends], dtype=np.intp), first)


def _blocks(texts: Sequence[str], first: int) -> Iterator[_Block]:
    """Split texts, the first of which has the position `first`, into blocks."""
    held: list[str] = []
    size = 0
    for text in texts:
        held.append(text.replace(SEPARATOR, " "))
        size += len(text)
        if size >= BLOCK_CHARACTERS:
            yield _block(held, first)
            first, held, size = first + len(held), [], 0
    if held:
        yield _block(held, first)
