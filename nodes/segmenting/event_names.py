"""Name events that no model has named, by the words that tell most of what was said in them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from langgraph_engram.language.keywords import NO_TOPIC
from langgraph_engram.language.topic_words import spread_of, topic_words
from langgraph_engram.nodes.segmenting.build_events import sum_up
from langgraph_engram.nodes.segmenting.topic_line import TopicLine
from langgraph_engram.schema import Event, Turn
from langgraph_engram.settings import SegmentSettings


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
    events: Sequence[Event], turns: Sequence[Turn], lines: Mapping[str, TopicLine], settings: SegmentSettings
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


def _is_open_to_names(event: Event, lines: Mapping[str, TopicLine]) -> bool:
    new = [lines[one] for one in event.turn_ids if one in lines]
    return bool(new) and not any(line.noted for line in new) and is_named_by_words(event)
