"""Name events that no model has named, by the words that tell most of what was said in them."""

from collections.abc import Mapping, Sequence

from langgraph_engram.language.keywords import NO_TOPIC
from langgraph_engram.language.topic_words import spread_of, topic_words
from langgraph_engram.nodes.build_events import sum_up
from langgraph_engram.nodes.topic_line import TopicLine
from langgraph_engram.schema import Event, Turn
from langgraph_engram.settings import SegmentSettings


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
    texts = {turn.turn_id: " ".join([turn.text, *turn.captions]) for turn in turns if turn.is_spoken}
    spread = spread_of(texts.values())
    people = {turn.speaker for turn in turns}

    def named(event: Event) -> Event:
        said = [texts[one] for one in event.turn_ids if one in texts]
        keywords = topic_words(said, spread, people, settings.most_keywords)
        name = ", ".join(keywords[: settings.name_keywords]) or NO_TOPIC
        return event.model_copy(update=sum_up([name], keywords, settings))

    return [named(event) if _is_open_to_names(event, lines) else event for event in events]


def _is_open_to_names(event: Event, lines: Mapping[str, TopicLine]) -> bool:
    new = [lines[one] for one in event.turn_ids if one in lines]
    return bool(new) and not any(line.noted for line in new) and is_named_by_words(event)
