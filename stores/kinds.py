"""Hold the items of one kind and scope, with what is derived from each, ready for search by vector and by term.

What is derived from an item is computed once and kept in columns, which the versions of an index share and extend: a
search loops over no memory in Python, and a commit costs what it adds (docs/decisions/0044).
"""

import copy
from bisect import bisect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from threading import Lock
from typing import Any, Generic, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from langgraph_engram.embeddings.base import Vectors, opening_of, texts_of_narrative, texts_of_turn
from langgraph_engram.filters import Condition
from langgraph_engram.schema import Boundary, Decision, Event, Frozen, PendingTask, Record, Synthesis, Turn
from langgraph_engram.stores.arrays import Allocate, AppendOnlyArray, SessionRow
from langgraph_engram.stores.bm25 import BM25Index
from langgraph_engram.stores.packed_items import PackedItems
from langgraph_engram.stores.vectors import VectorIndex
from langgraph_engram.temporal.datetimes import epoch_seconds
from langgraph_engram.text.tokens import content_stems

T = TypeVar("T", bound=Frozen)
SortKey: TypeAlias = tuple[float, tuple[str | int, ...], str]
"""Seconds since 1970 (-inf where the time is unknown), what orders items of one moment, id."""


@dataclass(frozen=True)
class Kind(Generic[T]):
    """One kind of stored item, and how its fields are read."""

    name: str
    """The name of its collection, of its index in a `ScopeIndex`, and of its field in `Changes`."""
    model: type[T]
    id_field: str
    time_field: str
    tie_fields: tuple[str, ...] = ()
    """What orders items of one moment."""
    with_keywords: bool = False
    """Whether its keywords are searched beside its text."""

    def id_of(self, item: T) -> str:
        """Return an item's id."""
        return str(getattr(item, self.id_field))

    def text_of(self, item: T) -> str:
        """Return the text that an item is found by; empty for what is never searched."""
        return str(getattr(item, "indexed_text", ""))

    def texts_of(self, item: T) -> list[str]:
        """Return the texts that an item's vector is made of: its own, its sentences, its opening, or its topics.

        An open event gets topics with each message; only those that are new are encoded then.
        """
        match item:
            case Event() if item.status == "open" and item.topics:
                return item.topics
            case Turn():
                return texts_of_turn(item)
            case Synthesis():
                return texts_of_narrative(item.text)
            case Record() if item.is_passage:
                return [opening_of(item.content)]
        return [self.text_of(item)]

    def terms_of(self, item: T) -> list[str]:
        """Return the terms that lexical search finds an item by."""
        keywords = getattr(item, "keywords", ()) if self.with_keywords else ()
        return content_stems(" ".join([self.text_of(item), *keywords]))

    def session_of(self, item: T) -> str | None:
        """Return an item's session; None for what spans sessions."""
        session: str | None = getattr(item, "session_id", None)
        return session

    def sort_key(self, item: T) -> SortKey:
        """Return a key that sorts items by time, distinct for each item."""
        seconds = epoch_seconds(getattr(item, self.time_field), float("-inf"))
        return seconds, tuple(getattr(item, name) for name in self.tie_fields), self.id_of(item)

    def distinct(self, items: Iterable[T]) -> list[T]:
        """Return one item of each id, the last one given."""
        return list({self.id_of(item): item for item in items}.values())


TURNS = Kind("turns", Turn, "turn_id", "said_at", ("session_id", "seq"))
EVENTS = Kind("events", Event, "event_id", "started_at", ("session_id", "seq"))
BOUNDARIES = Kind("boundaries", Boundary, "boundary_id", "at", ("session_id",))
RECORDS = Kind("records", Record, "record_id", "mentioned_at", ("session_id", "seq", "part"), with_keywords=True)
SYNTHESES = Kind("syntheses", Synthesis, "synthesis_id", "window_start")
DECISIONS = Kind("decisions", Decision, "decision_id", "decided_at")
PENDING_TASKS = Kind("pending_tasks", PendingTask, "pending_id", "since")

