"""Hold the memories of one scope in the process, and those of the scopes used last as far as there is room.

A store never changes an index that it has handed out: a commit makes the next one, so that a reader in another thread
sees one moment throughout. Positions are stable: an item may be replaced, but is never moved.
"""

import copy
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from math import nan
from threading import RLock
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from langgraph_engram.embeddings.base import Vectors
from langgraph_engram.filters import Condition
from langgraph_engram.schema import Boundary, Branches, Decision, Event, PendingTask, Record, Scope, Synthesis, Turn
from langgraph_engram.stores.kind_index import Codes, KindIndex, Values
from langgraph_engram.stores.kinds import (
    BOUNDARIES,
    DECISIONS,
    EVENTS,
    PENDING_TASKS,
    RECORDS,
    SEARCHABLE,
    SYNTHESES,
    TURNS,
    UNSEARCHED,
    Kind,
    T,
)
from langgraph_engram.stores.versions import UNPACKED_BYTES
from langgraph_engram.temporal.datetimes import epoch_seconds, wall_time
from langgraph_engram.text.words import content_stems

MAX_SCOPES = 64
"""Scopes in memory at most."""
MAX_EARLIER = 4
"""Versions before the present one of a scope that are kept for runs that began on them; versions share arrays."""
K = TypeVar("K", bound=KindIndex[Any])
View: TypeAlias = "tuple[tuple[datetime | None, Branches], ScopeIndex]"


class TurnIndex(KindIndex[Turn]):
    """The turns of a scope, with columns of shape (n,)."""

    speaker = Codes[Turn](lambda turn: turn.speaker)
    seq = Values[Turn](lambda turn: turn.seq, np.intp)
    """The position of each turn in its session."""
    from_user = Values[Turn](lambda turn: turn.role == "user", np.bool_)
    from_assistant = Values[Turn](lambda turn: turn.role == "assistant", np.bool_)
    external_id = Codes[Turn](lambda turn: turn.external_id or "")
    is_withdrawn = Values[Turn](lambda turn: turn.withdrawn is not None, np.bool_)
    """Whether the thread of each turn no longer holds it."""
    characters = Values[Turn](lambda turn: len(turn.text), np.intp)
    """The length of each turn's text."""

    @cached_property
    def speakers(self) -> list[str]:
        """Return the distinct speakers, in the order of their first turn in time."""
        return self._speakers_of(self.order())

    @cached_property
    def people(self) -> list[str]:
        """Return the distinct speakers in the role of the user, in the order of their first turn in time."""
        order = self.order()
        return self._speakers_of(order[self.from_user[order]])

    @property
    def newest(self) -> datetime | None:
        """Return the latest time at which something was said."""
        return self.items[self.order()[-1]].said_at if self.items else None

    @cached_property
    def following(self) -> NDArray[np.intp]:
        """Return the position of the turn after each one in its session; -1 for none."""
        positions = np.full(int(self.places.max(initial=0)) + 2, -1, dtype=np.intp)
        positions[self.places] = np.arange(len(self))
        return positions[self.places + 1]

    def _speakers_of(self, positions: NDArray[np.intp]) -> list[str]:
        codes = self.speaker[positions]
        first = np.full(int(codes.max(initial=-1)) + 1, len(codes))
        np.minimum.at(first, codes, np.arange(len(codes)))
        return [self.items[position].speaker for position in positions[np.sort(first[first < len(codes)])]]


