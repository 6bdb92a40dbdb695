"""Lay out what is stored as a timeline: sessions, the events in them, their records and syntheses, page by page.

A page holds a limited number of items, whatever the memory holds.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from math import inf

from langgraph_engram.schema import Boundary, Event, Record, Synthesis, Turn
from langgraph_engram.stores.index import RECORDS, ScopeIndex
from langgraph_engram.temporal.datetimes import epoch_seconds

PAGE_ITEMS = 50
"""Records, syntheses and events without any on one page."""
CONFLICTING = "conflicting"
"""The state of an active record that is in conflict with another active one, beside its status."""
SYNTHESIS = "synthesis"

Item = Record | Synthesis


@dataclass(frozen=True)
class Filter:
    """Which items are listed; an empty field leaves nothing out."""

    kind: str = ""
    """What `kind_of` returns."""
    status: str = ""
    """A status, or `CONFLICTING`."""
    text: str = ""
    """Words of which the item holds all, whatever their case."""
    oldest_first: bool = False

    @property
    def narrows(self) -> bool:
        """Return whether anything may be left out."""
        return bool(self.kind or self.status or self.text.strip())

    def accepts(self, item: Item, states: Iterable[str]) -> bool:
        """Return whether an item that is in some states is listed."""
        if self.kind not in ("", kind_of(item)) or (self.status and self.status not in states):
            return False
        searched = _searched_text(item).casefold()
        return all(word in searched for word in self.text.casefold().split())


@dataclass
class EventView:
    """An event as one page shows it."""

    event: Event | None
    """None for records whose event is not stored."""
    boundary: Boundary | None
    """How it begins."""
    items: list[Item]
    """Those of its items that are on this page."""
    first_turn: int
    """The position in the session of the turn that it begins with."""
    continued: bool
    """Whether the page before shows its beginning."""


@dataclass
class SessionView:
    """A session as one page shows it."""

    session_id: str
    turns: int = 0
    started_at: datetime | None = None
    ended_at: datetime | None = None
    events: list[EventView] = field(default_factory=list)


@dataclass(frozen=True)
class Page:
    """One page of the timeline."""

    sessions: list[SessionView]
    number: int
    """From 1."""
    pages: int
    found: int
    """Items on all pages."""
    kinds: Mapping[str, int]
    """How many items there are of each kind, filtered or not."""
    states: Mapping[str, int]
    """How many items are in each state, filtered or not."""


@dataclass(frozen=True)
class _Entry:
    """One line of the timeline: an item under its event and session, or an event or a session without items."""

    session_id: str
    event: Event | None = None
    item: Item | None = None


def kind_of(item: Item) -> str:
    """Return the kind of an item in one word: its type where it has one, else what it is."""
    if isinstance(item, Synthesis):
        return SYNTHESIS
    return item.kind if item.is_passage else item.memory_type or item.kind


def states_of(item: Item, index: ScopeIndex) -> list[str]:
    """Return the states that an item is in: its status, and whether it is in conflict with an active record."""
    conflicts = isinstance(item, Record) and item.status == "active" and conflicts_of(item, index)
    return [item.status, *([CONFLICTING] if conflicts else [])]


def conflicts_of(record: Record, index: ScopeIndex) -> list[Record]:
    """Return the active records that a record is in conflict with."""
    others = (index.records.get(record_id) for record_id in record.conflicts_with)
    return [other for other in others if other and other.status == "active"]


def page_of(index: ScopeIndex, wanted: Filter, number: int) -> Page:
    """Return a page of the timeline; the last one where there are not so many.

    Args:
        index: The memories of a scope.
        wanted: Which items are listed.
        number: The page, from 1.
    """
    items: list[Item] = [*index.records.items, *index.syntheses.items]
    states = {id(item): states_of(item, index) for item in items}
    listed = [item for item in items if wanted.accepts(item, states[id(item)])]
    sessions = {view.session_id: view for view in _sessions(index.turns.items)}
    entries = list(_entries(index, listed, sessions, wanted))
    pages = max(1, -(-len(entries) // PAGE_ITEMS))
    number = min(max(number, 1), pages)
    start = (number - 1) * PAGE_ITEMS
    before = entries[start - 1] if start else None
    return Page(
        sessions=_grouped(entries[start : start + PAGE_ITEMS], before, index, sessions),
        number=number,
        pages=pages,
        found=len(listed),
        kinds=Counter(kind_of(item) for item in items),
        states=Counter(state for names in states.values() for state in names),
    )


def _searched_text(item: Item) -> str:
    if isinstance(item, Synthesis):
        return item.text
    return " ".join([item.content, item.reason, item.purpose, item.location, item.time_text, *item.keywords])


def _sessions(turns: Iterable[Turn]) -> Iterator[SessionView]:
    """Yield each session with its length and its times."""
    by_session: defaultdict[str, list[Turn]] = defaultdict(list)
    for turn in turns:
        by_session[turn.session_id].append(turn)
    for session_id, said in by_session.items():
        times = sorted((turn.said_at for turn in said if turn.said_at), key=lambda moment: epoch_seconds(moment, -inf))
        yield SessionView(session_id, len(said), *((times[0], times[-1]) if times else (None, None)))


def _entries(
    index: ScopeIndex, listed: Sequence[Item], sessions: Mapping[str, SessionView], wanted: Filter
) -> Iterator[_Entry]:
    """Yield the lines of the whole timeline: sessions in the wanted order, and what is in them as it was said."""
    by_event: defaultdict[str, list[Item]] = defaultdict(list)
    for item in listed:
        by_event[_event_of(item, index)].append(item)
    events: defaultdict[str, list[Event]] = defaultdict(list)
    for event in index.events.items:
        events[event.session_id].append(event)
    elsewhere: defaultdict[str, list[Item]] = defaultdict(list)
    for event_id in by_event.keys() - {event.event_id for event in index.events.items}:
        for item in by_event[event_id]:
            elsewhere[item.session_id if isinstance(item, Record) else ""].append(item)
    for session_id in _ordered({**sessions, **dict.fromkeys(elsewhere)}, oldest_first=wanted.oldest_first):
        of_session = sorted(events[session_id], key=lambda event: event.seq)
        for event in of_session:
            found = sorted(by_event[event.event_id], key=_place)
            yield from (_Entry(session_id, event, item) for item in found)
            if not found and not wanted.narrows:
                yield _Entry(session_id, event)
        yield from (_Entry(session_id, None, item) for item in sorted(elsewhere[session_id], key=_place))
        if not of_session and not elsewhere[session_id] and not wanted.narrows:
            yield _Entry(session_id)


def _ordered(sessions: Mapping[str, SessionView | None], *, oldest_first: bool) -> list[str]:
    def start_of(session_id: str) -> tuple[float, str]:
        view = sessions[session_id]
        return epoch_seconds(view.started_at if view else None, -inf), session_id

    return sorted(sessions, key=start_of, reverse=not oldest_first)


def _event_of(item: Item, index: ScopeIndex) -> str:
    """Return the id of the event under which an item is listed; of a synthesis, that of the newest record it covers."""
    if isinstance(item, Record):
        return item.event_id
    covered = [record for record_id in item.covered_record_ids if (record := index.records.get(record_id))]
    return max(covered, key=RECORDS.sort_key).event_id if covered else ""


def _place(item: Item) -> tuple[bool, int, int]:
    """Return what orders the items of an event: records as they were said, then syntheses."""
    return (True, 0, 0) if isinstance(item, Synthesis) else (False, item.seq, item.part)


def _grouped(
    entries: Sequence[_Entry], before: _Entry | None, index: ScopeIndex, sessions: Mapping[str, SessionView]
) -> list[SessionView]:
    """Return entries under their sessions and events."""
    boundaries = {boundary.to_event_id: boundary for boundary in index.boundaries.items}
    views = []
    for session_id, of_session in groupby(entries, key=lambda entry: entry.session_id):
        view = sessions.get(session_id) or SessionView(session_id)
        for event, of_event in groupby(of_session, key=lambda entry: entry.event):
            view.events.append(
                EventView(
                    event=event,
                    boundary=boundaries.get(event.event_id) if event else None,
                    items=[entry.item for entry in of_event if entry.item],
                    first_turn=_first_turn(event, index),
                    continued=bool(before and event and before.event and before.event.event_id == event.event_id),
                )
            )
        views.append(view)
    return views


def _first_turn(event: Event | None, index: ScopeIndex) -> int:
    turn = index.turns.get(event.turn_ids[0]) if event and event.turn_ids else None
    return turn.seq if turn else 0
