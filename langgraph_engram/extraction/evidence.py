"""Read what a turn gives grounds for: its words, numbers and times, each turn once however many records cite it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

import numpy as np

from langgraph_engram.schema import DateOrder, Interval, Record, Turn
from langgraph_engram.settings import VerifySettings
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.temporal.datetimes import on_clock
from langgraph_engram.temporal.find import find_times
from langgraph_engram.temporal.resolve import resolve_times
from langgraph_engram.text.names import NUMBER, numbers_in, plain_number, proper_names, spelled_numbers
from langgraph_engram.text.sentences import question_at_end
from langgraph_engram.text.tokens import content_stems, stem, words

TURNS_KEPT = 2048
"""Turns whose grounds are kept in the process."""
LONGEST_KEPT = 20_000
"""Characters of the longest such turn."""
LONG_TURNS_KEPT = 16
"""Longer turns whose grounds are kept: those that a run is at work on."""


@dataclass(frozen=True)
class TurnSupport:
    """What a turn gives grounds for."""

    text: str
    """Speaker, words with times resolved, captions and day, case-folded."""
    stems: frozenset[str]
    """Stems of all words, and of what irregular forms come from."""
    numbers: frozenset[str]
    """Numbers in digits, those that are spelled out included."""
    spans: tuple[Interval, ...]
    """The times it mentions."""
    asks: str
    """The question it ends with; empty for none."""


def support_of(turn: Turn) -> TurnSupport:
    """Give what a turn gives grounds for. It is read once, however many records cite it."""
    read = _read if len(turn.text) <= LONGEST_KEPT else _read_long
    return read(turn.speaker, turn.text, tuple(turn.captions), on_clock(turn.said_at), turn.date_order)


@lru_cache(maxsize=TURNS_KEPT)
def _read(
    speaker: str, text: str, captions: tuple[str, ...], said_at: datetime | None, date_order: DateOrder | None
) -> TurnSupport:
    day = f"{said_at:%Y-%m-%d} {said_at.day} {said_at:%B %Y}" if said_at else ""
    said = " ".join([speaker, resolve_times(text, said_at, date_order), *captions, day])
    each = words(said)
    return TurnSupport(
        text=said.casefold(),
        stems=frozenset(stem(word) for word in each) | frozenset(content_stems(said)),
        numbers=frozenset(value for value in (*numbers_in(said), *spelled_numbers(each))),
        spans=tuple(mention.interval for mention in find_times(text, said_at, date_order)),
        asks=question_at_end(text),
    )


_read_long = lru_cache(maxsize=LONG_TURNS_KEPT)(_read.__wrapped__)


def recycled_reason(record: Record, sources: Sequence[Turn], index: ScopeIndex, settings: VerifySettings) -> str:
    """Say which stored record this one echoes; empty if it tells anything of its own.

    What an assistant says that a stored record holds already, nearly word for word, comes from memory. What a user says
    is never an echo.

    Args:
        record: The record to judge.
        sources: The turns it cites.
        index: What is stored of the scope.
        settings: The least share of its stems that the stored one holds.
    """
    if not sources or any(turn.role == "user" for turn in sources) or not len(index.records):
        return ""
    told = set(content_stems(record.content)) - {one for turn in sources for one in content_stems(turn.speaker)}
    if not told:
        return ""
    least = settings.echo * len(told)
    for place in np.flatnonzero(index.records.lexical.count_matches(told) >= least):  # by content or by keywords
        stored = index.records.items[place]
        if stored.status != "active" or set(stored.source_turn_ids) & set(record.source_turn_ids):
            continue
        if len(told.intersection(content_stems(stored.content))) >= least:
            return f"it echoes the record {stored.record_id}"
    return ""


YEAR_DIGITS = 4
HALF = 0.5
"""Least share of the words of a reason, a purpose or a keyword that were said."""


def verify_record(record: Record, sources: Sequence[Turn], around: Sequence[Turn], settings: VerifySettings) -> Record:
    """Give the record with its grounded dimensions, or quarantined with the first reason found.

    Args:
        record: The record to judge.
        sources: The turns it cites.
        around: The turns of its event, whose names may stand for pronouns.
        settings: How much of its words must be said.
    """
    if record.status != "active":
        return record
    around = [*sources, *(turn for turn in around if turn not in sources)]
    reason = (
        unsupported_number(record, sources, around)
        or unsupported_name(record, around)
        or unsupported_date(record, sources)
        or unsupported_words(record, around, settings.least_said)
        or misattributed(record, sources, around)
    )
    return _quarantined(record, reason) if reason else with_supported_dimensions(record, around)


def unsupported_number(record: Record, sources: Sequence[Turn], around: Sequence[Turn] = ()) -> str:
    """Say which number of the content no source holds, nor a question told with its reply; empty if all are held."""
    told = NUMBER.findall(record.content)
    if not told:
        return ""
    held = {number for turn in (*sources, *_quoted_questions(record, around)) for number in support_of(turn).numbers}
    missing = missing_number(told, held)
    return f"the number {missing!r} is in none of its sources" if missing else ""


def missing_number(told: Sequence[str], held: Collection[str]) -> str:
    """Give the first number that was never said, as it was told; empty if all were.

    Args:
        told: Numbers in digits.
        held: The numbers that were said, written plainly.
    """
    return next((number for number in told if not _is_held(plain_number(number), held)), "")


def _is_held(number: str, held: Collection[str]) -> bool:
    """Say whether a number was said: as it is, as the two digits of a year, or as the full hour that a clock shows."""
    of_year = number[2:] if len(number) == YEAR_DIGITS and number.isdigit() else number
    return number in held or of_year in held or (number.isdigit() and int(number) == 0)


def unsupported_name(record: Record, around: Sequence[Turn]) -> str:
    """Say which name of the content nobody near it mentions; empty if all are mentioned."""
    grounds = [support_of(turn) for turn in around]
    for name in proper_names(record.content):
        stems = {stem(word) for word in words(name)}
        if not any(name.casefold() in one.text or stems & one.stems for one in grounds):
            return f"the name {name!r} is not mentioned near its sources"
    return ""


def unsupported_date(record: Record, sources: Sequence[Turn]) -> str:
    """Say that the event's date follows from no source; empty if it follows, or if there is none."""
    if record.event_start is None or record.event_end is None:
        return ""
    for turn in sources:
        spans = support_of(turn).spans
        if any(span.start <= record.event_end and record.event_start <= span.end for span in spans):
            return ""
        if turn.said_at and record.event_start.date() <= turn.said_at.date() <= record.event_end.date():
            return ""
    return f"the date {record.event_start.date().isoformat()} follows from none of its sources"