class RecordIndex(KindIndex[Record]):
    """The records of a scope, with the columns that filters and scores read, each of shape (n,)."""

    active = Values[Record](lambda record: record.status == "active", np.bool_)
    superseded = Values[Record](lambda record: record.status == "superseded", np.bool_)
    is_chunk = Values[Record](lambda record: record.is_chunk, np.bool_)
    speaker = Codes[Record](lambda record: record.speaker)
    memory_type = Codes[Record](lambda record: record.memory_type or "")
    event_start = Values[Record](lambda record: epoch_seconds(record.event_start, nan), np.float64)
    """When the event of each record began: seconds since 1970, nan for unknown."""
    event_end = Values[Record](lambda record: epoch_seconds(record.event_end, nan), np.float64)
    """When it ended."""
    mentioned_at = Values[Record](lambda record: epoch_seconds(record.mentioned_at, nan), np.float64)
    """When each record was mentioned: seconds since 1970, nan for unknown."""
    mentioned_local_time = Values[Record](lambda record: epoch_seconds(wall_time(record.mentioned_at), nan), np.float64)
    """Each mention time on the speaker's own clock, as seconds to compare days with; nan for unknown."""
    mentioned_day = Values[Record](
        lambda record: record.mentioned_at.toordinal() if record.mentioned_at else 0, np.intp
    )
    """The day of each mention on the speaker's own clock, by its number in the calendar; 0 for unknown."""
    significance = Values[Record](lambda record: record.significance, np.float32)
    is_lasting = Values[Record](lambda record: record.lasting is not None, np.bool_)
    has_slot = Values[Record](lambda record: bool(record.slot), np.bool_)
    is_sorted = Values[Record](lambda record: bool(record.slot or record.sets), np.bool_)
    """Whether each record has a slot, or is in sets."""
    characters = Values[Record](lambda record: len(record.content), np.intp)
    """The length of each record's content."""
    has_location = Values[Record](lambda record: bool(record.location), np.bool_)

    def lasting_positions(self) -> list[int]:
        """Return the positions of the active records that last."""
        return [int(position) for position in np.flatnonzero(self.is_lasting & self.active)]

    def in_slots_and_sets(self) -> list[Record]:
        """Return the active records with a slot or sets, in the order they were put."""
        return [self.items[int(position)] for position in np.flatnonzero(self.is_sorted & self.active)]

    def mentioning(self, place: str) -> NDArray[np.bool_]:
        """Return which records hold all content stems of a place, or have it in their location; of shape (n,)."""
        stems, wanted = set(content_stems(place)), place.strip().casefold()
        named = self.accepted(
            "location", lambda record: record.location, lambda name: bool(wanted) and wanted in name.casefold()
        )
        if stems:
            named |= self.lexical.count_matches(stems) == len(stems)
        return named

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


