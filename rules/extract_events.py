"""Read events without a model: their records, and as their topic the keywords that recur.

Relations are left empty: the sentences that show them are records already.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from langgraph_engram.language.keywords import TOPIC_WORDS, keywords_of
from langgraph_engram.prompts.extract_events import EventNote, EventReading, ExtractEvents
from langgraph_engram.prompts.sentences import number_sentences
from langgraph_engram.rules.extract_records import draft_of
from langgraph_engram.schema import Turn


def extract_events(question: ExtractEvents) -> EventReading:
    """Name each event, and draw one record from each sentence that says anything."""
    starts = [*question.event_starts, len(question.turns)]
    spans = [question.turns[start:end] for start, end in pairwise(starts)]
    topics = [recurring_topic(turns) for turns in spans]
    notes = [_note(number, turns, topics) for number, turns in enumerate(spans, start=1)]
    sentences = number_sentences(question.turns, question.context)
    return EventReading(events=notes, records=[draft_of(sentence) for sentence in sentences if sentence.number])


def _note(number: int, turns: Sequence[Turn], topics: Sequence[str]) -> EventNote:
    topic, earlier = topics[number - 1], topics[number - 2] if number > 1 else ""
    who = turns[0].speaker if turns else "somebody"
    transition = f"After {earlier}, {who} brings up {topic}." if earlier else ""
    return EventNote(event=number, topic=topic, transition=transition if topic else "")


def recurring_topic(turns: Sequence[Turn]) -> str:
    """Give the keywords that recur most in turns, the first ones first; empty if nothing is said."""
    counts: Counter[str] = Counter()
    for turn in turns:
        counts.update(keywords_of(" ".join([turn.text, *turn.captions])))
    return ", ".join(word for word, _ in counts.most_common(TOPIC_WORDS))
