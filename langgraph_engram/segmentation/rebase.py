"""Put a run's events on what was stored while it ran: another run of the session may have written in between.

Each turn ends in one event, an event that both runs extended keeps both runs' turns, events stand in the order of their
first turns, and only the last of a session may be open. What was closed stays closed, be it an event or a session.
Where nobody else wrote, nothing changes.
"""

from collections.abc import Mapping, Sequence

from langgraph_engram.alignment import is_unnamed
from langgraph_engram.pending import stored_turns
from langgraph_engram.schema import Boundary, Event, Record
from langgraph_engram.segmentation.boundaries import previous_event, retold
from langgraph_engram.segmentation.events import EventBuilder, TurnTopic
from langgraph_engram.segmentation.titles import is_named_by_words
from langgraph_engram.stores.index import ScopeIndex


def rebase_events(builder: EventBuilder, index: ScopeIndex, session_id: str, events: Sequence[Event]) -> list[Event]:
    """Give what is to be written of a session's events so that it agrees with what is stored.

    Args:
        builder: What lets an event go on.
        index: The scope as it is stored now.
        session_id: The session of all of `events`.
        events: The run's events, as it cut them when it began.

    Returns:
        The run's events without turns that another event holds, and stored events that these close or move, in order.
    """
    stored = index.session_events(session_id)
    holder = {turn_id: event.event_id for event in stored for turn_id in event.turn_ids}
    kept: list[Event] = []
    for event in events:
        own = [one for one in event.turn_ids if holder.get(one, event.event_id) == event.event_id]
        held = index.events.get(event.event_id)
        if held:
            kept.append(_joined(builder, index, held, event.model_copy(update={"turn_ids": own})))
        elif own:
            kept.append(event.model_copy(update={"turn_ids": own}))
    over = _was_closed_meanwhile(stored, events)
    unchanged = [one for one in stored if one.event_id not in {one.event_id for one in kept}]
    return [one for one in _in_order(index, [*unchanged, *kept], over=over) if one not in unchanged]


def rebase_records(records: Sequence[Record], index: ScopeIndex, events: Sequence[Event]) -> list[Record]:
    """Give records of events that are not kept to the event that holds the turn they were drawn from."""
    kept = {event.event_id for event in events}
    holder = {turn_id: event.event_id for event in events for turn_id in event.turn_ids}
    return [
        record
        if record.event_id in kept or record.event_id in index.events
        else record.model_copy(update={"event_id": _home(record, holder, index)})
        for record in records
    ]


def rebase_boundaries(
    boundaries: Sequence[Boundary], index: ScopeIndex, session_id: str, events: Sequence[Event]
) -> list[Boundary]:
    """Give the boundaries whose later event is kept; those with another event before it now are told anew.

    Args:
        boundaries: The run's.
        index: The scope as it is stored now.
        session_id: The run's session.
        events: What the run writes, as `rebase_events` gives it.

    Returns:
        The run's boundaries that stand, and stored ones of the session between other events than before.
    """
    kept = {event.event_id: event for event in events}
    own = [one for one in boundaries if one.to_event_id in kept or one.to_event_id in index.events]
    if not events:
        return own
    stored = {one.event_id: one for one in index.session_events(session_id)}
    ordered = sorted((stored | kept).values(), key=lambda one: one.seq)
    before = dict(zip((one.event_id for one in ordered), [None, *ordered], strict=False))
    written = {one.boundary_id for one in own}
    others = [one for one in index.boundaries.items if one.to_event_id in before and one.boundary_id not in written]
    return [
        _retold(one, before, stored | kept, index) if _is_moved(one, before) else one
        for one in [*own, *(one for one in others if _is_moved(one, before))]
    ]


def _is_moved(boundary: Boundary, before: Mapping[str, Event | None]) -> bool:
    """Say whether a boundary tells of another event than stands before it; a session's first follows other sessions."""
    if boundary.to_event_id not in before:
        return False
    earlier = before[boundary.to_event_id]
    return boundary.from_event_id != earlier.event_id if earlier else boundary.from_event_id in before