class ScopeIndex:
    """Everything of one scope, as of one revision."""

    def __init__(self, revision: str = "{}") -> None:
        self.turns = TurnIndex(TURNS)
        self.events = KindIndex(EVENTS)
        self.boundaries = KindIndex(BOUNDARIES)
        self.records = RecordIndex(RECORDS)
        self.syntheses = KindIndex(SYNTHESES)
        self.pending_tasks: dict[str, PendingTask] = {}
        """Pending tasks by id; replaced as a whole, never changed."""
        self.decisions: dict[str, Decision] = {}
        """Decisions by id; replaced as a whole, never changed."""
        self.revision = revision
        """Identifies the commits that this index has seen."""
        self.derived: dict[str, Any] = {}
        """What was computed of this version, by name."""
        self.view: View | None = None
        """What `as_of` made last, and of what."""

    @property
    def nbytes(self) -> int:
        """Return about how many bytes of the process's memory the index takes, with the view last made of it."""
        unsearched = UNPACKED_BYTES * sum(len(getattr(self, kind.name)) for kind in UNSEARCHED)
        own = sum(self.of_kind(kind).nbytes for kind in SEARCHABLE)
        return own + unsearched + (self.view[1].nbytes if self.view else 0)

    def session_turns(self, session_id: str, *, withdrawn: bool = False) -> list[Turn]:
        """Return the turns of a session that its thread holds, in its order; with `withdrawn`, the others as well."""
        turns = (turn for turn in self.turns.in_session(session_id) if withdrawn or turn.withdrawn is None)
        return sorted(turns, key=lambda turn: turn.seq)

    def session_events(self, session_id: str) -> list[Event]:
        """Return the events of a session, in its order."""
        return sorted(self.events.in_session(session_id), key=lambda event: event.seq)

    def of_kind(self, kind: Kind[T]) -> KindIndex[T]:
        """Return the index of a searchable kind."""
        index: KindIndex[T] = getattr(self, kind.name)
        return index

    def with_unsearched(self, kind: Kind[T], added: Iterable[T], removed: Iterable[str] = ()) -> "ScopeIndex":
        """Return an index with pending tasks or decisions added, then others removed by id; this one stays as it is."""
        items = getattr(self, kind.name) | {kind.id_of(item): item for item in added}
        for item_id in removed:
            items.pop(item_id, None)
        return self.with_parts(**{kind.name: items})

    def with_items(self, kind: Kind[Any], items: Sequence[Any], vectors: Vectors | None) -> "ScopeIndex":
        """Return an index with items added or replaced, whether they are searched or not; this one stays as it is."""
        if vectors is None:
            return self.with_unsearched(kind, items)
        after = self.of_kind(kind).with_items(items, vectors)
        return self.with_parts(**{kind.name: after}, view=_carried(self, kind, items, vectors))

    def as_of(self, moment: datetime | None, branches: Branches = "current") -> "ScopeIndex":
        """Return what the scope holds, or held at a moment, ready for search: what was said, and taken to be true then.

        Turns and records mentioned by then are part of it, and those of unknown time, but for turns that their threads
        no longer held, and what rests on them alone (docs/decisions/0026). A record is active if what superseded it was
        not known. Boundaries and syntheses count if they were complete; an event keeps the turns that it has.
        """
        if moment is None and (branches == "all" or not self.turns.is_withdrawn.any()):
            return self
        view = self.view  # another thread may ask for another one meanwhile
        if view is None or view[0] != (moment, branches):
            view = self.view = (moment, branches), _as_of(self, moment, branches)
        return view[1]

    def with_parts(self, **parts: object) -> "ScopeIndex":
        """Return an index with another revision, or other items of a kind; this one stays as it is."""
        index = copy.copy(self)
        index.view, index.derived = None, {}
        if self.view and parts.keys().isdisjoint(kind.name for kind in SEARCHABLE):
            index.view = self.view[0], self.view[1].with_parts(**parts)
        vars(index).update(parts)
        return index


def _as_of(index: ScopeIndex, moment: datetime | None, branches: Branches) -> ScopeIndex:
    at = moment, branches
    turns = _viewed(index.turns, _shown(at, index.events, index.turns, bool)[TURNS.name])
    known = {record.record_id for record in index.records.items if _is_known(record, moment, turns)}
    shown = _shown(at, index.events, turns, known.__contains__)
    parts = {kind.name: _viewed(index.of_kind(kind), shown[kind.name]) for kind in SEARCHABLE if kind is not TURNS}
    return index.with_parts(turns=turns, **parts)


def _shown(
    at: tuple[datetime | None, Branches], events: KindIndex[Event], turns: KindIndex[Turn], known: Callable[[str], bool]
) -> dict[str, Callable[[Any], Any]]:
    """Return by kind what a view of these turns and known records has of an item: itself, or changed, or None."""

    def is_whole(event: Event | None) -> bool:
        return event is not None and _event_of(event, turns) is event

    return {
        TURNS.name: lambda turn: turn if _is_by(turn.said_at, at[0]) and turn.stands(*at) else None,
        EVENTS.name: lambda event: _event_of(event, turns),
        BOUNDARIES.name: lambda found: found if is_whole(events.get(found.to_event_id)) else None,
        RECORDS.name: lambda record: _record_as_of(record, known, at[0]),
        SYNTHESES.name: lambda synthesis: synthesis if all(map(known, synthesis.covered_record_ids)) else None,
    }


def _viewed(source: K, item_of: Callable[[Any], Any]) -> K:
    """Return the items of a kind that a view has, as they are in it, with the vectors that they have."""
    viewed = {at: (stored, item) for at, stored in enumerate(source.items) if (item := item_of(stored)) is not None}
    changed = {position: item for position, (stored, item) in viewed.items() if item is not stored}
    view = source.selected(np.array([*viewed], dtype=np.intp))
    return view.with_items([*changed.values()], source.vectors[[*changed]]) if changed else view


