"""Hold the items of one kind and scope, with what is derived from each, ready for search by vector and by term.

What is derived from an item is computed once and kept in columns, which the versions of an index share and extend: a
search loops over no memory in Python, and a commit costs what it adds (docs/decisions/0003).
"""

from bisect import bisect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from threading import RLock
from typing import Any, Generic, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from langgraph_engram.embeddings.base import Vectors
from langgraph_engram.filters import Condition
from langgraph_engram.stores.bm25 import BM25Index
from langgraph_engram.stores.kinds import Kind, SortKey, T
from langgraph_engram.stores.versions import AppendOnlyArray, PackedItems

ID_BYTES = 200
"""What the id of an item takes, with its entry among the positions."""
SHORTEST_ID = 4
"""Characters of an id by which its item is found, at the least."""
ELSEWHERE = frozenset({"positions in other indexes"})
"""What a column is given that holds such positions: a selection does not take it over, since others move as well."""
SESSION_GAP = 3
"""Empty places between two sessions in a row, so that nobody looks so far as into another."""


@dataclass(frozen=True)
class Column:
    """What is derived from each item, for as many items as there were when it was last read."""

    values: AppendOnlyArray[Any] | BM25Index
    given: frozenset[str] | None = None
    """What the values depend on beside the items."""
    outdated: frozenset[int] = frozenset()
    """The positions of the items that were replaced since."""


class Selection(NamedTuple):
    """Of which index another one is a part."""

    whole: "KindIndex[Any]"
    positions: NDArray[np.intp]
    replaced: frozenset[int] = frozenset()
    """The positions in the part of the items that it has otherwise."""


class Values(Generic[T]):
    """A column of an index as an attribute of its class: one value an item, under the attribute's name."""

    def __init__(self, value_of: Callable[[T], Any], dtype: Any) -> None:
        self.value_of, self.dtype = value_of, dtype

    def __set_name__(self, owner: type, name: str) -> None:
        self.label = name

    def __get__(self, index: "KindIndex[T]", owner: type | None = None) -> NDArray[Any]:
        return index.column(self.label, self.value_of, self.dtype)


class Codes(Values[T]):
    """A column of numbers, the same for items of one name."""

    def __init__(self, name_of: Callable[[T], str]) -> None:
        super().__init__(name_of, np.intp)

    def __get__(self, index: "KindIndex[T]", owner: type | None = None) -> NDArray[Any]:
        return index.codes(self.label, self.value_of)


