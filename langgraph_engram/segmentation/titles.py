"""Name events: by their own keywords, until something is noted of them that takes the keywords' place."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from langgraph_engram.prompts.extract_events import EventNote
from langgraph_engram.schema import Boundary, Event, Turn
from langgraph_engram.segmentation.events import TurnTopic, summarize_event
from langgraph_engram.settings import SegmentSettings
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.text.keywords import NO_TOPIC, document_frequencies, topic_words


@dataclass(frozen=True)
class EventNamer:
    """Name the events of one session by what was said in them, compared with what was said in all of it."""

    turns: Sequence[Turn]
    """The turns of the session."""
    settings: SegmentSettings
    """How many keywords make a name; a summary adds the next few."""
    _texts: dict[str, str] = field(init=False)
    _spread: Counter[str] = field(init=False)

    def __post_init__(self) -> None:
        """Count the words of the session once."""
        texts = {turn.turn_id: " ".join([turn.text, *turn.captions]) for turn in self.turns if turn.is_spoken}
        object.__setattr__(self, "_texts", texts)
        object.__setattr__(self, "_spread", document_frequencies(texts.values()))

    def named(self, event: Event) -> Event:
        """Return an event with topics, keywords and summary made of its turns' words, whatever it was named before."""
        texts = [self._texts[turn_id] for turn_id in event.turn_ids if turn_id in self._texts]
        speakers = {turn.speaker for turn in self.turns}
        keywords = topic_words(texts, self._spread, speakers, self.settings.max_keywords)
        name = ", ".join(keywords[: self.settings.name_keywords]) or NO_TOPIC
        return event.model_copy(update=summarize_event([name], keywords, self.settings))


def is_named_by_keywords(event: Event) -> bool:
    """Return whether all that names an event is its own keywords."""
    return not event.topics or event.topics in ([NO_TOPIC], [", ".join(event.keywords)[: len(event.topics[0])]])


def name_by_keywords(
    events: Sequence[Event], turns: Sequence[Turn], topics: Mapping[str, TurnTopic], settings: SegmentSettings
) -> list[Event]:
    """Name a run's events by their keywords where no model noted what they are about.

    Args:
        events: The run's events; those without a turn of the run stay as they are.
        turns: The turns of their session, stored ones and the run's.
        topics: What is known of the run's turns, by turn id.
        settings: How many keywords make a name; a summary adds the next few.

    Returns:
        The events with topics, keywords and summary.
    """
    namer = EventNamer(turns, settings)
    return [namer.named(event) if _lacks_note(event, topics) else event for event in events]


def name_by_notes(
    events: Sequence[Event], notes: Mapping[str, EventNote], index: ScopeIndex, settings: SegmentSettings
) -> list[Event]:
    """Return events with the topics noted of them, by event id, after those that an earlier call noted."""
    return [
        _noted(event, notes[event.event_id], index.events.get(event.event_id), settings)
        if event.event_id in notes
        else event
        for event in events
    ]


def describe_by_notes(
    boundaries: Sequence[Boundary], notes: Mapping[str, EventNote], index: ScopeIndex
) -> list[Boundary]:
    """Return boundaries with the transitions noted of the events they lead to.

    Args:
        boundaries: The run's boundaries.
        notes: What was noted, by event id.
        index: What is stored: boundaries that lead to events which only a retry has notes of are described as well.
    """
    own = {boundary.to_event_id for boundary in boundaries}
    leading_to = index.boundaries.codes("to_event_id", lambda boundary: boundary.to_event_id)
    missing = [index.boundaries.code("to_event_id", event_id) for event_id in notes.keys() - own]
    stored = [index.boundaries.items[position] for position in np.flatnonzero(np.isin(leading_to, missing))]
    return [
        boundary.model_copy(update={"text": note.transition.strip()})
        if (note := notes.get(boundary.to_event_id)) and note.transition.strip()
        else boundary
        for boundary in [*boundaries, *stored]
    ]


def _lacks_note(event: Event, topics: Mapping[str, TurnTopic]) -> bool:
    new = [topics[turn_id] for turn_id in event.turn_ids if turn_id in topics]
    return bool(new) and not any(topic.noted for topic in new) and is_named_by_keywords(event)


def _noted(event: Event, note: EventNote, stored: Event | None, settings: SegmentSettings) -> Event:
    topic = " ".join(note.topic.split())
    earlier = stored.topics if stored and not is_named_by_keywords(stored) else []
    return event.model_copy(update=summarize_event([*earlier, topic], event.keywords, settings)) if topic else event
