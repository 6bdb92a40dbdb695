"""Hold the memories of one scope in the process, ready for exact search by vector and by term.

A store never changes an index that it has handed out: a commit makes the next one, so that a reader in another thread
sees one moment throughout. Positions are stable: an item may be replaced, but is never moved.
"""

import copy
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, Generic, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from langgraph_engram.embeddings.base import Vectors, opening_of, texts_of_narrative, texts_of_turn
from langgraph_engram.schema import Boundary, Decision, Event, Frozen, PendingTask, Record, Synthesis, Turn
from langgraph_engram.stores.arrays import AppendOnlyArray
from langgraph_engram.stores.bm25 import BM25Index
from langgraph_engram.temporal.datetimes import epoch_seconds, wall_time
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
        """Return the texts that an item's vector is made of: its own, its sentences, or its opening."""
        match item:
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

SEARCHABLE: tuple[Kind[Any], ...] = (TURNS, EVENTS, BOUNDARIES, RECORDS, SYNTHESES)
"""The kinds that have vectors and an index."""


class KindIndex(Generic[T]):
    """The items of one kind in one scope, in the order they were put."""

    def __init__(self, kind: Kind[T]) -> None:
        """Start empty."""
        self.kind = kind
        self.items: list[T] = []
        self.lexical = BM25Index()
        self._positions: dict[str, int] = {}
        self._sort_keys: list[SortKey] = []
        self._vectors: AppendOnlyArray[np.float32] = AppendOnlyArray(np.empty((0, 0), dtype=np.float32))
        self._sorted: list[int] = []

    def __len__(self) -> int:
        return len(self.items)

    def __contains__(self, item_id: object) -> bool:
        return item_id in self._positions

    @property
    def vectors(self) -> Vectors:
        """Return the vectors: float32 of shape (n, d), contiguous, one row an item; not to be written to."""
        return self._vectors.rows

    def get(self, item_id: str) -> T | None:
        """Return the item of an id, or None."""
        position = self._positions.get(item_id)
        return None if position is None else self.items[position]

    def position(self, item_id: str) -> int:
        """Return the position of an id in `items`.

        Raises:
            KeyError: There is no such item.
        """
        return self._positions[item_id]

    def cosine(self, query: Vectors) -> NDArray[np.float32]:
        """Return the cosine of each item with a unit vector of shape (d,) or (1, d), as an array of shape (n,)."""
        if not self.items:
            return np.zeros(0, dtype=np.float32)
        # einsum keeps to one thread: BLAS with several spends 10 ms on waking them for what takes 0.2 ms.
        cosines: NDArray[np.float32] = np.einsum("nd,d->n", self.vectors, query.reshape(-1))
        return cosines

    def bm25(self, terms: Sequence[str]) -> NDArray[np.float32]:
        """Return the BM25 score of each item for content stems, 0 or above, as an array of shape (n,)."""
        return self.lexical.get_scores(terms).astype(np.float32)

    def order(self) -> NDArray[np.intp]:
        """Return the positions in order of time; items of unknown time come first."""
        return self._order

    def neighbours(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return, for each item, the positions of the one before and the one after in its session; -1 for none."""
        return self._neighbours

    def in_session(self, session_id: str) -> list[T]:
        """Return the items of a session, in the order they were put."""
        return [self.items[position] for position in self._by_session.get(session_id, ())]

    def put(self, items: Sequence[T], vectors: Vectors) -> None:
        """Add items at the end, and replace those whose id is known in place.

        Args:
            items: The items. Of several with one id, the last counts.
            vectors: Their unit vectors, of shape (len(items), d).
        """
        rows = {self.kind.id_of(item): row for row, item in enumerate(items)}
        known = {self._positions[item_id]: row for item_id, row in rows.items() if item_id in self._positions}
        new = [row for item_id, row in rows.items() if item_id not in self._positions]
        self._replace({position: items[row] for position, row in known.items()}, vectors[list(known.values())])
        self._append([items[row] for row in new], vectors[new])
        self._clear_derived()

    def fork(self) -> Self:
        """Return a copy that may change while this one is read. Vectors and postings are shared until they change."""
        fork = copy.copy(self)
        fork.items, fork._sort_keys, fork._sorted = list(self.items), list(self._sort_keys), list(self._sorted)
        fork._positions, fork.lexical = dict(self._positions), self.lexical.fork()
        return fork

    def _replace(self, items: dict[int, T], vectors: Vectors) -> None:
        for position, item in items.items():
            self.items[position] = item
            self._sort_keys[position] = self.kind.sort_key(item)
            self.lexical.replace(position, self.kind.terms_of(item))
        positions = list(items)
        if positions and not np.array_equal(self.vectors[positions], vectors):
            self._vectors = self._vectors.replaced(positions, vectors)

    def _append(self, items: Sequence[T], vectors: Vectors) -> None:
        if not items:
            return
        first = len(self.items)
        self._positions |= {self.kind.id_of(item): position for position, item in enumerate(items, start=first)}
        self._sort_keys += map(self.kind.sort_key, items)
        self._vectors = self._vectors.extended(vectors)
        self.lexical.extend(map(self.kind.terms_of, items))
        self.items += items
        self._sorted += range(first, len(self.items))

    def _clear_derived(self) -> None:
        """Drop the cached properties: they were derived from the items as they were."""
        for name in [name for name in vars(self) if isinstance(getattr(type(self), name, None), cached_property)]:
            del self.__dict__[name]

    @cached_property
    def _order(self) -> NDArray[np.intp]:
        self._sorted = sorted(self._sorted, key=self._sort_keys.__getitem__)  # nearly sorted since the last change
        return np.array(self._sorted, dtype=np.intp)

    @cached_property
    def _neighbours(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        before, after = (np.full(len(self.items), -1, dtype=np.intp) for _ in range(2))
        last: dict[str, int] = {}
        for position in self._order.tolist():
            session = self.kind.session_of(self.items[position])
            if session is None:
                continue
            if (previous := last.get(session)) is not None:
                before[position], after[previous] = previous, position
            last[session] = position
        return before, after

    @cached_property
    def _by_session(self) -> dict[str, list[int]]:
        positions: defaultdict[str, list[int]] = defaultdict(list)
        for position, item in enumerate(self.items):
            if (session := self.kind.session_of(item)) is not None:
                positions[session].append(position)
        return dict(positions)


class TurnIndex(KindIndex[Turn]):
    """The turns of a scope."""

    @cached_property
    def speakers(self) -> list[str]:
        """Return the distinct speakers, in the order of their first turn in time."""
        return list(dict.fromkeys(self.items[position].speaker for position in self.order()))

    @cached_property
    def people(self) -> list[str]:
        """Return the distinct speakers in the role of the user, in the order of their first turn in time."""
        turns = (self.items[position] for position in self.order())
        return list(dict.fromkeys(turn.speaker for turn in turns if turn.role == "user"))

    @cached_property
    def newest(self) -> datetime | None:
        """Return the latest time at which something was said."""
        return self.items[self.order()[-1]].said_at if self.items else None


class RecordIndex(KindIndex[Record]):
    """The records of a scope, with the columns that filters and scores read, each of shape (n,)."""

    @cached_property
    def active(self) -> NDArray[np.bool_]:
        """Return whether each record is active."""
        return np.array([record.status == "active" for record in self.items], dtype=np.bool_)

    @cached_property
    def is_passage(self) -> NDArray[np.bool_]:
        """Return whether each record is a passage."""
        return np.array([record.is_passage for record in self.items], dtype=np.bool_)

    @cached_property
    def event_start(self) -> NDArray[np.float64]:
        """Return when the event of each record began: seconds since 1970, nan for unknown."""
        return self._seconds(record.event_start for record in self.items)

    @cached_property
    def event_end(self) -> NDArray[np.float64]:
        """Return when the event of each record ended: seconds since 1970, nan for unknown."""
        return self._seconds(record.event_end for record in self.items)

    @cached_property
    def mentioned_at(self) -> NDArray[np.float64]:
        """Return when each record was mentioned: seconds since 1970, nan for unknown."""
        return self._seconds(record.mentioned_at for record in self.items)

    @cached_property
    def mentioned_local_time(self) -> NDArray[np.float64]:
        """Return each mention time on the speaker's own clock, as seconds to compare days with; nan for unknown."""
        return self._seconds(wall_time(record.mentioned_at) for record in self.items)

    def successor(self, record: Record) -> Record | None:
        """Return the active record that replaces one, at the end of the chain; None where there is none."""
        seen = {record.record_id}
        while record.superseded_by and record.superseded_by not in seen and (by := self.get(record.superseded_by)):
            seen.add(by.record_id)
            record = by
        return record if len(seen) > 1 and record.status == "active" else None

    def in_conflict(self, record: Record) -> list[Record]:
        """Return the active records that cannot be true together with one, in order of time.

        One that was merged with a repeat is in conflict as what was made of it; one that was superseded no longer is.
        """
        found: dict[str, Record] = {}
        for other in map(self.get, record.conflicts_with):
            while other and other.status == "merged":
                other = self.get(other.superseded_by or "")
            if other and other.status == "active" and other.record_id != record.record_id:
                found[other.record_id] = other
        return sorted(found.values(), key=self.kind.sort_key)

    @staticmethod
    def _seconds(times: Iterable[datetime | None]) -> NDArray[np.float64]:
        return np.array([epoch_seconds(time, float("nan")) for time in times], dtype=np.float64)


class ScopeIndex:
    """Everything of one scope, as of one revision."""

    def __init__(self, revision: str = "{}") -> None:
        """Start empty."""
        self.turns = TurnIndex(TURNS)
        self.events = KindIndex(EVENTS)
        self.boundaries = KindIndex(BOUNDARIES)
        self.records = RecordIndex(RECORDS)
        self.syntheses = KindIndex(SYNTHESES)
        self.pending_tasks: dict[str, PendingTask] = {}
        """Pending tasks by id; replaced as a whole, never changed."""
        self.revision = revision
        """Identifies the commits that this index has seen."""

    @property
    def speakers(self) -> list[str]:
        """Return the distinct speakers of turns, in the order of their first turn in time."""
        return list(self.turns.speakers)

    @property
    def newest(self) -> datetime | None:
        """Return the latest time at which something was said."""
        return self.turns.newest

    def session_turns(self, session_id: str) -> list[Turn]:
        """Return the turns of a session, in its order."""
        return sorted(self.turns.in_session(session_id), key=lambda turn: turn.seq)

    def session_events(self, session_id: str) -> list[Event]:
        """Return the events of a session, in its order."""
        return sorted(self.events.in_session(session_id), key=lambda event: event.seq)

    def of_kind(self, kind: Kind[T]) -> KindIndex[T]:
        """Return the index of a searchable kind."""
        index: KindIndex[T] = getattr(self, kind.name)
        return index

    def with_revision(self, revision: str) -> "ScopeIndex":
        """Return this index under another revision."""
        index = copy.copy(self)
        index.revision = revision
        return index

    def with_pending_tasks(self, added: Iterable[PendingTask], completed: Iterable[str]) -> "ScopeIndex":
        """Return an index with pending tasks added, then others removed by id; this one stays as it is."""
        index = copy.copy(self)
        index.pending_tasks = self.pending_tasks | {task.pending_id: task for task in added}
        for pending_id in completed:
            index.pending_tasks.pop(pending_id, None)
        return index

    def with_items(self, kind: Kind[Any], items: Sequence[Any], vectors: Vectors) -> "ScopeIndex":
        """Return an index with items added or replaced; this one stays as it is."""
        index = copy.copy(self)
        of_kind = self.of_kind(kind).fork()
        of_kind.put(items, vectors)
        setattr(index, kind.name, of_kind)
        return index