ID_BYTES = 200
"""What the id of an item takes, with its entry among the positions."""
SHORTEST_ID = 4
"""Characters of an id by which its item is found, at the least."""
MAX_INSERTED = 100
"""New items at most that are put at their places in the order of the others one by one."""

SEARCHABLE: tuple[Kind[Any], ...] = (TURNS, EVENTS, BOUNDARIES, RECORDS, SYNTHESES)
"""The kinds that have vectors and an index."""
UNSEARCHED: tuple[Kind[Any], ...] = (DECISIONS, PENDING_TASKS)
"""The other kinds."""


class KindIndex(Generic[T]):
    """The items of one kind in one scope, in the order they were put."""

    def __init__(self, kind: Kind[T], allocate: Allocate = np.empty) -> None:
        """Start empty; `allocate` returns the arrays that hold the vectors."""
        self.kind = kind
        self.items: PackedItems[T] = PackedItems(kind.model)
        self.lexical = BM25Index()
        self._known = _Positions()
        self._vectors = VectorIndex(allocate)
        self._columns: dict[str, _Column] = {}
        self._restored_columns: frozenset[str] = frozenset()
        self._replaced: tuple[int, ...] = ()
        """The positions of the items that were replaced since the index began, in that order."""
        self._ordered: AppendOnlyArray[np.intp] = AppendOnlyArray(np.empty(0, dtype=np.intp))
        """Positions in order of time, of as many items as were there when the order was last read."""
        self._session_rows: dict[int, SessionRow] = {}
        """By the empty places between sessions; of as many items as were there when it was last read."""
        self._codes: dict[str, dict[str, int]] = {}
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self.items)

    def __contains__(self, item_id: object) -> bool:
        return isinstance(item_id, str) and self.find_position(item_id) >= 0

    @property
    def vectors(self) -> Vectors:
        """Return the vectors: float32 of shape (n, d), contiguous, one row an item; not to be written to."""
        return self._vectors.rows

    @property
    def nbytes(self) -> int:
        """Return about how many bytes of the process's memory the index takes; vectors in a file take none."""
        derived = [*(column.values for column in list(self._columns.values())), self._ordered]
        derived += [row.placed for row in list(self._session_rows.values())]
        arrays = self._vectors.nbytes + sum(held.nbytes for held in derived)
        return self.items.nbytes + self.lexical.nbytes + arrays + ID_BYTES * len(self)

    def get(self, item_id: str) -> T | None:
        """Return the item of an id, or None."""
        position = self.find_position(item_id)
        return None if position < 0 else self.items[position]

    def position(self, item_id: str) -> int:
        """Return the position of an id in `items`.

        Raises:
            KeyError: There is no such item.
        """
        position = self.find_position(item_id)
        if position < 0:
            raise KeyError(item_id)
        return position

    def find_position(self, item_id: str | None) -> int:
        """Return the position of an id in `items`; -1 where there is no such item."""
        position = -1 if item_id is None else self._known.positions.get(item_id, -1)
        return position if position < len(self.items) else -1

    def column(
        self, label: str, value_of: Callable[[T], Any], dtype: Any, given: frozenset[str] | None = None
    ) -> NDArray[Any]:
        """Return one value an item, computed for those items alone that are new since the column was last read.

        Args:
            label: The name of the column; another function has another label.
            value_of: Returns the value of an item, a number, or several in a tuple of fixed length.
            dtype: The numpy type of the values.
            given: What the values depend on beside the items; another value makes the column anew.

        Returns:
            An array of shape (n,), or (n, values); not to be written to.
        """
        values: AppendOnlyArray[Any] = self._column(
            label, value_of, lambda found: np.array(found, dtype=dtype), AppendOnlyArray, given
        )
        return values.rows

    def named(self, name: str, conditions: Sequence[Condition] = ()) -> list[T]:
        """Return the item of an id that fulfils all conditions, or those whose ids begin so; no other item is read.

        Args:
            name: The id, or its first characters: fewer than four name nothing.
        """
        ids = [name] if name in self else islice(self._known.positions, len(self) if len(name) >= SHORTEST_ID else 0)
        found = [item_id for item_id in ids if item_id.startswith(name)]
        matched = self.matching(conditions) if found and conditions else None
        positions = map(self.position, found)
        return [self.items[position] for position in positions if matched is None or matched[position]]

    def terms(self, label: str, terms_of: Callable[[T], list[str]]) -> BM25Index:
        """Return an index of further terms of each item, as `column` does; not to be changed."""
        index: BM25Index = self._column(label, terms_of, list, BM25Index, None)
        return index

    def codes(self, label: str, name_of: Callable[[T], str]) -> NDArray[np.intp]:
        """Return a number for each item, the same for items of one name; see `code`.

        Args:
            label: What the names are, such as "speaker".
            name_of: Returns the name of an item.
        """
        known = self._codes.setdefault(label, {})
        return self.column(label, lambda item: known.setdefault(name_of(item), len(known)), np.intp)

    def code(self, label: str, name: str) -> int:
        """Return the number of a name in `codes`; -1 for one that no item has."""
        return self._codes.get(label, {}).get(name, -1)

    def matching(self, conditions: Sequence[Condition]) -> NDArray[np.bool_]:
        """Return which items fulfil all conditions, of shape (n,)."""
        matched = np.ones(len(self.items), dtype=np.bool_)
        for condition in conditions:
            matched &= self.accepted(condition.column, condition.text_of, condition.accepts)
        return matched

    def accepted(self, label: str, name_of: Callable[[T], str], accepts: Callable[[str], bool]) -> NDArray[np.bool_]:
        """Return which items have an accepted name in `codes`, of shape (n,): each distinct name is looked at once."""
        codes = self.codes(label, name_of)
        return np.array([accepts(name) for name in list(self._codes[label])], dtype=np.bool_)[codes]

    def cosine(self, query: Vectors) -> NDArray[np.float32]:
        """Return the cosine of each item with a unit vector of shape (d,) or (1, d), as an array of shape (n,).

        Those of a very large index are exact for the nearest items, and estimates for the others.
        """
        return self._vectors.cosines(query.reshape(-1)) if self.items else np.zeros(0, dtype=np.float32)

    def cosine_of(self, positions: Any, query: Vectors) -> NDArray[np.float32]:
        """Return the cosines of the items at some positions, an array or a slice, in that order."""
        return self._vectors.cosines_at(positions, query.reshape(-1)) if self.items else np.zeros(0, dtype=np.float32)

    def bm25(self, terms: Sequence[str]) -> NDArray[np.float32]:
        """Return the BM25 score of each item for content stems, 0 or above, as an array of shape (n,)."""
        return self.lexical.get_scores(terms).astype(np.float32)

    def order(self) -> NDArray[np.intp]:
        """Return the positions in order of time; items of unknown time come first."""
        if len(self._ordered) < len(self.items):
            with self._lock:
                if len(self._ordered) < len(self.items):
                    self._ordered = self._in_order()
        return self._ordered.rows

    def session_row(self, gap: int) -> SessionRow:
        """Return where each item stands when they are in a row, with so many empty places between sessions."""
        row = self._session_rows.get(gap)
        if row is None or len(row.placed) < len(self.items):
            order, sessions = self.order(), self.session
            with self._lock:
                row = (row or SessionRow(gap)).extended(order, sessions)
                self._session_rows[gap] = row
        return row

    def in_session(self, session_id: str) -> list[T]:
        """Return the items of a session, in the order they were put."""
        sessions = self.session
        return [self.items[position] for position in np.flatnonzero(sessions == self.code("session", session_id))]

    def put(self, items: Sequence[T], vectors: Vectors) -> None:
        """Add items at the end, and replace those whose id is known in place.

        Args:
            items: The items. Of several with one id, the last counts.
            vectors: Their unit vectors, of shape (len(items), d).
        """
        rows = {self.kind.id_of(item): row for row, item in enumerate(items)}
        known = {at: row for item_id, row in rows.items() if (at := self.find_position(item_id)) >= 0}
        new = [row for item_id, row in rows.items() if item_id not in self]
        self._replace({position: items[row] for position, row in known.items()}, vectors[list(known.values())])
        self._append([items[row] for row in new], vectors[new])
        self._clear_derived()

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what `restore` makes this index from: plain JSON, and arrays by name."""
        terms, arrays = self.lexical.state()
        given: dict[str, list[str] | None] = {}
        indexed: dict[str, list[str]] = {}
        for label, column in self._kept_columns().items():
            if isinstance(column.values, BM25Index):
                indexed[label], parts = column.values.state()
                arrays |= {f"terms.{label}.{name}": part for name, part in parts.items()}
            else:
                given[label] = None if column.given is None else list(column.given)
                arrays[f"column.{label}"] = column.values.rows
        arrays |= {**self._vectors.state(), "order": self.order()}
        packed = self.items.packed
        arrays["items"] = np.frombuffer(b"".join(packed), dtype=np.uint8)
        arrays["item_sizes"] = np.array([len(item) for item in packed], dtype=np.int64)
        ids = list(islice(self._known.positions, len(self)))
        return {"ids": ids, "terms": terms, "codes": self._codes, "given": given, "indexed": indexed}, arrays

    def restore(self, state: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Fill an empty index with what `state` returned of another.

        Raises:
            ValueError: The parts do not belong together.
        """
        parts = (state["ids"], *(arrays[name] for name in ("item_sizes", "vectors", "order", "lexical.lengths")))
        if len({len(part) for part in parts}) > 1:
            raise ValueError("its parts differ in length")
        whole, ends = arrays["items"].tobytes(), np.cumsum(arrays["item_sizes"]).tolist()
        packed = [whole[start:end] for start, end in zip([0, *ends], ends, strict=False)]
        self.items = PackedItems(self.kind.model, packed)
        self._known = _Positions(state["ids"])
        self._vectors, self._ordered = self._vectors.restored(arrays), AppendOnlyArray(arrays["order"])
        self.lexical = BM25Index.restored(state["terms"], arrays)
        self._codes = state["codes"]
        for label, given in state["given"].items():
            values: AppendOnlyArray[Any] = AppendOnlyArray(arrays[f"column.{label}"])
            self._columns[label] = _Column(values, 0, None if given is None else frozenset(given))
        for label, terms in state["indexed"].items():
            prefix = f"terms.{label}."
            own = {name.removeprefix(prefix): part for name, part in arrays.items() if name.startswith(prefix)}
            self._columns[label] = _Column(BM25Index.restored(terms, own), 0, None)
        self._restored_columns = frozenset(self._columns)
        self._clear_derived()

    def fork(self) -> Self:
        """Return a copy that may change while this one is read. Arrays are shared until they change."""
        fork = copy.copy(self)
        with self._lock:
            fork._columns = dict(self._columns)
            fork._session_rows = dict(self._session_rows)
        fork.lexical = self.lexical.fork()
        fork._clear_derived()
        return fork

    def has_new_columns(self) -> bool:
        """Return whether `state` holds columns that this index was not restored with."""
        return not self._kept_columns().keys() <= self._restored_columns

    def _kept_columns(self) -> "dict[str, _Column]":
        """Return the columns that `state` holds: of all items or of the first, none of which was replaced since."""
        with self._lock:
            columns = dict(self._columns)
        return {label: column for label, column in columns.items() if column.replaced == len(self._replaced)}

    def _replace(self, items: dict[int, T], vectors: Vectors) -> None:
        for position, item in items.items():
            if self.kind.sort_key(self.items[position]) != self.kind.sort_key(item):
                self._ordered, self._session_rows = AppendOnlyArray(np.empty(0, dtype=np.intp)), {}
            self.lexical.replace(position, self.kind.terms_of(item))
        positions = list(items)
        if positions:
            self.items = self.items.replaced(items)
            self._vectors = self._vectors.replaced(positions, vectors)
        self._replaced += tuple(positions)

    def _append(self, items: Sequence[T], vectors: Vectors) -> None:
        if not items:
            return
        self._known = self._known.extended(list(map(self.kind.id_of, items)), len(self.items))
        self._vectors = self._vectors.extended(vectors)
        self.lexical.extend(map(self.kind.terms_of, items))
        self.items = self.items.extended(items)

    def _clear_derived(self) -> None:
        """Drop the cached properties: they were derived from the items as they were."""
        for name in [name for name in vars(self) if isinstance(getattr(type(self), name, None), cached_property)]:
            del self.__dict__[name]

    def _column(
        self,
        label: str,
        value_of: Callable[[T], Any],
        pack: Callable[[list[Any]], Any],
        start: Callable[[Any], Any],
        given: frozenset[str] | None,
    ) -> Any:
        """Return the values of a column, brought up to date: of what was replaced, and of what was added since."""
        column = self._columns.get(label)
        if column and column.is_of(len(self.items), len(self._replaced), given):
            return column.values
        with self._lock:
            column = self._columns.get(label)
            if column is None or column.given != given:
                values = start(pack([value_of(item) for item in self.items]))
            else:
                values = column.values
                changed = sorted({at for at in self._replaced[column.replaced :] if at < len(values)})
                if changed:
                    values = values.replaced(changed, pack([value_of(self.items[at]) for at in changed]))
                if len(values) < len(self.items):
                    values = values.extended(pack([value_of(item) for item in self.items[len(values) :]]))
            self._columns[label] = _Column(values, len(self._replaced), given)
        return values

    def _in_order(self) -> AppendOnlyArray[np.intp]:
        """Return the order with the new items in it: behind the others, where they are later, as nearly always."""

        def key(position: int) -> SortKey:
            return self.kind.sort_key(self.items[position])

        ordered = self._ordered
        new = sorted(range(len(ordered), len(self.items)), key=key)
        if not len(ordered) or key(new[0]) > key(int(ordered.rows[-1])):
            return ordered.extended(np.array(new, dtype=np.intp))
        if len(new) > MAX_INSERTED:
            return AppendOnlyArray(np.array(sorted(range(len(self.items)), key=key), dtype=np.intp))
        places = [bisect(ordered.rows, key(position), key=lambda at: key(int(at))) for position in new]
        return AppendOnlyArray(np.insert(ordered.rows, places, new))

    @cached_property
    def ranks(self) -> NDArray[np.intp]:
        """Return the rank of each item in order of time, from 0."""
        ranks = np.empty(len(self.items), dtype=np.intp)
        ranks[self.order()] = np.arange(len(self.items))
        return ranks

    @property
    def session(self) -> NDArray[np.intp]:
        """Return the code of each item's session, of shape (n,)."""
        return self.codes("session", lambda item: self.kind.session_of(item) or "")

    @cached_property
    def neighbours(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return, for each item, the positions of the one before and the one after in its session; -1 for none."""
        row = self.session_row(1)
        held = np.full(row.size, -1, dtype=np.intp)
        if self.items and self.kind.session_of(self.items[0]) is not None:
            held[row.places] = np.arange(len(self.items))
        return held[row.places - 1], held[row.places + 1]


class _Positions:
    """The positions of items by id; versions of an index share it, each up to its length."""

    __slots__ = ("positions",)

    def __init__(self, ids: Iterable[str] = ()) -> None:
        self.positions = {item_id: position for position, item_id in enumerate(ids)}

    def extended(self, ids: Sequence[str], size: int) -> "_Positions":
        """Return the positions with new ids behind `size` others; itself, unless another version has grown."""
        known = self if len(self.positions) == size else _Positions(islice(self.positions, size))
        known.positions.update((item_id, position) for position, item_id in enumerate(ids, start=size))
        return known


@dataclass(frozen=True)
class _Column:
    """One value an item, for the items that there were when it was last read."""

    values: AppendOnlyArray[Any] | BM25Index
    replaced: int
    """How many replacements of items it has seen."""
    given: frozenset[str] | None

    def is_of(self, items: int, replaced: int, given: frozenset[str] | None) -> bool:
        """Return whether nothing was added or replaced since, and nothing else changed that it depends on."""
        return len(self.values) == items and self.replaced == replaced and self.given == given
