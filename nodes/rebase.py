"""Put a run's events on what was stored while it ran: another run of the session may have written in between.

Each turn ends in one event, an event that both runs extended keeps both runs' turns, places are distinct, and only the
last event of a session is open. Where nobody else wrote, nothing changes.
"""

from collections.abc import Mapping, Sequence

from langgraph_engram.nodes.build_events import EventBuilder
from langgraph_engram.nodes.event_names import is_named_by_words
from langgraph_engram.nodes.receive import stored_turns
from langgraph_engram.nodes.topic_line import TopicLine
from langgraph_engram.schema import Boundary, Event, Record
from langgraph_engram.stores.scope_index import ScopeIndex


def rebase_events(scope_key: str, index: ScopeIndex, session_id: str, events: Sequence[Event]) -> list[Event]:
    """Give what is to be written of a session's events so that it agrees with what is stored.

    Args:
        scope_key: Whose events they are.
        index: The scope as it is stored now.
        session_id: The session of all of `events`.
        events: The run's events, as it cut them when it began.

    Returns:
        The run's events without turns that another event holds, and stored events that these bring to an end.
    """
    stored = index.session_events(session_id)
    holder = {turn_id: event.event_id for event in stored for turn_id in event.turn_ids}
    kept: list[Event] = []
    free = max((event.seq for event in stored), default=-1) + 1
    for event in events:
        own = [one for one in event.turn_ids if holder.get(one, event.event_id) == event.event_id]
        held = index.events.get(event.event_id)
        if held:
            kept.append(_joined(scope_key, index, held, event.model_copy(update={"turn_ids": own})))
        elif own:
            kept.append(event.model_copy(update={"turn_ids": own, "seq": free}))
            free += 1
    return _with_one_open(stored, kept)


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


def rebase_boundaries(boundaries: Sequence[Boundary], index: ScopeIndex, events: Sequence[Event]) -> list[Boundary]:
    """Give the boundaries whose later event is kept."""
    kept = {event.event_id for event in events}
    return [one for one in boundaries if one.to_event_id in kept or one.to_event_id in index.events]


def _joined(scope_key: str, index: ScopeIndex, held: Event, mine: Event) -> Event:
    """Join what another run made of an event with what this one made of it."""
    if set(held.turn_ids) <= set(mine.turn_ids):
        return mine.model_copy(update={"seq": held.seq, "status": _closed_once(held, mine)})
    fresh = stored_turns(index, [one for one in mine.turn_ids if one not in held.turn_ids])
    if not fresh:
        return held.model_copy(update={"status": _closed_once(held, mine)})
    noted = [] if is_named_by_words(mine) else mine.topics
    lines = [TopicLine(topic=topic) for topic in noted] + [TopicLine(keywords=tuple(mine.keywords))]
    both = EventBuilder(scope_key, held.kind).extend(held, fresh, lines)
    turns = stored_turns(index, both.turn_ids)
    return both.model_copy(
        update={
            "turn_ids": [turn.turn_id for turn in turns],
            "ended_at": turns[-1].said_at,
            "status": _closed_once(held, mine),
        }
    )


def _closed_once(held: Event, mine: Event) -> str:
    return "closed" if "closed" in (held.status, mine.status) else "open"


def _with_one_open(stored: Sequence[Event], events: Sequence[Event]) -> list[Event]:
    """Close every event but the last of the session."""
    after: Mapping[str, Event] = {one.event_id: one for one in [*stored, *events]}
    last = max(after.values(), key=lambda one: one.seq, default=None)
    changed = {one.event_id for one in events}
    return [
        one if one is last or one.status == "closed" else one.model_copy(update={"status": "closed"})
        for one in after.values()
        if one.event_id in changed or (one is not last and one.status == "open")
    ]


def _home(record: Record, holder: Mapping[str, str], index: ScopeIndex) -> str:
    stored = {
        turn_id: event.event_id for event in index.session_events(record.session_id) for turn_id in event.turn_ids
    }
    homes = [holder.get(one) or stored.get(one) for one in reversed(record.source_turn_ids)]
    return next((one for one in homes if one), record.event_id)