def _carried(index: ScopeIndex, kind: Kind[Any], items: Sequence[Any], vectors: Vectors) -> "View | None":
    """Return the view last made of an index with what of further items it has; None where others may move in it."""
    if index.view is None:
        return None
    at, view = index.view
    of_kind, in_view = index.of_kind(kind), view.of_kind(kind)
    known = {record.record_id: _is_known(record, at[0], view.turns) for record in items if kind is RECORDS}
    shown = _shown(at, index.events, view.turns, lambda record_id: known.get(record_id, record_id in view.records))
    rows: dict[int, Any] = {}
    for row, item in enumerate(items):
        before, was = (held.get(kind.id_of(item)) for held in (of_kind, in_view))
        after = shown[kind.name](item)
        if before and (was is None, was == before) != (after is None, after is item):
            return None
        rows |= {row: after} if after else {}
    return at, view.with_parts(**{kind.name: in_view.with_items([*rows.values()], vectors[[*rows]])})


def _is_by(said: datetime | None, moment: datetime | None) -> bool:
    return said is None or moment is None or said <= moment


def _is_known(record: Record, moment: datetime | None, turns: KindIndex[Turn]) -> bool:
    """Return whether a record was made by then and rests on these turns: on each cited, or some that say all of it."""
    held = [turns.position(turn_id) for turn_id in record.source_turn_ids if turn_id in turns]
    if not _is_by(record.mentioned_at, moment):
        return False
    if len(held) == len(record.source_turn_ids) or not held:
        return bool(held) or not record.source_turn_ids
    said = {stem for turn in turns.items.at(held) for stem in content_stems(turn.indexed_text)}
    return said.issuperset(content_stems(record.content))


def _event_of(event: Event, turns: KindIndex[Turn]) -> Event | None:
    """Return an event with those of its turns; without a title where that may tell of the others."""
    said = [turn_id for turn_id in event.turn_ids if turn_id in turns]
    if not said or len(said) == len(event.turn_ids):
        return event if said else None
    return event.model_copy(update={"turn_ids": said, "summary": "", "topics": [], "keywords": [], "status": "open"})


def _record_as_of(record: Record, known: Callable[[str], bool], moment: datetime | None) -> Record | None:
    if not known(record.record_id):
        return None
    superseded_later = record.superseded_by is not None and not known(record.superseded_by)
    was_valid = record.valid_to is not None and moment is not None and record.valid_to > moment
    still_valid = record.status == "superseded" and was_valid
    if record.status in ("merged", "superseded") and (superseded_later or still_valid):
        return record.model_copy(update={"status": "active", "superseded_by": None, "valid_to": None})
    return record


__all__ = ["BOUNDARIES", "DECISIONS", "EVENTS", "PENDING_TASKS", "RECORDS", "SYNTHESES", "TURNS", "Kind", "KindIndex"]


