"""Draw records from turns without a model: one a sentence, its speaker named, its times resolved.

The sentence is kept as it was said, after its speaker's name: rules that rewrite "I" and "you" get quotes and
general truths wrong. A short reply keeps the question it answers, because neither means anything alone.
"""

from collections.abc import Collection, Iterator

from langgraph_engram.language.keywords import keywords_of
from langgraph_engram.language.sentences import split_sentences
from langgraph_engram.language.times import find_times, resolve_times
from langgraph_engram.language.tokens import content_stems
from langgraph_engram.prompts.extract_records import Extraction, ExtractRecords, RecordDraft
from langgraph_engram.rules.dimensions import location_of, purpose_of, reason_of, type_of
from langgraph_engram.rules.worth import is_small_talk
from langgraph_engram.schema import Turn

SHORT_REPLY_STEMS = 5
"""Content stems up to which a reply is shown with its question."""


def extract_records(question: ExtractRecords) -> Extraction:
    """Draw one record from each sentence and each image of the core turns that says anything."""
    earlier = question.context[-1] if question.context else None
    people = {turn.speaker for turn in (*question.context, *question.turns)}
    records: list[RecordDraft] = []
    for number, turn in enumerate(question.turns, start=1):
        records.extend(records_of(turn, number, earlier, people))
        earlier = turn
    return Extraction(records=records)


def records_of(turn: Turn, number: int, earlier: Turn | None, people: Collection[str]) -> Iterator[RecordDraft]:
    """Draw the records of one turn.

    Args:
        turn: The turn to read.
        number: Its number in the question.
        earlier: The turn before it, whose question it may answer.
        people: Who takes part.
    """
    asked = question_at_end(earlier) if earlier and earlier.speaker != turn.speaker else ""
    for sentence in split_sentences(turn.text):
        if is_small_talk(sentence, people):
            continue
        yield _draft(turn, number, sentence, asked if earlier and is_short_reply(sentence) else "", earlier)
        asked = ""
    for caption in turn.captions:
        yield RecordDraft(
            sources=[number],
            content=f"{turn.speaker} shares an image: {caption}",
            memory_type="fact",
            keywords=keywords_of(caption),
            speaker=turn.speaker,
        )


def question_at_end(turn: Turn) -> str:
    """Give the question that a turn ends with; empty for none."""
    sentences = split_sentences(turn.text)
    return sentences[-1] if sentences and sentences[-1].rstrip().endswith("?") else ""


def is_short_reply(sentence: str) -> bool:
    """Say whether a sentence is too short to stand without the question it answers."""
    return not sentence.rstrip().endswith("?") and len(content_stems(sentence)) <= SHORT_REPLY_STEMS


def _draft(turn: Turn, number: int, sentence: str, asked: str, earlier: Turn | None) -> RecordDraft:
    said = resolve_times(sentence, turn.said_at)
    answers = bool(asked) and number > 1
    content = f"{earlier.speaker}: {asked} {turn.speaker}: {said}" if asked and earlier else f"{turn.speaker}: {said}"
    return RecordDraft(
        sources=[number - 1, number] if answers else [number],
        content=content,
        memory_type=type_of(sentence, turn.said_at),
        time=time_of(sentence, turn),
        location=location_of(sentence),
        reason=reason_of(sentence),
        purpose=purpose_of(sentence),
        keywords=keywords_of(sentence),
        speaker=turn.speaker,
    )


def time_of(sentence: str, turn: Turn) -> str:
    """Give the first time that a sentence names, as start/end; empty for none."""
    mentions = find_times(sentence, turn.said_at)
    if not mentions:
        return ""
    interval = mentions[0].interval
    return f"{interval.start.isoformat()}/{interval.end.isoformat()}"
