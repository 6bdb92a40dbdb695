"""Verify a narrative against the records that it covers, and against what has changed while it was written.

A small model that writes fluent records still makes things up across them ("raising over $10,000"), or writes about its
task ("The new memories build upon the earlier ones"). Words cannot be verified record by record, for a narrative has
its own; numbers, repeats and the words of the task can.
"""

import re
from collections.abc import Sequence

from langgraph_engram.extraction.evidence import missing_number
from langgraph_engram.schema import Record, Synthesis
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.summarization.scheduling import SynthesisJob, is_outdated
from langgraph_engram.temporal.datetimes import format_day
from langgraph_engram.text.numbers import NUMBER, numbers_in, spelled_numbers
from langgraph_engram.text.sentences import split_sentences
from langgraph_engram.text.tokens import words

ENUMERATION = re.compile(r"^\s*(?:[-*#]+\s*)?\d+[.)]\s+", re.MULTILINE)
"""The number of an item of a list; it says nothing."""
TASK = re.compile(r"\b(?:new|earlier)\s+memor(?:y|ies)\b", re.IGNORECASE)
"""What the prompt calls its records, and nobody else does."""
MOST_REPEATED = 0.25
"""Share of a narrative's sentences that may say what an earlier one said."""


def narrative_fault(text: str, records: Sequence[Record]) -> str:
    """Return what is wrong with a narrative; empty if nothing is.

    Args:
        text: What a model wrote; empty has no fault.
        records: The records that it covers, and those it goes back to.
    """
    return _unsupported_number(text, records) or _mentions_task(text, records) or _repeats_itself(text)


def shorten(text: str, most: int) -> str:
    """Return a text without its end where it runs on: whole sentences of at most `most` words."""
    if len(text.split()) <= most:
        return text.strip()
    kept: list[str] = []
    for sentence in split_sentences(text):
        if len(" ".join([*kept, sentence]).split()) > most:
            break
        kept.append(sentence)
    return " ".join(kept)


def is_covered_elsewhere(synthesis: Synthesis, index: ScopeIndex) -> bool:
    """Return whether other syntheses cover all that a new one covers."""
    others = [stored for stored in index.syntheses.items if stored.synthesis_id != synthesis.synthesis_id]
    covered = {record_id for other in others for record_id in other.covered_record_ids}
    return synthesis.synthesis_id not in index.syntheses and covered.issuperset(synthesis.covered_record_ids)


def covers_deleted(synthesis: Synthesis, before: ScopeIndex, now: ScopeIndex) -> bool:
    """Return whether something that a new synthesis covers, or goes back to, was forgotten while it was written."""
    records, events = synthesis.covered_record_ids, synthesis.seed_event_ids
    return any(record_id in before.records and record_id not in now.records for record_id in records) or any(
        event_id in before.events and event_id not in now.events for event_id in events
    )


def with_current_status(job: SynthesisJob, synthesis: Synthesis, index: ScopeIndex) -> Synthesis:
    """Return a synthesis as stale if a record that it tells has changed since it was asked for."""
    now = [index.records.get(record.record_id) for record in job.records]
    is_told_anew = any(
        record is None or (record.status != "active" and is_outdated(synthesis.text, record)) for record in now
    )
    return synthesis.model_copy(update={"status": "stale"}) if is_told_anew else synthesis


def _unsupported_number(text: str, records: Sequence[Record]) -> str:
    numbers = NUMBER.findall(ENUMERATION.sub("", text))
    if not numbers:
        return ""
    known = " ".join(part for record in records for part in _texts(record))
    missing = missing_number(numbers, {*numbers_in(known), *spelled_numbers(words(known))})
    return f"the number {missing!r} is in none of its records" if missing else ""


def _texts(record: Record) -> list[str]:
    times = (record.mentioned_at, record.event_start, record.event_end)
    days = [f"{format_day(time)} {time:%Y %m %d}" for time in times if time]
    return [record.content, record.time_text, record.reason, record.purpose, *days]


def _mentions_task(text: str, records: Sequence[Record]) -> str:
    match = TASK.search(text)
    if not match or any(match.group().casefold() in record.content.casefold() for record in records):
        return ""
    return f"it is about {match.group().casefold()!r}, not about what they say"


def _repeats_itself(text: str) -> str:
    sentences = [plain for sentence in split_sentences(text) if (plain := " ".join(words(sentence)))]
    repeats = len(sentences) - len(set(sentences))
    return (
        f"{repeats} of its {len(sentences)} sentences are repeats" if repeats > MOST_REPEATED * len(sentences) else ""
    )
