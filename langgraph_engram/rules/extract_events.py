"""Read events without a model: their records, and as their topic the words that recur in them.

Relations are left empty: the sentences that show them are records already.
"""

from collections.abc import Sequence
from itertools import pairwise

from langgraph_engram.prompts.extract_events import EventNote, EventReading, ExtractEvents
from langgraph_engram.prompts.rendering import number_sentences
from langgraph_engram.rules.extract_records import draft_of
from langgraph_engram.schema import Turn
from langgraph_engram.settings import SegmentSettings
from langgraph_engram.text.keywords import spread_of, topic_words


def extract_events(question: ExtractEvents) -> EventReading:
    """Name each event, and draw one record from each sentence that says anything."""
    starts = [*question.event_starts, len(question.turns)]
    spans = [question.turns[start:end] for start, end in pairwise(starts)]
    spread = spread_of(_texts(question.turns))
    people, most = {turn.speaker for turn in question.turns}, SegmentSettings().name_keywords
    topics = [", ".join(topic_words(_texts(turns), spread, people, most)) for turns in spans]
    notes = [_note(number, turns, topics) for number, turns in enumerate(spans, start=1)]
    sentences = number_sentences(question.turns, question.context)
    return EventReading(events=notes, records=[draft_of(sentence) for sentence in sentences if sentence.number])


def _note(number: int, turns: Sequence[Turn], topics: Sequence[str]) -> EventNote:
    topic, earlier = topics[number - 1], topics[number - 2] if number > 1 else ""
    who = turns[0].speaker if turns else "somebody"
    transition = f"After {earlier}, {who} brings up {topic}." if earlier else ""
    return EventNote(event=number, topic=topic, transition=transition if topic else "")


def _texts(turns: Sequence[Turn]) -> list[str]:
    return [" ".join([turn.text, *turn.captions]) for turn in turns]
