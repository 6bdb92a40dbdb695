"""Lay out what is stored: a timeline, the conversation of a session, and a record in the turns that it comes from.

The timeline has sessions, the events in them, and their records and syntheses. A page holds a limited number of items,
whatever the memory holds.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from math import inf
from typing import Any, TypeVar

from langgraph_engram.schema import Event, Record, Synthesis, Turn
from langgraph_engram.stores.index import RECORDS, ScopeIndex
from langgraph_engram.temporal.datetimes import epoch_seconds

PAGE_ITEMS = 50
"""Records, syntheses and events without any on one page."""
WITHDRAWN = "withdrawn"
"""The state of a record that rests on turns which their threads no longer hold."""
CONFLICTING = "conflicting"
"""The state of an active record that is in conflict with another active one, beside its status."""

Item = Record | Synthesis
Listed = TypeVar("Listed")


@dataclass(frozen=True)
class Filter:
    """Which items are listed; an empty field leaves nothing out."""

    kind: str = ""
    status: str = ""
    """A status, or `CONFLICTING`."""
    text: str = ""
    """Words of which the item holds all, whatever their case."""

    @property
    def narrows(self) -> bool:
        """Return whether anything may be left out."""
        return bool(self.kind or self.status or self.text.strip())

    def accepts(self, item: Item, states: Iterable[str]) -> bool:
        """Return whether an item that is in some states is listed."""
        if self.kind not in ("", kind_of(item)) or (self.status and self.status not in states):
            return False
        if isinstance(item, Synthesis):
            said = [item.text]
        else:
            said = [item.content, item.reason, item.purpose, item.location, item.time_text, *item.keywords]
        searched = " ".join(said).casefold()
        return all(word in searched for word in self.text.casefold().split())


@dataclass
class SessionView:
    """A session as one page shows it."""

    session_id: str
    turns: int = 0
    started_at: datetime | None = None
    events: list[tuple[Event | None, list[Item]]] = field(default_factory=list)
    """Its events with those of their items that are on the page; None for records whose event is not stored."""


@dataclass(frozen=True)
class _Entry:
    """One line of the timeline: an item under its event and session, or an event or a session without items."""

    session_id: str
    event: Event | None = None
    item: Item | None = None


def kind_of(item: Item) -> str:
    """Return the kind of an item in one word: its type where it has one, else what it is."""
    if isinstance(item, Synthesis):
        return "synthesis"
    return item.kind if item.is_chunk else item.memory_type or item.kind


def states_of(item: Item, index: ScopeIndex) -> list[str]:
    """Return the states that an item is in: its status, and whether it is withdrawn or in conflict with active ones."""
    if not isinstance(item, Record) or item.status != "active":
        return [item.status]
    held = index.as_of(None).records
    states = {CONFLICTING: held.in_conflict(item), WITHDRAWN: item.record_id not in held}
    return [item.status, *(name for name, holds in states.items() if holds)]


def page_of(index: ScopeIndex, wanted: Filter, number: int) -> dict[str, Any]:
    """Return a page of the timeline by its number from 1, as its template takes it; the last where there are fewer.

    The items of each kind and in each state are counted filtered or not; `continued` is the event with which the page
    before ends.
    """
    items: list[Item] = [*index.records.items, *index.syntheses.items]
    states = {id(item): states_of(item, index) for item in items}
    listed = [item for item in items if wanted.accepts(item, states[id(item)])]
    sessions = _sessions(index.turns.items)
    entries = _entries(index, listed, sessions, wanted)
    shown, number, pages = part_of(entries, number, PAGE_ITEMS)
    return {
        "sessions": _grouped(shown, sessions),
        "number": number,
        "pages": pages,
        "found": len(listed),
        "kinds": Counter(kind_of(item) for item in items),
        "states": Counter(state for names in states.values() for state in names),
        "continued": entries[(number - 1) * PAGE_ITEMS - 1].event if number > 1 else None,
    }


def first_turn(event: Event, index: ScopeIndex) -> int:
    """Return the position in its session of the turn that an event begins with; 0 where it is not stored."""
    turn = index.turns.get(event.turn_ids[0]) if event.turn_ids else None
    return turn.seq if turn else 0


def part_of(items: Sequence[Listed], number: int, size: int) -> tuple[Sequence[Listed], int, int]:
    """Return a page of items by its number from 1, the last one where there are not so many; its number; how many."""
    pages = max(1, -(-len(items) // size))
    number = min(max(number, 1), pages)
    return items[(number - 1) * size : number * size], number, pages


def _sessions(turns: Iterable[Turn]) -> dict[str, SessionView]:
    """Return each session with its length and its beginning."""
    by_session: defaultdict[str, list[Turn]] = defaultdict(list)
    for turn in turns:
        by_session[turn.session_id].append(turn)
    times = {name: filter(None, (turn.said_at for turn in said)) for name, said in by_session.items()}
    starts = {name: min(moments, key=datetime.timestamp, default=None) for name, moments in times.items()}
    return {name: SessionView(name, len(said), starts[name]) for name, said in by_session.items()}


def _entries(
    index: ScopeIndex, listed: Sequence[Item], sessions: Mapping[str, SessionView], wanted: Filter
) -> list[_Entry]:
    """Return the lines of the whole timeline: the newest sessions first, and what is in them as it was said."""
    entries = [_entry_of(item, index) for item in listed]
    if not wanted.narrows:
        filled = {entry.event.event_id for entry in entries if entry.event}
        entries += [_Entry(event.session_id, event) for event in index.events.items if event.event_id not in filled]
        entries += [_Entry(session_id) for session_id in sessions.keys() - {entry.session_id for entry in entries}]

    def start_of(entry: _Entry) -> tuple[float, str]:
        view = sessions.get(entry.session_id)
        return epoch_seconds(view.started_at if view else None, -inf), entry.session_id

    entries.sort(key=_place)
    return sorted(entries, key=start_of, reverse=True)


def _entry_of(item: Item, index: ScopeIndex) -> _Entry:
    """Return an item under its event and session; a synthesis under those of the newest record it covers."""
    record = item if isinstance(item, Record) else None
    if isinstance(item, Synthesis):
        covered = filter(None, map(index.records.get, item.covered_record_ids))
        record = max(covered, key=RECORDS.sort_key, default=None)
    event = index.events.get(record.event_id) if record else None
    if event:
        return _Entry(event.session_id, event, item)
    return _Entry(item.session_id if isinstance(item, Record) else "", None, item)


def _place(entry: _Entry) -> tuple[bool, int, bool, int, int]:
    """Return what orders a session: its events, in each the records as they were said, then syntheses."""
    item, event = entry.item, entry.event
    said = (item.seq, item.part) if isinstance(item, Record) else (0, 0)
    return (event is None, event.seq if event else 0, isinstance(item, Synthesis), *said)


def _grouped(entries: Sequence[_Entry], sessions: Mapping[str, SessionView]) -> list[SessionView]:
    """Return entries under their sessions and events."""
    views = []
    for session_id, of_session in groupby(entries, key=lambda entry: entry.session_id):
        view = sessions.get(session_id) or SessionView(session_id)
        for event, of_event in groupby(of_session, key=lambda entry: entry.event):
            view.events.append((event, [entry.item for entry in of_event if entry.item]))
        views.append(view)
    return views