class KindIndex(Generic[T]):
    """One immutable version of the items of one kind in one scope, in the order they were put.

    Any number of threads may read it. What they derive is kept, and passed on to the next version.
    """

    session = Codes[Any](lambda item: getattr(item, "session_id", ""))
    """The code of each item's session, of shape (n,); one for all that spans sessions."""

    def __init__(self, kind: Kind[T]) -> None:
        self.kind = kind
        self.items: PackedItems[T] = PackedItems(kind.model)
        self.columns: dict[str, Column] = {}
        """By name; they are added as they are asked for."""
        self.saved_columns: frozenset[str] = frozenset()
        """The names of those that were read from a snapshot."""
        self.names: dict[str, dict[str, int]] = {}
        """The codes of names, by what they name: versions share them."""
        self._positions: dict[str, int] = {}
        """The positions of items by id: versions share it, each up to its length."""
        self._vectors: AppendOnlyArray[np.float32] = AppendOnlyArray(np.empty((0, 0), dtype=np.float32))
        self._ordered: NDArray[np.intp] = np.empty(0, dtype=np.intp)
        """Positions in order of time, of as many items as were there when the order was last read."""
        self._selection: Selection | None = None
        """Of what this is a part; None for what stands by itself."""
        self._lock = RLock()
        """Held while something is derived, in whatever version."""

    def __len__(self) -> int:
        return len(self.items)

    def __contains__(self, item_id: str) -> bool:
        return self.find_position(item_id) >= 0

    @property
    def vectors(self) -> Vectors:
        """Return the vectors: float32 of shape (n, d), contiguous, one row an item; not to be written to."""
        return self._vectors.rows

    @property
    def lexical(self) -> BM25Index:
        """Return the index of the terms that lexical search finds the items by."""
        return self.terms("lexical", self.kind.terms_of)

    @property
    def nbytes(self) -> int:
        """Return about how many bytes the index takes."""
        columns = [column.values for column in list(self.columns.values())]
        parts = (self.items, self._vectors, self._ordered, *columns)
        return sum(part.nbytes for part in parts) + ID_BYTES * len(self)

    def get(self, item_id: str) -> T | None:
        """Return the item of an id, or None."""
        position = self.find_position(item_id)
        return None if position < 0 else self.items[position]

    def position(self, item_id: str) -> int:
        """Return the position of an id in `items`; `KeyError` where there is no such item."""
        position = self.find_position(item_id)
        if position < 0:
            raise KeyError(item_id)
        return position

    def find_position(self, item_id: str | None) -> int:
        """Return the position of an id in `items`; -1 where there is no such item."""
        position = -1 if item_id is None else self._positions.get(item_id, -1)
        return position if position < len(self) else -1

    def ids(self) -> list[str]:
        """Return the ids of the items, in their order."""
        return list(self._positions)[: len(self)]

    def named(self, name: str, conditions: Sequence[Condition] = ()) -> list[T]:
        """Return the item of an id, or those whose ids begin with at least four characters, if they fulfil all."""
        ids = [name] if name in self else self.ids() if len(name) >= SHORTEST_ID else []
        positions = [self.position(item_id) for item_id in ids if item_id.startswith(name)]
        matched = self.matching(conditions) if positions and conditions else None
        return [self.items[position] for position in positions if matched is None or matched[position]]

    def column(
        self, label: str, value_of: Callable[[T], Any], dtype: Any, given: frozenset[str] | None = None
    ) -> NDArray[Any]:
        """Return one value an item, computed for those items alone that are new since the column was last read.

        Args:
            label: The name of the column; another function has another label.
            value_of: Returns the value of an item, a number, or several in a tuple of fixed length.
            dtype: The numpy type of the values, which are of shape (n,), or (n, values), and not to be written to.
            given: What the values depend on beside the items; another value makes the column anew.
        """

        def derive(items: Iterable[T]) -> NDArray[Any]:
            return np.array(list(map(value_of, items)), dtype=dtype)

        values: AppendOnlyArray[Any] = self._derived(label, derive, lambda: AppendOnlyArray(derive(())), given)
        return values.rows

    def terms(self, label: str, terms_of: Callable[[T], list[str]]) -> BM25Index:
        """Return an index of further terms of each item, as `column` does."""
        index: BM25Index = self._derived(label, lambda items: map(terms_of, items), BM25Index, None)
        return index

    def codes(self, label: str, name_of: Callable[[T], str]) -> NDArray[np.intp]:
        """Return a number for each item, the same for items of one name; `label` says what is named. See `code`."""
        known = self.names.setdefault(label, {})
        return self.column(label, lambda item: known.setdefault(name_of(item), len(known)), np.intp)

    def code(self, label: str, name: str) -> int:
        """Return the number of a name in `codes`; -1 for one that no item has."""
        return self.names.get(label, {}).get(name, -1)

    def matching(self, conditions: Sequence[Condition]) -> NDArray[np.bool_]:
        """Return which items fulfil all conditions, of shape (n,)."""
        matched = np.ones(len(self), dtype=np.bool_)
        for condition in conditions:
            matched &= self.accepted(condition.column, condition.text_of, condition.accepts)
        return matched

    def accepted(self, label: str, name_of: Callable[[T], str], accepts: Callable[[str], bool]) -> NDArray[np.bool_]:
        """Return which items have an accepted name in `codes`, of shape (n,): each distinct name is looked at once."""
        codes = self.codes(label, name_of)
        return np.array([accepts(name) for name in list(self.names[label])], dtype=np.bool_)[codes]

    def cosine(self, query: Vectors) -> NDArray[np.float32]:
        """Return the cosine of each item with a unit vector of shape (d,) or (1, d), as an array of shape (n,)."""
        return self.cosine_of(slice(None), query)

    def cosine_of(self, positions: Any, query: Vectors) -> NDArray[np.float32]:
        """Return the cosines of the items at some positions, an array or a slice, in that order."""
        if not self.items:
            return np.zeros(0, dtype=np.float32)
        # A product of a row at a time keeps to one thread: waking several costs 10 ms, for what takes 0.2 ms.
        cosines: NDArray[np.float32] = np.vecdot(self.vectors[positions], query.reshape(-1))
        return cosines

    def bm25(self, terms: Sequence[str]) -> NDArray[np.float32]:
        """Return the BM25 score of each item for content stems, 0 or above, as an array of shape (n,)."""
        return self.lexical.get_scores(terms).astype(np.float32)

    def order(self) -> NDArray[np.intp]:
        """Return the positions in order of time; items of unknown time come first."""
        with self._lock:
            if len(self._ordered) < len(self):
                self._ordered = self._in_order()
            return self._ordered

    @cached_property
    def ranks(self) -> NDArray[np.intp]:
        """Return the rank of each item in order of time, from 0."""
        ranks = np.empty(len(self), dtype=np.intp)
        ranks[self.order()] = np.arange(len(self))
        return ranks

    def in_session(self, session_id: str) -> list[T]:
        """Return the items of a session, in the order they were put."""
        sessions = self.session
        return [self.items[position] for position in np.flatnonzero(sessions == self.code("session", session_id))]

    @cached_property
    def places(self) -> NDArray[np.intp]:
        """Return where each item stands in a row of sessions, each in order of time, with a gap before each."""
        order, sessions = self.order(), self.session
        ordered = order[np.argsort(sessions[order], kind="stable")]
        steps = 1 + SESSION_GAP * (np.diff(sessions[ordered], prepend=-1) != 0)
        places = np.empty(len(self), dtype=np.intp)
        places[ordered] = np.cumsum(steps) - 1
        return places

    def with_items(self, items: Sequence[T], vectors: Vectors) -> Self:
        """Return a version with items added at the end; those whose id is known take the place of the stored ones.

        Of several with one id, the last counts. Vectors are of length 1, and of shape (len(items), d).
        """
        rows = {self.kind.id_of(item): row for row, item in enumerate(items)}
        known = {position: row for item_id, row in rows.items() if (position := self.find_position(item_id)) >= 0}
        new = [row for item_id, row in rows.items() if item_id not in self]
        replaced = {position: items[row] for position, row in known.items()}
        added = [items[row] for row in new]
        after = type(self)(self.kind)
        after.items = self.items.replaced(replaced).extended(added)
        after._vectors = self._vectors.replaced([*replaced], vectors[[*known.values()]]).extended(vectors[new])
        after._positions = self._with_positions(list(map(self.kind.id_of, added)))
        if all(self.kind.sort_key(self.items[at]) == self.kind.sort_key(item) for at, item in replaced.items()):
            after._ordered = self._ordered
        after.columns = {
            label: replace(column, outdated=column.outdated | {at for at in replaced if at < len(column.values)})
            for label, column in dict(self.columns).items()
        }
        after.names, after.saved_columns, after._lock = self.names, self.saved_columns, self._lock
        if self._selection:
            after._selection = self._selection._replace(replaced=self._selection.replaced | replaced.keys())
        return after

    def restored(self, ids: Sequence[str], packed: Sequence[bytes], vectors: Vectors, order: NDArray[np.intp]) -> Self:
        """Return an index of these parts in place of this one; `ValueError` where they do not belong together."""
        if len({len(part) for part in (ids, packed, vectors, order)}) > 1:
            raise ValueError("its parts differ in length")
        index = type(self)(self.kind)
        index.items = PackedItems(self.kind.model, packed)
        index._positions = {item_id: position for position, item_id in enumerate(ids)}
        index._vectors, index._ordered = AppendOnlyArray(vectors), order
        return index

    def selected(self, positions: NDArray[np.intp]) -> Self:
        """Return an index of the items at some positions alone, ascending.

        It takes its columns from those of this index as they are asked for, but for what is given `ELSEWHERE`.
        """
        after, ids = type(self)(self.kind), self.ids()
        after.items = self.items.selected(positions.tolist())
        after._positions = {ids[position]: place for place, position in enumerate(positions.tolist())}
        after._vectors = self._vectors.selected(positions)
        places = np.full(len(self), -1, dtype=np.intp)
        places[positions] = np.arange(len(positions))
        ordered = places[self.order()]
        after._ordered = ordered[ordered >= 0]
        after.names, after._lock, after._selection = self.names, self._lock, Selection(self, positions)
        return after

    def current_columns(self) -> dict[str, Column]:
        """Return the columns of which nothing is outdated: of all items or of the first."""
        return {label: column for label, column in dict(self.columns).items() if not column.outdated}

    def _derived(
        self, label: str, derive: Callable[[Iterable[T]], Any], empty: Callable[[], Any], given: frozenset[str] | None
    ) -> Any:
        """Return the values of a column, brought up to date: of what was replaced, and of what was added since."""
        with self._lock:
            column = self.columns.get(label)
            if column is None and self._selection and given != ELSEWHERE:
                whole, positions, replaced = self._selection
                held = whole._derived(label, derive, empty, given)
                own = frozenset(at for at in replaced if at < len(positions))
                column = Column(held.selected(positions), given, own)
            if column is None or column.given != given:
                column = Column(empty(), given)
            values: Any = column.values
            if outdated := sorted(column.outdated):
                values = values.replaced(outdated, derive(self.items.at(outdated)))
            if len(values) < len(self):
                values = values.extended(derive(self.items.at(range(len(values), len(self)))))
            self.columns[label] = Column(values, given)
        return values

    def _with_positions(self, ids: Sequence[str]) -> dict[str, int]:
        """Return the positions with new ids behind the others."""
        is_last = len(self._positions) == len(self)
        positions = self._positions if is_last else dict(zip(self.ids(), range(len(self)), strict=True))
        positions.update((item_id, position) for position, item_id in enumerate(ids, start=len(self)))
        return positions

    def _in_order(self) -> NDArray[np.intp]:
        """Return the order with the new items in it, each put at its place unless most are new."""

        def key(position: int) -> SortKey:
            return self.kind.sort_key(self.items[position])

        ordered = self._ordered
        new = sorted(range(len(ordered), len(self)), key=key)
        if len(new) > len(ordered):
            return np.array(sorted(range(len(self)), key=key), dtype=np.intp)
        places = [bisect(ordered, key(position), key=lambda at: key(int(at))) for position in new]
        return np.insert(ordered, places, new)
