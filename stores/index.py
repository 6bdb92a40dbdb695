"""Hold one scope's memories in the process, ready for exact search: shelves of things, vectors and postings.

A store never changes an index that it has handed out: what a commit adds stands in the next one, so that a reader in
another thread sees one moment throughout. Positions stay: a thing once put is never moved. This module does not know
where things are kept for good.
"""

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, Generic, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from langgraph_engram.embeddings.base import Vectors, texts_of_narrative, texts_of_turn
from langgraph_engram.schema import Boundary, Decision, Event, Frozen, PendingTask, Record, Synthesis, Turn
from langgraph_engram.stores.arrays import AppendOnlyArray, grouped, neighbours
from langgraph_engram.stores.bm25 import BM25Index
from langgraph_engram.temporal.datetimes import epoch_seconds, on_clock
from langgraph_engram.text.tokens import content_stems

T = TypeVar("T", bound=Frozen)
Place: TypeAlias = tuple[float, tuple[str | int, ...], str]
"""Seconds since 1970 (-inf where the time is unknown), place within that moment, id."""


@dataclass(frozen=True)
class Kind(Generic[T]):
    """One kind of thing that is kept."""

    name: str
    """The name of its collection, and of its shelf."""
    model: type[T]
    id_field: str
    time_field: str
    place_fields: tuple[str, ...] = ()
    """What orders things of one moment."""
    with_keywords: bool = False
    """Whether its keywords are found beside its text."""

    def id_of(self, item: T) -> str:
        """Give an item's id."""
        return str(getattr(item, self.id_field))

    def text_of(self, item: T) -> str:
        """Give the text that routes search; empty for what is never searched."""
        return str(getattr(item, "indexed_text", ""))

    def texts_of(self, item: T) -> list[str]:
        """Give the texts that an item's vector is made of: its own, or the sentences of a long turn or narrative."""
        match item:
            case Turn():
                return texts_of_turn(item)
            case Synthesis():
                return texts_of_narrative(item.text)
        return [self.text_of(item)]

    def terms_of(self, item: T) -> list[str]:
        """Give the terms that lexical search finds an item by."""
        keywords = getattr(item, "keywords", ()) if self.with_keywords else ()
        return content_stems(" ".join([self.text_of(item), *keywords]))

    def session_of(self, item: T) -> str | None:
        """Give an item's session; none for what spans sessions."""
        session: str | None = getattr(item, "session_id", None)
        return session

    def place_of(self, item: T) -> Place:
        """Give an item's place in time, for sorting; no two items share one."""
        seconds = epoch_seconds(getattr(item, self.time_field), float("-inf"))
        return seconds, tuple(getattr(item, name) for name in self.place_fields), self.id_of(item)

    def distinct(self, items: Iterable[T]) -> list[T]:
        """Keep one item of each id, the last one given."""
        return list({self.id_of(item): item for item in items}.values())


TURNS = Kind("turns", Turn, "turn_id", "said_at", ("session_id", "seq"))
EVENTS = Kind("events", Event, "event_id", "started_at", ("session_id", "seq"))
BOUNDARIES = Kind("boundaries", Boundary, "boundary_id", "at", ("session_id",))
RECORDS = Kind(
    "records", Record, "record_id", "mentioned_at", ("session_id", "seq", "part"), with_keywords=True
)  # fmt: skip
SYNTHESES = Kind("syntheses", Synthesis, "synthesis_id", "window_start")
DECISIONS = Kind("decisions", Decision, "decision_id", "decided_at")
PENDING_TASKS = Kind("pending_tasks", PendingTask, "pending_id", "since")


