"""Decide on records that resemble one another without a model: merge repeats, let a stated change supersede.

The rule is careful: what it is not sure of stays. Two sentences on different days are different things.
"""

import re
from collections.abc import Sequence

from langgraph_engram.language.tokens import content_stems
from langgraph_engram.prompts.decide_update import DecideUpdate, UpdateVerdict
from langgraph_engram.schema import Record

REPEAT = 0.9
"""Least share of common stems of two wordings of one thing."""
SAME_SUBJECT = 0.5
"""Least share of common stems of a statement and the change of it."""
CHANGE = re.compile(
    r"\b(?:no longer|not any ?more|anymore|instead of|changed (?:my|the|our|to)|has changed|moved (?:it )?to|"
    r"postponed|rescheduled|cancell?ed|correction|i was wrong|actually it'?s|turns out it'?s|used to)\b",
    re.IGNORECASE,
)


def decide_update(question: DecideUpdate) -> UpdateVerdict:
    """Merge repeats, supersede what the newest record says has changed, and keep the rest."""
    records = question.records
    newest = records[-1]
    if all(_repeats(record, newest) for record in records):
        longest = max(records, key=lambda record: len(record.content))
        return UpdateVerdict(action="MERGE", content=longest.content, reason="the same words")
    if newest.memory_type != "episodic" and CHANGE.search(newest.content) and _same_subject(records[:-1], newest):
        return UpdateVerdict(action="SUPERSEDE", reason="the newest says that it has changed")
    return UpdateVerdict(action="KEEP_BOTH", reason="no sign that they are one")


def _repeats(one: Record, other: Record) -> bool:
    same_time = (one.event_start, one.event_end) == (other.event_start, other.event_end)
    return one.speaker == other.speaker and same_time and _overlap(one, other) >= REPEAT


def _same_subject(older: Sequence[Record], newest: Record) -> bool:
    return all(one.speaker == newest.speaker and _overlap(one, newest) >= SAME_SUBJECT for one in older)


def _overlap(one: Record, other: Record) -> float:
    first, second = set(content_stems(one.content)), set(content_stems(other.content))
    return len(first & second) / len(first | second) if first | second else 1.0
