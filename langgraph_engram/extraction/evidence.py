"""Verify records against the turns they cite: numbers, names, dates, words, speakers.

What the turns support is read once a turn, however many records cite it. A record that goes beyond its sources is
quarantined with the reason; a dimension that nobody near its sources said is left out. What an assistant says that a
stored record holds already is recycled memory, and no new record.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, lru_cache

import numpy as np

from langgraph_engram.schema import DateOrder, Event, Interval, Record, Turn
from langgraph_engram.settings import VerifySettings
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.temporal.datetimes import wall_time
from langgraph_engram.temporal.find import find_times
from langgraph_engram.temporal.resolve import resolve_times
from langgraph_engram.text.names import proper_names
from langgraph_engram.text.numbers import NUMBER, numbers_in, plain_number, spelled_numbers
from langgraph_engram.text.sentences import question_at_end
from langgraph_engram.text.tokens import content_stems, stem, words

MAX_CACHED_TURNS = 2048
"""Turns whose support is cached in the process."""
LONG_TURN = 20_000
"""Characters from which on a turn is long."""
MAX_CACHED_LONG_TURNS = 16
"""Long turns whose support is cached: those that a run is at work on."""
YEAR_DIGITS = 4
HALF = 0.5
"""Least share of the words of a reason, a purpose or a keyword that were said."""


@dataclass(frozen=True)
class Verifier:
    """Verify the records of a run."""

    index: ScopeIndex
    turns: Sequence[Turn]
    """The run's turns."""
    events: Sequence[Event]
    """The run's events."""
    settings: VerifySettings

    def verify(self, record: Record) -> Record:
        """Return a record verified, or quarantined with the first reason found."""
        sources = self._turns(record.source_turn_ids)
        verified = verify_record(record, sources, self._turns(self._nearby.get(record.event_id, [])), self.settings)
        reason = _recycled_reason(verified, sources, self.index, self.settings) if verified.status == "active" else ""
        return _quarantined(verified, reason) if reason else verified

    @cached_property
    def _own(self) -> dict[str, Turn]:
        return {turn.turn_id: turn for turn in self.turns}

    @cached_property
    def _nearby(self) -> dict[str, list[str]]:
        return {event.event_id: [*event.context_turn_ids, *event.turn_ids] for event in self.events}

    def _turns(self, turn_ids: Sequence[str]) -> list[Turn]:
        found = (self._own.get(turn_id) or self.index.turns.get(turn_id) for turn_id in turn_ids)
        return [turn for turn in found if turn]


def verify_record(record: Record, sources: Sequence[Turn], nearby: Sequence[Turn], settings: VerifySettings) -> Record:
    """Return the record with the dimensions that have evidence, or quarantined with the first reason found.

    Args:
        record: The record to verify.
        sources: The turns it cites.
        nearby: The turns of its event, whose names may stand for pronouns.
        settings: How much of its words must have been said.
    """
    if record.status != "active":
        return record
    nearby = [*sources, *(turn for turn in nearby if turn not in sources)]
    reason = (
        _unsupported_number(record, sources, nearby)
        or _unsupported_name(record, nearby)
        or _unsupported_date(record, sources)
        or _unsupported_words(record, nearby, settings.least_said)
        or _misattributed(record, sources, nearby)
    )
    return _quarantined(record, reason) if reason else _with_supported_dimensions(record, nearby)


def missing_number(numbers: Sequence[str], said: Collection[str]) -> str:
    """Return the first number that was never said, as it stands; empty if all were.

    Args:
        numbers: Numbers in digits.
        said: The numbers that were said, written plainly.
    """
    return next((number for number in numbers if not _is_said(plain_number(number), said)), "")


@dataclass(frozen=True)
class TurnSupport:
    """What a turn is evidence for."""

    text: str
    """Speaker, words with times resolved, captions and day, case-folded."""
    stems: frozenset[str]
    """Stems of all words, and of what irregular forms come from."""
    numbers: frozenset[str]
    """Numbers in digits, those that are spelled out included."""
    times: tuple[Interval, ...]
    """The times it mentions."""
    asks: str
    """The question it ends with; empty for none."""


def support_of(turn: Turn) -> TurnSupport:
    """Return what a turn is evidence for. It is read once, however many records cite it."""
    read = _support if len(turn.text) <= LONG_TURN else _long_support
    return read(turn.speaker, turn.text, tuple(turn.captions), wall_time(turn.said_at), turn.date_order)


@lru_cache(maxsize=MAX_CACHED_TURNS)
def _support(
    speaker: str, text: str, captions: tuple[str, ...], said_at: datetime | None, date_order: DateOrder | None
) -> TurnSupport:
    day = f"{said_at:%Y-%m-%d} {said_at.day} {said_at:%B %Y}" if said_at else ""
    said = " ".join([speaker, resolve_times(text, said_at, date_order), *captions, day])
    said_words = words(said)
    return TurnSupport(
        text=said.casefold(),
        stems=frozenset(stem(word) for word in said_words) | frozenset(content_stems(said)),
        numbers=frozenset((*numbers_in(said), *spelled_numbers(said_words))),
        times=tuple(mention.interval for mention in find_times(text, said_at, date_order)),
        asks=question_at_end(text),
    )


_long_support = lru_cache(maxsize=MAX_CACHED_LONG_TURNS)(_support.__wrapped__)


