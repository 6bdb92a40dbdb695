"""Rebase a run's events on what was stored while it ran: another run of the session may have written in between.

Each turn ends in one event, an event that both runs extended keeps both runs' turns, events stand in the order of their
first turns, and only the last of a session may be open. What was closed stays closed, be it an event or a session.
Where nobody else wrote, nothing changes.
"""

from collections.abc import Iterable, Mapping, Sequence

from langgraph_engram.pending import stored_turns
from langgraph_engram.schema import Boundary, Event, Record, is_unnamed_session
from langgraph_engram.segmentation.events import EventBuilder, previous_event, relink_boundary, topics_of
from langgraph_engram.stores.index import ScopeIndex


def rebase(
    builder: EventBuilder,
    index: ScopeIndex,
    session_ids: Sequence[str],
    events: Sequence[Event],
    boundaries: Sequence[Boundary],
    records: Sequence[Record],
    *,
    close_earlier: bool,
) -> tuple[list[Event], list[Boundary], list[Record]]:
    """Return a run's events, boundaries and records as they are to be written, so that they agree with what stands."""
    kept: dict[str, Event] = {}
    closed: dict[str, Event] = {}
    linked: list[Boundary] = []
    for session_id in session_ids:
        own = rebase_events(builder, index, session_id, [event for event in events if event.session_id == session_id])
        kept |= {event.event_id: event for event in own}
        if close_earlier:
            closed |= {event.event_id: event for event in _closed_sessions(index, session_id, own)}
        before = [boundary for boundary in boundaries if boundary.session_id == session_id]
        linked += rebase_boundaries(before, index, session_id, own)
    every = [*kept.values(), *(event for event_id, event in closed.items() if event_id not in kept)]
    return every, linked, rebase_records(records, index, every)


def rebase_events(builder: EventBuilder, index: ScopeIndex, session_id: str, events: Sequence[Event]) -> list[Event]:
    """Return the run's events without turns that another event holds, and stored ones that these close or move."""
    stored = {event.event_id: event for event in index.session_events(session_id)}
    event_of = {turn_id: event.event_id for event in stored.values() for turn_id in event.turn_ids}
    kept: dict[str, Event] = {}
    for event in events:
        turn_ids = [turn_id for turn_id in event.turn_ids if event_of.get(turn_id, event.event_id) == event.event_id]
        own = event.model_copy(update={"turn_ids": turn_ids})
        if event.event_id in stored:
            kept[event.event_id] = _joined(builder, index, stored[event.event_id], own)
        elif turn_ids:
            kept[event.event_id] = own
    last = next(reversed(stored.values()), None)
    is_over = last is not None and last.status == "closed" and last.event_id in {event.event_id for event in events}
    ordered = _in_order(index, (stored | kept).values(), is_over=is_over)
    return [event for event in ordered if event.event_id in kept or event != stored[event.event_id]]


def rebase_records(records: Sequence[Record], index: ScopeIndex, events: Sequence[Event]) -> list[Record]:
    """Move records of events that are not kept to the event that holds the last turn they cite."""
    kept = {event.event_id for event in events}
    session_ids = dict.fromkeys(record.session_id for record in records)
    stored = [event for session_id in session_ids for event in index.session_events(session_id)]
    event_of = {turn_id: event.event_id for event in [*stored, *events] for turn_id in event.turn_ids}
    moved: list[Record] = []
    for record in records:
        held_by = [event_of[turn_id] for turn_id in record.source_turn_ids if turn_id in event_of]
        stays = not held_by or record.event_id in kept or record.event_id in index.events
        moved.append(record if stays else record.model_copy(update={"event_id": held_by[-1]}))
    return moved


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
    others = (found for found in index.boundaries.in_session(session_id) if found.boundary_id not in written)
    found = [*own, *(boundary for boundary in others if _is_moved(boundary, before))]
    return [_relinked(boundary, before, every, index) for boundary in found]


def _closed_sessions(index: ScopeIndex, session_id: str, events: Sequence[Event]) -> list[Event]:
    """Return the last events of named sessions that were over when this one began, closed."""
    if not events or is_unnamed_session(session_id) or index.events.in_session(session_id):
        return []
    begun = events[0].started_at
    return [
        event.model_copy(update={"status": "closed"})
        for event in index.events.items
        if event.status == "open" and not is_unnamed_session(event.session_id)
        if begun and event.ended_at and event.ended_at <= begun
    ]


def _joined(builder: EventBuilder, index: ScopeIndex, stored: Event, own: Event) -> Event:
    """Join what another run made of an event with what this one made of it; turns in the order of the session."""
    joined = own
    if not set(stored.turn_ids) <= set(own.turn_ids):
        joined = stored
        if new := stored_turns(index, [turn_id for turn_id in own.turn_ids if turn_id not in stored.turn_ids]):
            joined = builder.extend(stored, new, topics_of(own))
    joined = joined.model_copy(update={"status": "closed" if "closed" in (stored.status, own.status) else "open"})
    turns = stored_turns(index, joined.turn_ids)
    ids = [turn.turn_id for turn in turns]
    if ids == joined.turn_ids or len(ids) < len(joined.turn_ids):
        return joined
    return joined.model_copy(update={"turn_ids": ids, "started_at": turns[0].said_at, "ended_at": turns[-1].said_at})


def _in_order(index: ScopeIndex, events: Iterable[Event], *, is_over: bool) -> list[Event]:
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


def _is_moved(boundary: Boundary, before: Mapping[str, Event | None]) -> bool:
    """Return whether another event precedes a boundary than it is about; a session's first follows other sessions."""
    if boundary.to_event_id not in before:
        return False
    earlier = before[boundary.to_event_id]
    return boundary.from_event_id != earlier.event_id if earlier else boundary.from_event_id in before


def _relinked(
    boundary: Boundary, before: Mapping[str, Event | None], events: Mapping[str, Event], index: ScopeIndex
) -> Boundary:
    if not _is_moved(boundary, before):
        return boundary
    earlier, later = before[boundary.to_event_id], events[boundary.to_event_id]
    first_turns = stored_turns(index, later.turn_ids)[:1]
    return relink_boundary(boundary, earlier or previous_event(index, [later]), later, first_turns)
