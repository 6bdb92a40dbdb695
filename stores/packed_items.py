"""Hold many items as JSON, a tenth of what they take as objects, with those read last as objects beside it."""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import index
from threading import Lock
from typing import Generic, SupportsIndex, TypeVar, overload

from langgraph_engram.schema import Frozen
from langgraph_engram.stores.arrays import AppendOnlyList

T = TypeVar("T", bound=Frozen)

MAX_UNPACKED = 16_384
"""Items of one kind in a scope that are held as objects, about 3 KB each: all of them in most scopes."""


class PackedItems(Sequence[T]):
    """One immutable version of a list of items; another version with items added or replaced shares the others."""

    __slots__ = ("_packed", "_unpacked")

    def __init__(self, model: type[T], packed: Iterable[bytes] = ()) -> None:
        """Start with the items of a model, each as JSON."""
        self._unpacked = _Unpacked(model)
        self._packed = AppendOnlyList(packed)

    def __len__(self) -> int:
        return len(self._packed)

    @overload
    def __getitem__(self, at: SupportsIndex) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> list[T]: ...
    def __getitem__(self, at: SupportsIndex | slice) -> T | list[T]:
        if isinstance(at, slice):
            return [self._unpacked.get(packed) for packed in self._packed[at]]
        return self._unpacked.get(self._packed.at(index(at)))

    def __iter__(self) -> Iterator[T]:
        return map(self._unpacked.peek, self._packed)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # as of a list

    def __repr__(self) -> str:
        return repr(list(self))

    @property
    def packed(self) -> Sequence[bytes]:
        """Return the items as JSON."""
        return self._packed

    def extended(self, items: Iterable[T]) -> "PackedItems[T]":
        """Return a version with items added at the end."""
        return self._version(self._packed.extended([self._unpacked.pack(item) for item in items]))

    def replaced(self, items: Mapping[int, T]) -> "PackedItems[T]":
        """Return a version with other items at some positions."""
        return self._version(self._packed.replaced({at: self._unpacked.pack(item) for at, item in items.items()}))

    def _version(self, packed: AppendOnlyList[bytes]) -> "PackedItems[T]":
        version: PackedItems[T] = PackedItems.__new__(PackedItems)
        version._packed, version._unpacked = packed, self._unpacked
        return version


class _Unpacked(Generic[T]):
    """The items read last, by their JSON. Many threads may use it at once."""

    def __init__(self, model: type[T]) -> None:
        self._model = model
        self._items: OrderedDict[bytes, T] = OrderedDict()
        self._lock = Lock()

    def get(self, packed: bytes) -> T:
        """Return an item, and hold it as an object from now on."""
        item = self._items.get(packed)
        if item is None:
            item = self._model.model_validate_json(packed)
            self._hold(packed, item)
        return item

    def peek(self, packed: bytes) -> T:
        """Return an item, and let go of no other for it."""
        item = self._items.get(packed)
        if item is None:
            item = self._model.model_validate_json(packed)
            if len(self._items) < MAX_UNPACKED:
                self._hold(packed, item)
        return item

    def pack(self, item: T) -> bytes:
        """Return an item as JSON, and hold it as an object."""
        packed = item.model_dump_json(exclude_defaults=True).encode()
        self._hold(packed, item)
        return packed

    def _hold(self, packed: bytes, item: T) -> None:
        with self._lock:
            self._items[packed] = item
            while len(self._items) > MAX_UNPACKED:
                self._items.popitem(last=False)