@dataclass(frozen=True, eq=False)
class Matches:
    """What of a scope fulfils conditions.

    Of an event its kind and status are asked, and of the rest that one of its turns fulfils it; of a synthesis, that
    all records and events that it covers do. A boundary is asked of the event that it leads to.
    """

    index: ScopeIndex
    conditions: Sequence[Condition]

    @cached_property
    def records(self) -> NDArray[np.bool_]:
        """Return which records fulfil them, of shape (n,)."""
        return self.index.records.matching(self.conditions)

    @cached_property
    def turns(self) -> NDArray[np.bool_]:
        """Return which turns fulfil them, of shape (n,)."""
        return self.index.turns.matching(self.conditions)

    def has(self, item: Event | Boundary | Synthesis) -> bool:
        """Return whether an item fulfils them."""
        if not self.conditions:
            return True
        if not all(condition.accepts(condition.text_of(item)) for condition in self.conditions if _is_own(condition)):
            return False
        if isinstance(item, Synthesis):
            covered = [self.index.records.find_position(record_id) for record_id in item.covered_record_ids]
            is_covered = all(position >= 0 and bool(self._members[1][position]) for position in covered)
            return is_covered and all(all(self._turns_of(event_id)) for event_id in item.seed_event_ids)
        return any(self._turns_of(item.to_event_id if isinstance(item, Boundary) else item.event_id))

    def _turns_of(self, event_id: str) -> Iterator[bool]:
        """Yield whether each turn of an event fulfils what is asked of members; a missing turn does not."""
        event, turns = self.index.events.get(event_id), self.index.turns
        for turn_id in event.turn_ids if event else ():
            position = turns.find_position(turn_id)
            yield position >= 0 and bool(self._members[0][position])

    @cached_property
    def _members(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which turns and records fulfil what is asked of members."""
        asked = [condition for condition in self.conditions if not _is_own(condition)]
        return self.index.turns.matching(asked), self.index.records.matching(asked)


def _is_own(condition: Condition) -> bool:
    """Return whether an event, a boundary or a synthesis is asked itself, and not its members."""
    return condition.key in ("kind", "status")


@dataclass
class _Cached:
    """The index of a scope, with the versions before it, the newest first, and what it took when last looked at."""

    index: ScopeIndex
    earlier: tuple[ScopeIndex, ...]
    size: int


class IndexCache:
    """The scope indexes used last. Many threads may use it at once."""

    def __init__(self, memory_limit_mb: int) -> None:
        self._most_bytes = memory_limit_mb * 1_000_000
        self._cached: OrderedDict[Scope, _Cached] = OrderedDict()
        """By scope; the one used last is the last one."""
        self._lock = RLock()

    @property
    def is_over_limit(self) -> bool:
        """Return whether there is an index to let go of."""
        with self._lock:
            over = len(self._cached) > MAX_SCOPES or sum(held.size for held in self._cached.values()) > self._most_bytes
            return over and len(self._cached) > 1

    def get(self, scope: Scope) -> ScopeIndex | None:
        """Return the index of a scope, if it is cached."""
        with self._lock:
            held = self._cached.get(scope)
            if held is None:
                return None
            last = self._cached[next(reversed(self._cached))]
            if last is not held:
                last.size = last.index.nbytes  # it grows as it is read
                self._cached.move_to_end(scope)
            return held.index

    def version(self, scope: Scope, revision: str) -> ScopeIndex | None:
        """Return the index of a scope as it was at a revision, if it is cached."""
        with self._lock:
            held = self._cached.get(scope)
        versions = (held.index, *held.earlier) if held else ()
        return next((index for index in versions if index.revision == revision), None)

    def put(self, scope: Scope, index: ScopeIndex, before: ScopeIndex | None = None) -> list[tuple[Scope, ScopeIndex]]:
        """Cache the index of a scope, and keep `before`, the version that it was made from.

        Returns:
            The indexes used longest ago that were beyond the limits and were removed; never the one that was put.
        """
        surplus = []
        with self._lock:
            held = self._cached.pop(scope, None)
            earlier = held.earlier if held and (before is not None or held.index is index) else ()
            if before is not None:
                earlier = (before, *earlier)[:MAX_EARLIER]
            self._cached[scope] = _Cached(index, earlier, index.nbytes)
            while self.is_over_limit:
                last, of_last = self._cached.popitem(last=False)
                surplus.append((last, of_last.index))
        return surplus

    def all(self) -> list[tuple[Scope, ScopeIndex]]:
        """Return the indexes in the cache, with their scopes; the one used last is the last one."""
        with self._lock:
            return [(scope, held.index) for scope, held in self._cached.items()]

    def clear(self) -> None:
        """Remove all indexes."""
        with self._lock:
            self._cached.clear()

    def drop(self, scope: Scope) -> None:
        """Remove the index of a scope."""
        with self._lock:
            self._cached.pop(scope, None)