def unsupported_words(record: Record, around: Sequence[Turn], least: float) -> str:
    """Say that too few of the content's words were said near its sources; empty if enough were.

    Args:
        record: The record.
        around: The turns of its event.
        least: Least share of the distinct content stems that occur there, in [0, 1].
    """
    told = set(content_stems(record.content))
    missing = unsaid(told, around)
    if len(told) - len(missing) >= least * len(told):
        return ""
    return f"most of its words were not said: {', '.join(sorted(missing)[:3])}"


def unsaid(stems: Collection[str], around: Sequence[Turn]) -> set[str]:
    """Give the stems that none of the turns holds. Those that hold most are best given first."""
    left = set(stems)
    for turn in around:
        if not left:
            break
        left -= support_of(turn).stems
    return left


def misattributed(record: Record, sources: Sequence[Turn], around: Sequence[Turn]) -> str:
    """Say that the content tells of one speaker what another said of themselves; empty if it does not.

    It does where the content begins with the name of a participant who spoke no source, and whom no source mentions or
    speaks to; a question told with its reply has its own speaker before a colon.
    """
    others = {turn.speaker for turn in around} - {turn.speaker for turn in sources}
    named = next((name for name in others if words(record.content)[: len(words(name))] == words(name)), None)
    if named is None or not words(named) or record.content.startswith(f"{named}:"):
        return ""
    said = {word for turn in sources for word in words(turn.text)}
    if said & {"you", "your", "yours", "we", "our", "us", *words(named)}:
        return ""
    return f"it tells of {named} what {sources[-1].speaker if sources else 'nobody'} said"


def with_supported_dimensions(record: Record, around: Sequence[Turn]) -> Record:
    """Give a record without the place, reason, purpose and keywords that nobody near its sources said."""

    def held(text: str, least: float) -> str:
        stems = set(content_stems(text))
        return text if stems and len(stems) - len(unsaid(stems, around)) >= least * len(stems) else ""

    update: dict[str, object] = {
        "location": held(record.location, 1.0),
        "reason": held(record.reason, HALF),
        "purpose": held(record.purpose, HALF),
        "keywords": [word for word in record.keywords if held(word, HALF)],
    }
    return record.model_copy(update=update)


def _quoted_questions(record: Record, around: Sequence[Turn]) -> list[Turn]:
    """Give the turns whose question is told with the reply to it: they are read beside the sources."""
    return [turn for turn in around if (asked := support_of(turn).asks) and asked in record.content]


def _quarantined(record: Record, reason: str) -> Record:
    return record.model_copy(update={"status": "quarantined", "reject_reason": reason})
