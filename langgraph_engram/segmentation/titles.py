"""Name events that no model has named, by the words that tell most of what was said in them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from langgraph_engram.prompts.extract_events import EventNote
from langgraph_engram.schema import Boundary, Event, Turn
from langgraph_engram.segmentation.events import TurnTopic, sum_up
from langgraph_engram.settings import SegmentSettings
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.text.keywords import NO_TOPIC, spread_of, topic_words


@dataclass(frozen=True)
class Namer:
    """Name the events of one session by what was said in them, held against what was said in all of it."""

    turns: Sequence[Turn]
    """The turns of the session."""
    settings: SegmentSettings
    """How many keywords make a name; a summary adds the next few."""
    _texts: dict[str, str] = field(init=False)
    _spread: Counter[str] = field(init=False)

    def __post_init__(self) -> None:
        """Count the words of the session once."""
        texts = {one.turn_id: " ".join([one.text, *one.captions]) for one in self.turns if one.is_spoken}
        object.__setattr__(self, "_texts", texts)
        object.__setattr__(self, "_spread", spread_of(texts.values()))

    def named(self, event: Event) -> Event:
        """Give an event with topics, keywords and summary made of its turns' words, whatever it was named before."""
        said = [self._texts[one] for one in event.turn_ids if one in self._texts]
        people = {turn.speaker for turn in self.turns}
        keywords = topic_words(said, self._spread, people, self.settings.most_keywords)
        name = ", ".join(keywords[: self.settings.name_keywords]) or NO_TOPIC
        return event.model_copy(update=sum_up([name], keywords, self.settings))


def is_named_by_words(event: Event) -> bool:
    """Say whether all that names an event is its own keywords: whatever is noted of it takes their place."""
    return not event.topics or event.topics in ([NO_TOPIC], [", ".join(event.keywords)[: len(event.topics[0])]])


def named_by_words(
    events: Sequence[Event], turns: Sequence[Turn], lines: Mapping[str, TurnTopic], settings: SegmentSettings
) -> list[Event]:
    """Name a run's events by their words where no model noted what they are about.

    Args:
        events: The run's events; those without a turn of the run stay as they are.
        turns: The turns of their session, stored ones and the run's.
        lines: What is known of the run's turns, by turn id.
        settings: How many keywords make a name; a summary adds the next few.

    Returns:
        The events with topics, keywords and summary.
    """
    namer = Namer(turns, settings)
    return [namer.named(event) if _is_open_to_names(event, lines) else event for event in events]


def _is_open_to_names(event: Event, lines: Mapping[str, TurnTopic]) -> bool:
    new = [lines[one] for one in event.turn_ids if one in lines]
    return bool(new) and not any(line.noted for line in new) and is_named_by_words(event)


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
