"""Hold a narrative against the records that it tells: a sum that nobody named, its own task, sentences in circles.

A small model that writes fluent records still makes things up across them ("raising over $10,000"), or tells of its
task ("The new memories build upon the earlier ones"). Words cannot be held against records one by one, for a narrative
has its own; numbers, repeats and the words of the task can.
"""

import re
from collections.abc import Sequence

from langgraph_engram.extraction.evidence import missing_number
from langgraph_engram.schema import Record, Synthesis
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.summarization.scheduling import SynthesisJob
from langgraph_engram.temporal.datetimes import name_day
from langgraph_engram.text.names import NUMBER, numbers_in, spelled_numbers
from langgraph_engram.text.sentences import split_sentences
from langgraph_engram.text.tokens import words

ENUMERATION = re.compile(r"^\s*(?:[-*#]+\s*)?\d+[.)]\s+", re.MULTILINE)
"""The number of an item of a list; it tells nothing."""
TASK = re.compile(r"\b(?:new|earlier)\s+memor(?:y|ies)\b", re.IGNORECASE)
"""What the prompt calls its records, and nobody else does."""
MOST_REPEATED = 0.25
"""Share of a narrative's sentences that may say what an earlier one said."""


def narrative_fault(text: str, records: Sequence[Record]) -> str:
    """Say what is wrong with a narrative; empty if nothing is.

    Args:
        text: What a model wrote; empty has no fault.
        records: The records that it tells, and those it goes back to.
    """
    return _made_up_number(text, records) or _mentions_task(text, records) or _repeats(text)


def _made_up_number(text: str, records: Sequence[Record]) -> str:
    told = NUMBER.findall(ENUMERATION.sub("", text))
    if not told:
        return ""
    known = " ".join(part for record in records for part in _parts(record))
    held = {*numbers_in(known), *spelled_numbers(words(known))}
    missing = missing_number(told, held)
    return f"the number {missing!r} is in none of its records" if missing else ""


def _mentions_task(text: str, records: Sequence[Record]) -> str:
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


def bounded(text: str, most: int) -> str:
    """Give a text without its end where it runs on: whole sentences of at most `most` words; empty stays empty."""
    if len(text.split()) <= most:
        return text.strip()
    kept: list[str] = []
    for sentence in split_sentences(text):
        if len(" ".join([*kept, sentence]).split()) > most:
            break
        kept.append(sentence)
    return " ".join(kept)


def synthesized_meanwhile(synthesis: Synthesis, index: ScopeIndex) -> bool:
    """Say whether another run has told all that a new synthesis covers."""
    others = [one for one in index.syntheses.items if one.synthesis_id != synthesis.synthesis_id]
    covered = {record_id for one in others for record_id in one.covered_record_ids}
    return synthesis.synthesis_id not in index.syntheses and covered.issuperset(synthesis.covered_record_ids)


def covers_deleted(synthesis: Synthesis, before: ScopeIndex, now: ScopeIndex) -> bool:
    """Say whether something that a new synthesis tells, or goes back to, was forgotten while it was written."""
    records, events = synthesis.covered_record_ids, synthesis.seed_event_ids
    return any(one in before.records and one not in now.records for one in records) or any(
        one in before.events and one not in now.events for one in events
    )


def with_current_status(job: SynthesisJob, synthesis: Synthesis, index: ScopeIndex) -> Synthesis:
    """Give a synthesis as stale if a record that it tells has changed since it was asked for."""
    now = [index.records.get(record.record_id) for record in job.records]
    unchanged = all(record and record.status == "active" for record in now)
    return synthesis if unchanged else synthesis.model_copy(update={"status": "stale"})
