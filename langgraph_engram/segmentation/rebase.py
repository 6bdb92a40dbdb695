"""Rebase a run's events on what was stored while it ran: another run of the session may have written in between.

Each turn ends in one event, an event that both runs extended keeps both runs' turns, events stand in the order of their
first turns, and only the last of a session may be open. What was closed stays closed, be it an event or a session.
Where nobody else wrote, nothing changes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from langgraph_engram.pending import stored_turns
from langgraph_engram.schema import Boundary, Event, Record, is_unnamed_session
from langgraph_engram.segmentation.boundaries import previous_event, relink_boundary
from langgraph_engram.segmentation.events import EventBuilder, TurnTopic
from langgraph_engram.segmentation.titles import is_named_by_keywords
from langgraph_engram.stores.index import ScopeIndex


@dataclass(frozen=True)
class RebasedRun:
    """What a run is to write, so that it agrees with what is stored."""

    events: list[Event]
    boundaries: list[Boundary]
    records: list[Record]


def rebase(
    builder: EventBuilder,
    index: ScopeIndex,
    session_ids: Sequence[str],
    events: Sequence[Event],
    boundaries: Sequence[Boundary],
    records: Sequence[Record],
    *,
    close_earlier: bool,
) -> RebasedRun:
    """Return a run's events, boundaries and records as they are to be written."""
    kept: list[Event] = []
    closed: dict[str, Event] = {}
    linked: list[Boundary] = []
    for session_id in session_ids:
        own = rebase_events(builder, index, session_id, [event for event in events if event.session_id == session_id])
        kept += own
        if close_earlier:
            closed |= {event.event_id: event for event in _closed_sessions(index, session_id, own)}
        before = [boundary for boundary in boundaries if boundary.session_id == session_id]
        linked += rebase_boundaries(before, index, session_id, own)
    kept_ids = {event.event_id for event in kept}
    every = [*kept, *(event for event_id, event in closed.items() if event_id not in kept_ids)]
    return RebasedRun(every, linked, rebase_records(records, index, every))


def rebase_events(builder: EventBuilder, index: ScopeIndex, session_id: str, events: Sequence[Event]) -> list[Event]:
    """Return the run's events without turns that another event holds, and stored ones that these close or move."""
    stored = index.session_events(session_id)
    event_of = {turn_id: event.event_id for event in stored for turn_id in event.turn_ids}
    kept: list[Event] = []
    for event in events:
        own = [turn_id for turn_id in event.turn_ids if event_of.get(turn_id, event.event_id) == event.event_id]
        held = index.events.get(event.event_id)
        if held:
            kept.append(_joined(builder, index, held, event.model_copy(update={"turn_ids": own})))
        elif own:
            kept.append(event.model_copy(update={"turn_ids": own}))
    is_over = _was_closed_meanwhile(stored, events)
    others = {event.event_id: event for event in stored} | {event.event_id: None for event in kept}
    unchanged = [event for event in others.values() if event]
    ordered = _in_order(index, [*unchanged, *kept], is_over=is_over)
    return [event for event in ordered if event != others.get(event.event_id)]


def rebase_records(records: Sequence[Record], index: ScopeIndex, events: Sequence[Event]) -> list[Record]:
    """Move records of events that are not kept to the event that holds the turn they were extracted from."""
    kept = {event.event_id for event in events}
    event_of = {turn_id: event.event_id for event in events for turn_id in event.turn_ids}
    return [
        record
        if record.event_id in kept or record.event_id in index.events
        else record.model_copy(update={"event_id": _event_of_sources(record, event_of, index)})
        for record in records
    ]


def rebase_boundaries(
    boundaries: Sequence[Boundary], index: ScopeIndex, session_id: str, events: Sequence[Event]
) -> list[Boundary]:
    """Return the boundaries whose later event is kept; those that another event precedes now are described anew."""
    kept = {event.event_id: event for event in events}
    own = [boundary for boundary in boundaries if boundary.to_event_id in kept or boundary.to_event_id in index.events]
    if not events:
        return own
    every = {event.event_id: event for event in index.session_events(session_id)} | kept
    ordered = sorted(every.values(), key=lambda event: event.seq)
    before = dict(zip((event.event_id for event in ordered), [None, *ordered], strict=False))
    written = {boundary.boundary_id for boundary in own}
    moved = [
        boundary
        for boundary in index.boundaries.in_session(session_id)
        if boundary.boundary_id not in written and _is_moved(boundary, before)
    ]
    return [
        _relinked(boundary, before, every, index) if _is_moved(boundary, before) else boundary
        for boundary in [*own, *moved]
    ]