def _retold(
    boundary: Boundary, before: Mapping[str, Event | None], events: Mapping[str, Event], index: ScopeIndex
) -> Boundary:
    later = events[boundary.to_event_id]
    earlier = before[later.event_id] or previous_event(index, [later])
    return retold(boundary, earlier, later, stored_turns(index, later.turn_ids)[:1])


def _joined(builder: EventBuilder, index: ScopeIndex, held: Event, mine: Event) -> Event:
    """Join what another run made of an event with what this one made of it."""
    status = _closed_once(held, mine)
    if set(held.turn_ids) <= set(mine.turn_ids):
        return _in_turn_order(index, mine.model_copy(update={"status": status}))
    fresh = stored_turns(index, [one for one in mine.turn_ids if one not in held.turn_ids])
    if not fresh:
        return held.model_copy(update={"status": status})
    noted = [] if is_named_by_words(mine) else mine.topics
    lines = [TurnTopic(topic=topic) for topic in noted] + [TurnTopic(keywords=tuple(mine.keywords))]
    both = builder.extend(held, fresh, lines)
    return _in_turn_order(index, both.model_copy(update={"status": status}))


def _in_turn_order(index: ScopeIndex, event: Event) -> Event:
    """Give an event with its turns in the order of the session; a retry may have added earlier ones."""
    turns = stored_turns(index, event.turn_ids)
    ids = [turn.turn_id for turn in turns]
    if ids == event.turn_ids or len(ids) < len(event.turn_ids):
        return event
    return event.model_copy(update={"turn_ids": ids, "started_at": turns[0].said_at, "ended_at": turns[-1].said_at})


def _closed_once(held: Event, mine: Event) -> str:
    return "closed" if "closed" in (held.status, mine.status) else "open"


def _was_closed_meanwhile(stored: Sequence[Event], events: Sequence[Event]) -> bool:
    """Say whether a session has ended that was going on when the run began: its last event, gone on with, is closed."""
    return bool(stored) and stored[-1].status == "closed" and stored[-1].event_id in {one.event_id for one in events}


def _first(index: ScopeIndex, event: Event) -> int:
    """Give the place in its session of an event's first turn."""
    return min((turn.seq for turn in stored_turns(index, event.turn_ids)), default=event.seq)


def _in_order(index: ScopeIndex, events: Sequence[Event], *, over: bool) -> list[Event]:
    """Give a session's events by their first turns, numbered from 0; all but the last are closed.

    Args:
        index: Where the turns are stored.
        events: All that the session has.
        over: Whether the session has ended, so that the last is closed too.
    """
    ordered = sorted(events, key=lambda one: _first(index, one))
    last = len(ordered) - 1
    return [
        one.model_copy(update={"seq": seq, "status": "closed" if over or seq < last else one.status})
        for seq, one in enumerate(ordered)
    ]


def _home(record: Record, holder: Mapping[str, str], index: ScopeIndex) -> str:
    stored = {
        turn_id: event.event_id for event in index.session_events(record.session_id) for turn_id in event.turn_ids
    }
    homes = [holder.get(one) or stored.get(one) for one in reversed(record.source_turn_ids)]
    return next((one for one in homes if one), record.event_id)


def ended_by(index: ScopeIndex, session_id: str, events: Sequence[Event]) -> list[Event]:
    """Give the last events of earlier sessions that were still open, as closed.

    Args:
        index: The scope as it is stored.
        session_id: The session of the run.
        events: What the run writes of it, oldest first.

    Returns:
        None where the session has begun before. Sessions that went on after this one began are no earlier ones, and
        calls that named no session neither end others nor are ended.
    """
    if not events or is_unnamed(session_id) or index.events.in_session(session_id):
        return []
    return [
        one.model_copy(update={"status": "closed"})
        for one in index.events.items
        if one.status == "open" and not is_unnamed(one.session_id) and _is_before(one, events[0])
    ]


def _is_before(earlier: Event, later: Event) -> bool:
    return bool(earlier.ended_at and later.started_at and earlier.ended_at <= later.started_at)
