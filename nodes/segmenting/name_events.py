"""Name events and boundaries by what was noted of them, in place of what their words alone suggested."""

from collections.abc import Mapping, Sequence

from langgraph_engram.nodes.segmenting.build_events import sum_up
from langgraph_engram.nodes.segmenting.event_names import is_named_by_words
from langgraph_engram.prompts.extract_events import EventNote
from langgraph_engram.schema import Boundary, Event
from langgraph_engram.settings import SegmentSettings
from langgraph_engram.stores.scope_index import ScopeIndex


def named_events(
    events: Sequence[Event], notes: Mapping[str, EventNote], index: ScopeIndex, settings: SegmentSettings
) -> list[Event]:
    """Give events with the topics noted of them, after those that an earlier call noted; none is noted twice."""
    return [
        _named(event, notes[event.event_id], index.events.get(event.event_id), settings)
        if event.event_id in notes
        else event
        for event in events
    ]


def boundaries_to_name(
    boundaries: Sequence[Boundary], notes: Mapping[str, EventNote], index: ScopeIndex
) -> list[Boundary]:
    """Give a run's boundaries, and the stored ones that lead to events which only a retry has notes of."""
    own = {boundary.to_event_id for boundary in boundaries}
    stored = (one for one in index.boundaries.items if one.to_event_id in notes and one.to_event_id not in own)
    return [*boundaries, *stored] if notes.keys() - own else list(boundaries)


def named_boundaries(boundaries: Sequence[Boundary], notes: Mapping[str, EventNote]) -> list[Boundary]:
    """Give boundaries with the transitions noted of the events they lead to."""
    return [
        boundary.model_copy(update={"text": note.transition.strip()})
        if (note := notes.get(boundary.to_event_id)) and note.transition.strip()
        else boundary
        for boundary in boundaries
    ]


def _named(event: Event, note: EventNote, stored: Event | None, settings: SegmentSettings) -> Event:
    topic = " ".join(note.topic.split())
    earlier = stored.topics if stored and not is_named_by_words(stored) else []
    return event.model_copy(update=sum_up([*earlier, topic], event.keywords, settings)) if topic else event