def _closed_sessions(index: ScopeIndex, session_id: str, events: Sequence[Event]) -> list[Event]:
    """Return the last events of earlier sessions, closed, where this one begins.

    Sessions that went on after it began are no earlier ones; calls without a session neither close nor are closed.
    """
    if not events or is_unnamed_session(session_id) or index.events.in_session(session_id):
        return []
    return [
        event.model_copy(update={"status": "closed"})
        for event in index.events.items
        if event.status == "open" and not is_unnamed_session(event.session_id) and _is_before(event, events[0])
    ]


def _joined(builder: EventBuilder, index: ScopeIndex, stored: Event, own: Event) -> Event:
    """Join what another run made of an event with what this one made of it."""
    status = "closed" if "closed" in (stored.status, own.status) else "open"
    if set(stored.turn_ids) <= set(own.turn_ids):
        return _in_turn_order(index, own.model_copy(update={"status": status}))
    new = stored_turns(index, [turn_id for turn_id in own.turn_ids if turn_id not in stored.turn_ids])
    if not new:
        return stored.model_copy(update={"status": status})
    noted = [] if is_named_by_keywords(own) else own.topics
    topics = [TurnTopic(topic=topic) for topic in noted] + [TurnTopic(keywords=tuple(own.keywords))]
    joined = builder.extend(stored, new, topics)
    return _in_turn_order(index, joined.model_copy(update={"status": status}))


def _in_turn_order(index: ScopeIndex, event: Event) -> Event:
    """Return an event with its turns in the order of the session; a retry may have added earlier ones."""
    turns = stored_turns(index, event.turn_ids)
    ids = [turn.turn_id for turn in turns]
    if ids == event.turn_ids or len(ids) < len(event.turn_ids):
        return event
    return event.model_copy(update={"turn_ids": ids, "started_at": turns[0].said_at, "ended_at": turns[-1].said_at})


def _was_closed_meanwhile(stored: Sequence[Event], events: Sequence[Event]) -> bool:
    """Return whether the session was closed since the run began: its last event, which the run extended, is closed."""
    if not stored or stored[-1].status != "closed":
        return False
    return stored[-1].event_id in {event.event_id for event in events}


def _in_order(index: ScopeIndex, events: Sequence[Event], *, is_over: bool) -> list[Event]:
    """Return a session's events by their first turns, numbered from 0; all but the last are closed."""
    seqs = index.turns.seq

    def first_seq(event: Event) -> int:
        positions = map(index.turns.find_position, event.turn_ids)
        return min((int(seqs[position]) for position in positions if position >= 0), default=event.seq)

    ordered = sorted(events, key=first_seq)
    last = len(ordered) - 1
    return [
        event.model_copy(update={"seq": seq, "status": "closed" if is_over or seq < last else event.status})
        for seq, event in enumerate(ordered)
    ]


def _event_of_sources(record: Record, event_of: Mapping[str, str], index: ScopeIndex) -> str:
    events = index.session_events(record.session_id)
    stored = {turn_id: event.event_id for event in events for turn_id in event.turn_ids}
    found = (event_of.get(turn_id) or stored.get(turn_id) for turn_id in reversed(record.source_turn_ids))
    return next((event_id for event_id in found if event_id), record.event_id)


def _is_moved(boundary: Boundary, before: Mapping[str, Event | None]) -> bool:
    """Return whether another event precedes a boundary than it is about; a session's first follows other sessions."""
    if boundary.to_event_id not in before:
        return False
    earlier = before[boundary.to_event_id]
    return boundary.from_event_id != earlier.event_id if earlier else boundary.from_event_id in before


def _relinked(
    boundary: Boundary, before: Mapping[str, Event | None], events: Mapping[str, Event], index: ScopeIndex
) -> Boundary:
    later = events[boundary.to_event_id]
    earlier = before[later.event_id] or previous_event(index, [later])
    return relink_boundary(boundary, earlier, later, stored_turns(index, later.turn_ids)[:1])


def _is_before(earlier: Event, later: Event) -> bool:
    return bool(earlier.ended_at and later.started_at and earlier.ended_at <= later.started_at)