def _unsupported_number(record: Record, sources: Sequence[Turn], nearby: Sequence[Turn]) -> str:
    """Return why a number of the content has no evidence: no source holds it, nor a question quoted with its reply."""
    numbers = NUMBER.findall(record.content)
    if not numbers:
        return ""
    quoted = [turn for turn in nearby if (asked := support_of(turn).asks) and asked in record.content]
    missing = missing_number(numbers, {number for turn in (*sources, *quoted) for number in support_of(turn).numbers})
    return f"the number {missing!r} is in none of its sources" if missing else ""


def _is_said(number: str, said: Collection[str]) -> bool:
    """Return whether a number was said: as it is, as the two digits of a year, or as a full hour on a clock."""
    of_year = number[2:] if len(number) == YEAR_DIGITS and number.isdigit() else number
    return number in said or of_year in said or (number.isdigit() and int(number) == 0)


def _unsupported_name(record: Record, nearby: Sequence[Turn]) -> str:
    """Return why a name of the content has no evidence: nobody near its sources mentions it."""
    supports = [support_of(turn) for turn in nearby]
    for name in proper_names(record.content):
        stems = {stem(word) for word in words(name)}
        if not any(name.casefold() in support.text or stems & support.stems for support in supports):
            return f"the name {name!r} is not mentioned near its sources"
    return ""


def _unsupported_date(record: Record, sources: Sequence[Turn]) -> str:
    """Return why the event's date has no evidence: it follows from no source. Empty if there is none."""
    if record.event_start is None or record.event_end is None:
        return ""
    for turn in sources:
        times = support_of(turn).times
        if any(time.start <= record.event_end and record.event_start <= time.end for time in times):
            return ""
        if turn.said_at and record.event_start.date() <= turn.said_at.date() <= record.event_end.date():
            return ""
    return f"the date {record.event_start.date().isoformat()} follows from none of its sources"


def _unsupported_words(record: Record, nearby: Sequence[Turn], least: float) -> str:
    """Return why the content has no evidence: less than the share `least` of its stems was said near its sources."""
    stems = set(content_stems(record.content))
    missing = _unsaid(stems, nearby)
    if len(stems) - len(missing) >= least * len(stems):
        return ""
    return f"most of its words were not said: {', '.join(sorted(missing)[:3])}"


def _unsaid(stems: Collection[str], nearby: Sequence[Turn]) -> set[str]:
    """Return the stems that none of the turns holds. Those that hold most are best given first."""
    left = set(stems)
    for turn in nearby:
        if not left:
            break
        left -= support_of(turn).stems
    return left


def _misattributed(record: Record, sources: Sequence[Turn], nearby: Sequence[Turn]) -> str:
    """Return whom the content is about by mistake: it says of one speaker what another said of themselves.

    It does where the content begins with the name of a participant who spoke no source, and whom no source mentions or
    speaks to; a question quoted with its reply has its own speaker before a colon.
    """
    others = {turn.speaker for turn in nearby} - {turn.speaker for turn in sources}
    named = next((name for name in others if words(record.content)[: len(words(name))] == words(name)), None)
    if named is None or not words(named) or record.content.startswith(f"{named}:"):
        return ""
    said = {word for turn in sources for word in words(turn.text)}
    if said & {"you", "your", "yours", "we", "our", "us", *words(named)}:
        return ""
    return f"it says of {named} what {sources[-1].speaker if sources else 'nobody'} said"


def _with_supported_dimensions(record: Record, nearby: Sequence[Turn]) -> Record:
    """Return a record without the place, reason, purpose and keywords that nobody near its sources said."""

    def supported(text: str, least: float) -> str:
        stems = set(content_stems(text))
        return text if stems and len(stems) - len(_unsaid(stems, nearby)) >= least * len(stems) else ""

    update: dict[str, object] = {
        "location": supported(record.location, 1.0),
        "reason": supported(record.reason, HALF),
        "purpose": supported(record.purpose, HALF),
        "keywords": [word for word in record.keywords if supported(word, HALF)],
    }
    return record.model_copy(update=update)


def _recycled_reason(record: Record, sources: Sequence[Turn], index: ScopeIndex, settings: VerifySettings) -> str:
    """Return which stored record this one recycles; empty if it says anything of its own.

    What an assistant says that a stored record holds already, nearly word for word, comes from memory. What a user says
    is never recycled.

    Args:
        record: The record to verify.
        sources: The turns it cites.
        index: What is stored of the scope.
        settings: The least share of its stems that the stored one holds.
    """
    if not sources or any(turn.role == "user" for turn in sources) or not len(index.records):
        return ""
    speakers = {name for turn in sources for name in content_stems(turn.speaker)}
    stems = set(content_stems(record.content)) - speakers
    if not stems:
        return ""
    least = settings.recycled_share * len(stems)
    held_by = index.records.lexical.count_matches(stems)
    for position in np.flatnonzero(held_by >= least):  # by content or by keywords
        stored = index.records.items[position]
        if stored.status != "active" or set(stored.source_turn_ids) & set(record.source_turn_ids):
            continue
        if len(stems.intersection(content_stems(stored.content))) >= least:
            return f"it recycles the record {stored.record_id}"
    return ""


def _quarantined(record: Record, reason: str) -> Record:
    return record.model_copy(update={"status": "quarantined", "reject_reason": reason})
