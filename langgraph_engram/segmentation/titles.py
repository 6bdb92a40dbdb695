"""Name events: by their own keywords, until something is noted of them that takes the keywords' place."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from langgraph_engram.prompts.extract_events import EventNote
from langgraph_engram.schema import Boundary, Event, Turn
from langgraph_engram.segmentation.events import LIMITS, SummaryLimits, TurnTopic, summarize_event
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.text.keywords import NO_TOPIC, TITLE_KEYWORDS, document_frequencies, topic_words


@dataclass(frozen=True)
class EventNamer:
    """Name the events of one session by what was said in them, compared with what was said in all of it."""

    turns: Sequence[Turn]
    """The turns of the session."""
    limits: SummaryLimits = LIMITS

    @cached_property
    def _texts(self) -> dict[str, str]:
        return {turn.turn_id: " ".join([turn.text, *turn.captions]) for turn in self.turns if turn.is_spoken}

    @cached_property
    def _frequencies(self) -> Counter[str]:
        return document_frequencies(self._texts.values())

    def named(self, event: Event) -> Event:
        """Return an event with topics, keywords and summary made of its turns' words, whatever it was named before."""
        texts = [self._texts[turn_id] for turn_id in event.turn_ids if turn_id in self._texts]
        speakers = {turn.speaker for turn in self.turns}
        keywords = topic_words(texts, self._frequencies, speakers, self.limits.keywords)
        name = ", ".join(keywords[:TITLE_KEYWORDS]) or NO_TOPIC
        return event.model_copy(update=summarize_event([name], keywords, self.limits))


def is_named_by_keywords(event: Event) -> bool:
    """Return whether all that names an event is its own keywords."""
    return not event.topics or event.topics in ([NO_TOPIC], [", ".join(event.keywords)[: len(event.topics[0])]])


def name_by_keywords(
    events: Sequence[Event], turns: Sequence[Turn], topics: Mapping[str, TurnTopic], limits: SummaryLimits = LIMITS
) -> list[Event]:
    """Name a run's events by their keywords where no model noted what they are about.

    Args:
        events: The run's events; those without a turn of the run stay as they are.
        turns: The turns of their session, stored ones and the run's.
        topics: What is known of the run's turns, by turn id.
        limits: How many topics and keywords a summary has.
    """
    namer = EventNamer(turns, limits)
    return [namer.named(event) if _lacks_note(event, topics) else event for event in events]


def name_by_notes(events: Sequence[Event], notes: Mapping[str, EventNote], index: ScopeIndex) -> list[Event]:
    """Return events with the topics noted of them, by event id, after those that an earlier call noted."""
    return [
        _noted(event, notes[event.event_id], index.events.get(event.event_id)) if event.event_id in notes else event
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
    return bool(new) and not any(topic.topic for topic in new) and is_named_by_keywords(event)


def _noted(event: Event, note: EventNote, stored: Event | None) -> Event:
    topic = " ".join(note.topic.split())
    earlier = stored.topics if stored and not is_named_by_keywords(stored) else []
    return event.model_copy(update=summarize_event([*earlier, topic], event.keywords)) if topic else event
