"""Complete a record's dimensions: a draft's own where they fit its words, else what rules read off (DimMem 3.2)."""

from collections.abc import Sequence

from langgraph_engram.language.dimensions import location_of, purpose_of, reason_of
from langgraph_engram.language.keywords import keywords_of
from langgraph_engram.language.times import TimeMention, find_times, parse_time
from langgraph_engram.nodes.extracting.wording import Wording
from langgraph_engram.prompts.extract_records import RecordDraft
from langgraph_engram.prompts.sentences import Sentence
from langgraph_engram.schema import Interval, Record


def with_dimensions(record: Record, draft: RecordDraft, wording: Wording, *, alone: bool) -> Record:
    """Give a record its type, time, place, reason, purpose and keywords.

    Args:
        record: The record, worded.
        draft: What a model noted.
        wording: The record's words and sentences.
        alone: Whether the draft became this record alone, so that its dimensions are this record's.
    """
    said = " ".join(sentence.text for sentence in wording.sentences) or record.content
    mentions = _mentions(wording.sentences)
    happened, time_text = _time(draft.time if alone else "", mentions, wording)
    noted = draft if alone else RecordDraft(sources=[])
    return record.model_copy(
        update={
            "memory_type": draft.memory_type,
            "time_text": time_text,
            "event_start": happened.start if happened else None,
            "event_end": happened.end if happened else None,
            "location": noted.location or location_of(said),
            "reason": noted.reason or reason_of(said),
            "purpose": noted.purpose or purpose_of(said),
            "keywords": list(dict.fromkeys(noted.keywords)) or keywords_of(said),
        }
    )


def _time(noted: str, mentions: Sequence[TimeMention], wording: Wording) -> tuple[Interval | None, str]:
    """Give when it happened, and the words that say so: a time that is said goes before one that is only noted."""
    clock = wording.sentences[-1].turn.said_at if wording.sentences else None
    happened = parse_time(noted, clock)
    near = next((one for one in mentions if happened and _meet(one.interval, happened)), None)
    if happened and (near or not mentions):
        return happened, near.text if near else noted
    return (mentions[0].interval, mentions[0].text) if mentions else (None, noted)


def _mentions(sentences: Sequence[Sentence]) -> list[TimeMention]:
    return [mention for one in sentences if not one.image for mention in find_times(one.text, one.turn.said_at)]


def _meet(one: Interval, other: Interval) -> bool:
    return one.start <= other.end and other.start <= one.end
