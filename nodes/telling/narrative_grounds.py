"""Hold a narrative against the records that it tells: a sum that nobody named, its own task, sentences in circles.

A small model that writes fluent records still makes things up across them ("raising over $10,000"), or tells of its
task ("The new memories build upon the earlier ones"). Words cannot be held against records one by one, for a narrative
has its own; numbers, repeats and the words of the task can.
"""

import re
from collections.abc import Sequence

from langgraph_engram.language.day_names import name_day
from langgraph_engram.language.numbers import NUMBER, numbers_in, spelled_numbers
from langgraph_engram.language.sentences import split_sentences
from langgraph_engram.language.tokens import words
from langgraph_engram.nodes.extracting.ground import missing_number
from langgraph_engram.schema import Record

ENUMERATION = re.compile(r"^\s*(?:[-*#]+\s*)?\d+[.)]\s+", re.MULTILINE)
"""The number of an item of a list; it tells nothing."""
TASK = re.compile(r"\b(?:new|earlier)\s+memor(?:y|ies)\b", re.IGNORECASE)
"""What the prompt calls its records, and nobody else does."""
MOST_REPEATED = 0.25
"""Share of a narrative's sentences that may say what an earlier one said."""


def fault_of(text: str, records: Sequence[Record]) -> str:
    """Say what is wrong with a narrative; empty if nothing is.

    Args:
        text: What a model wrote; empty has no fault.
        records: The records that it tells, and those it goes back to.
    """
    return _made_up_number(text, records) or _tells_task(text, records) or _repeats(text)


def _made_up_number(text: str, records: Sequence[Record]) -> str:
    told = NUMBER.findall(ENUMERATION.sub("", text))
    if not told:
        return ""
    known = " ".join(part for record in records for part in _parts(record))
    held = {*numbers_in(known), *spelled_numbers(words(known))}
    missing = missing_number(told, held)
    return f"the number {missing!r} is in none of its records" if missing else ""


def _tells_task(text: str, records: Sequence[Record]) -> str:
    match = TASK.search(text)
    said = match and any(match.group().casefold() in record.content.casefold() for record in records)
    return f"it tells of {match.group().casefold()!r}, not of what they say" if match and not said else ""


def _parts(record: Record) -> list[str]:
    moments = (record.mentioned_at, record.event_start, record.event_end)
    days = [f"{name_day(moment)} {moment:%Y %m %d}" for moment in moments if moment]
    return [record.content, record.time_text, record.reason, record.purpose, *days]


def _repeats(text: str) -> str:
    said = [told for sentence in split_sentences(text) if (told := " ".join(words(sentence)))]
    repeated = len(said) - len(set(said))
    return f"{repeated} of its {len(said)} sentences are repeats" if repeated > MOST_REPEATED * len(said) else ""
