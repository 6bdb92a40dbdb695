"""Hold many items as JSON, a tenth of what they take as objects, with those read last as objects beside it."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import index
from threading import Lock
from typing import Generic, SupportsIndex, TypeVar, overload

from langgraph_engram.schema import Frozen

T = TypeVar("T", bound=Frozen)

MAX_UNPACKED = 16_384
"""Items of one kind in a scope that are held as objects: all of them in most scopes."""
UNPACKED_BYTES = 2_200
"""What an item takes as an object, on average."""
PACKED_BYTES = sys.getsizeof(b"") + 16
"""What an item as JSON takes beside its characters: the object, with what allocation rounds up, and its place."""


class PackedItems(Sequence[T]):
    """One immutable version of a list of items; another version with items added shares it, up to its own length."""

    __slots__ = ("_characters", "_packed", "_size", "_unpacked")

    def __init__(self, model: type[T], packed: Iterable[bytes] = ()) -> None:
        """Start with the items of a model, each as JSON."""
        self._unpacked = _Unpacked(model)
        self._packed = list(packed)
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
            return [self[position] for position in range(*at.indices(self._size))]
        position = index(at)
        if not -self._size <= position < self._size:
            raise IndexError(position)
        return self._unpacked.item(self._packed[position if position >= 0 else position + self._size])

    def __iter__(self) -> Iterator[T]:
        return self.at(range(self._size))

    def at(self, positions: Iterable[int]) -> Iterator[T]:
        """Yield the items at positions; those that were read last stay objects, however many these are."""
        return (self._unpacked.item(self._packed[position], lets_go=False) for position in positions)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # as of a list

    def __repr__(self) -> str:
        return repr(list(self))

    @property
    def packed(self) -> list[bytes]:
        """Return the items as JSON."""
        return self._packed[: self._size]

    @property
    def nbytes(self) -> int:
        """Return about how many bytes the items take, as JSON and as objects."""
        return self._characters + PACKED_BYTES * len(self) + UNPACKED_BYTES * len(self._unpacked.items)

    def extended(self, items: Iterable[T]) -> "PackedItems[T]":
        """Return a version with items added at the end."""
        added = list(map(self._unpacked.pack, items))
        shared = self._packed if len(self._packed) == self._size else self.packed
        shared += added
        return self._version(shared, self._size + len(added), sum(map(len, added)))

    def replaced(self, items: Mapping[int, T]) -> "PackedItems[T]":
        """Return a version with other items at some positions; it copies the list, unless there is none."""
        packed = self.packed if items else self._packed
        longer = 0
        for position, item in items.items():
            before, packed[position] = packed[position], self._unpacked.pack(item)
            longer += len(packed[position]) - len(before)
        return self._version(packed, self._size, longer)

    def _version(self, packed: list[bytes], size: int, longer: int) -> "PackedItems[T]":
        version: PackedItems[T] = PackedItems.__new__(PackedItems)
        version._unpacked, version._packed, version._size = self._unpacked, packed, size
        version._characters = self._characters + longer
        return version


class _Unpacked(Generic[T]):
    """Items as objects, by their JSON; as many as were made last. Many threads may use it at once."""

    def __init__(self, model: type[T]) -> None:
        self._model = model
        self.items: dict[bytes, T] = {}
        self._lock = Lock()

    def item(self, packed: bytes, lets_go: bool = True) -> T:
        """Return an item, and hold it as an object from now on, where there is room or another is let go of."""
        item = self.items.get(packed)
        if item is None:
            item = self._model.model_validate_json(packed)
            if lets_go or len(self.items) < MAX_UNPACKED:
                self._hold(packed, item)
        return item

    def pack(self, item: T) -> bytes:
        """Return an item as JSON, and hold it as an object."""
        packed = item.model_dump_json(exclude_defaults=True).encode()
        self._hold(packed, item)
        return packed

    def _hold(self, packed: bytes, item: T) -> None:
        with self._lock:
            if len(self.items) >= MAX_UNPACKED:
                del self.items[next(iter(self.items))]
            self.items[packed] = item