class KindIndex(Generic[T]):
    """The things of one kind of one scope, in the order they were put."""

    def __init__(self, kind: Kind[T]) -> None:
        """Start empty."""
        self.kind = kind
        self.items: list[T] = []
        self.lexical = BM25Index()
        self._positions: dict[str, int] = {}
        self._places: list[Place] = []
        self._vectors: AppendOnlyArray[np.float32] = AppendOnlyArray(np.empty((0, 0), dtype=np.float32))
        self._sorted: list[int] = []

    def __len__(self) -> int:
        return len(self.items)

    def __contains__(self, item_id: object) -> bool:
        return item_id in self._positions

    @property
    def vectors(self) -> Vectors:
        """Give the vectors: float32 of shape (n, d), contiguous, one row an item; not to be written to."""
        return self._vectors.rows

    def get(self, item_id: str) -> T | None:
        """Give the thing of that id, if it is here."""
        position = self._positions.get(item_id)
        return None if position is None else self.items[position]

    def position(self, item_id: str) -> int:
        """Give where the thing of that id stands.

        Raises:
            KeyError: No such thing is here.
        """
        return self._positions[item_id]

    def cosine(self, query: Vectors) -> NDArray[np.float32]:
        """Give the cosine of each thing with a unit vector of shape (d,) or (1, d), as an array of shape (n,)."""
        if not self.items:
            return np.zeros(0, dtype=np.float32)
        # einsum keeps to one thread: BLAS with several spends 10 ms on waking them for what takes 0.2 ms.
        cosines: NDArray[np.float32] = np.einsum("nd,d->n", self.vectors, query.reshape(-1))
        return cosines

    def bm25(self, terms: Sequence[str]) -> NDArray[np.float32]:
        """Give the BM25 score of each thing for content stems, 0 or above, as an array of shape (n,)."""
        return self.lexical.get_scores(terms).astype(np.float32)

    def order(self) -> NDArray[np.intp]:
        """Give the positions sorted by place in time; things of unknown time come first."""
        return self._order

    def neighbours(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Give, for each thing, the positions of the one before and the one after in its session; -1 for none."""
        return self._neighbours

    def in_session(self, session_id: str) -> list[T]:
        """Give the things of a session, in the order they were put."""
        return [self.items[position] for position in self._by_session.get(session_id, ())]

    def put(self, items: Sequence[T], vectors: Vectors) -> None:
        """Add things, and replace those whose id is here where they stand.

        Args:
            items: The things. Of several with one id, the last counts.
            vectors: Their unit vectors, of shape (len(items), d).
        """
        rows = {self.kind.id_of(item): row for row, item in enumerate(items)}
        known = {self._positions[one]: row for one, row in rows.items() if one in self._positions}
        new = [row for one, row in rows.items() if one not in self._positions]
        self._replace({position: items[row] for position, row in known.items()}, vectors[list(known.values())])
        self._append([items[row] for row in new], vectors[new])
        self._forget()

    def fork(self) -> Self:
        """Give a copy that may change while this one is read. Vectors and postings are shared until they change."""
        fork = copy.copy(self)
        fork.items, fork._places, fork._sorted = list(self.items), list(self._places), list(self._sorted)
        fork._positions, fork.lexical = dict(self._positions), self.lexical.fork()
        return fork

    def _replace(self, items: dict[int, T], vectors: Vectors) -> None:
        for position, item in items.items():
            self.items[position] = item
            self._places[position] = self.kind.place_of(item)
            self.lexical.replace(position, self.kind.terms_of(item))
        positions = list(items)
        if positions and not np.array_equal(self.vectors[positions], vectors):
            self._vectors = self._vectors.replaced(positions, vectors)

    def _append(self, items: Sequence[T], vectors: Vectors) -> None:
        if not items:
            return
        first = len(self.items)
        self._positions |= {self.kind.id_of(item): position for position, item in enumerate(items, start=first)}
        self._places += map(self.kind.place_of, items)
        self._vectors = self._vectors.extended(vectors)
        self.lexical.extend(map(self.kind.terms_of, items))
        self.items += items
        self._sorted += range(first, len(self.items))

    def _forget(self) -> None:
        """Drop what was derived from the things as they were."""
        derived = [name for name in vars(self) if isinstance(getattr(type(self), name, None), cached_property)]
        for name in derived:
            del self.__dict__[name]

    @cached_property
    def _order(self) -> NDArray[np.intp]:
        self._sorted = sorted(self._sorted, key=self._places.__getitem__)  # nearly sorted since the last change
        return np.array(self._sorted, dtype=np.intp)

    @cached_property
    def _neighbours(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        return neighbours(self._order.tolist(), [self.kind.session_of(item) for item in self.items])

    @cached_property
    def _by_session(self) -> dict[str, list[int]]:
        return grouped((self.kind.session_of(item), position) for position, item in enumerate(self.items))


class TurnIndex(KindIndex[Turn]):
    """Turns, and what is asked of all of them."""

    @cached_property
    def speakers(self) -> list[str]:
        """Give the distinct speakers, in the order of their first turn in time."""
        return list(dict.fromkeys(self.items[position].speaker for position in self.order()))

    @cached_property
    def newest(self) -> datetime | None:
        """Give the latest time at which something was said."""
        return self.items[self.order()[-1]].said_at if self.items else None


class RecordIndex(KindIndex[Record]):
    """Records, with the columns that filters and dimension scores read. Each is derived once after a change."""

    @cached_property
    def active(self) -> NDArray[np.bool_]:
        """Say of each record whether it is active."""
        return np.array([record.status == "active" for record in self.items], dtype=np.bool_)

    def successor(self, record: Record) -> Record | None:
        """Give the active record that stands in the place of one, at the end of the chain; none where there is none."""
        seen = {record.record_id}
        while record.superseded_by and record.superseded_by not in seen and (by := self.get(record.superseded_by)):
            seen.add(by.record_id)
            record = by
        return record if len(seen) > 1 and record.status == "active" else None

    @cached_property
    def event_start(self) -> NDArray[np.float64]:
        """Give when what each record tells began: seconds since 1970, nan for unknown."""
        return self._seconds("event_start")

    @cached_property
    def event_end(self) -> NDArray[np.float64]:
        """Give when what each record tells ended: seconds since 1970, nan for unknown."""
        return self._seconds("event_end")

    @cached_property
    def mentioned_at(self) -> NDArray[np.float64]:
        """Give when each record was told: seconds since 1970, nan for unknown."""
        return self._seconds("mentioned_at")

    @cached_property
    def mentioned_local_time(self) -> NDArray[np.float64]:
        """Give what the clock of whoever told each record showed, for days to be compared with; nan for unknown."""
        return np.array([epoch_seconds(on_clock(one.mentioned_at), float("nan")) for one in self.items])

    def _seconds(self, field: str) -> NDArray[np.float64]:
        return np.array([epoch_seconds(getattr(one, field), float("nan")) for one in self.items], dtype=np.float64)


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
        """The turns whose later steps are not done, by the pending's id; replaced as a whole, never changed."""
        self.revision = revision
        """What identifies the commits this index has seen."""

    @property
    def speakers(self) -> list[str]:
        """Give the distinct speakers of turns, in the order of their first turn in time."""
        return list(self.turns.speakers)

    @property
    def newest(self) -> datetime | None:
        """Give the latest time at which something was said."""
        return self.turns.newest

    def session_turns(self, session_id: str) -> list[Turn]:
        """Give the turns of a session by their place in it."""
        return sorted(self.turns.in_session(session_id), key=lambda turn: turn.seq)

    def session_events(self, session_id: str) -> list[Event]:
        """Give the events of a session by their place in it."""
        return sorted(self.events.in_session(session_id), key=lambda event: event.seq)

    def shelf(self, kind: Kind[T]) -> KindIndex[T]:
        """Give the shelf of a searchable kind."""
        shelf: KindIndex[T] = getattr(self, kind.name)
        return shelf

    def at(self, revision: str) -> "ScopeIndex":
        """Give this index under another revision."""
        index = copy.copy(self)
        index.revision = revision
        return index

    def pending(self, noted: Iterable[PendingTask], completed: Iterable[str]) -> "ScopeIndex":
        """Give an index with pending_tasks noted, and others, by their ids, settled; this one stays as it is."""
        index = copy.copy(self)
        index.pending_tasks = self.pending_tasks | {one.pending_id: one for one in noted}
        for one in completed:
            index.pending_tasks.pop(one, None)
        return index

    def put(self, kind: Kind[Any], items: Sequence[Any], vectors: Vectors) -> "ScopeIndex":
        """Give an index with things added or replaced; this one stays as it is."""
        index = copy.copy(self)
        shelf = self.shelf(kind).fork()
        shelf.put(items, vectors)
        setattr(index, kind.name, shelf)
        return index
