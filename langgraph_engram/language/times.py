"""Find times in English text, write out what they mean, and read the time that a query asks about.

Days are those of the speaker's own clock, and every interval is given in UTC as if that clock showed it, both ends
included. Without a clock, only times that name their year in full are found. How each kind of time is worded stands in
`dates`, `date_ranges`, `holidays`, `weekdays`, `relative_times` and `joined_times`; this module does not know it.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache

from langgraph_engram.language import date_ranges, dates, holidays, relative_times, weekdays
from langgraph_engram.language.joined_times import join_times
from langgraph_engram.language.limits import Limit, combine, limit_of
from langgraph_engram.language.period_names import name_before, name_interval
from langgraph_engram.language.periods import Granularity, Period
from langgraph_engram.language.time_rule import DIGITS, Found, Rule, Saying, needs_clock
from langgraph_engram.language.time_words import WEEKDAY
from langgraph_engram.moments import on_clock
from langgraph_engram.schema import Interval, TimeConstraint

__all__ = [
    "TimeMention",
    "find_times",
    "name_interval",
    "name_span",
    "overlaps",
    "parse_constraint",
    "parse_time",
    "resolve_times",
]

RULES: tuple[Rule, ...] = (
    *dates.RULES,
    *date_ranges.RULES,
    *holidays.RULES,
    *weekdays.RULES,
    *relative_times.RULES,
)
PLAUSIBLE_YEARS = range(1500, 2200)
"""A clock beyond these is no clock, as a year beyond them is no year."""
NO_CLOCK = datetime(2000, 1, 1, tzinfo=UTC)
"""Stands in where times that need a clock are dropped anyway."""
WORD = re.compile(r"[a-z]+")
DIGIT = re.compile(r"\d")
RECURRING = re.compile(
    r"\b(?:(?:every|each|most|any|per|happy)(?:\s+(?:other|single|last|first|second|third))?|an?)\s+$", re.IGNORECASE
)
"""Before a time these words make it a habit, a wish or a kind."""
TEXTS_KEPT = 1024
"""Texts whose times are kept in the process."""
LONGEST_KEPT = 2_000
"""Characters of the longest such text."""
REACH = 24
"""How many characters before a time are looked at for such words."""
UNIT_NAMED = re.compile(rf"\bweek(?:end)?s?\b|\b{WEEKDAY}", re.IGNORECASE)
"""A time told by its week, weekend or weekday."""
BRACKET = re.compile(r"\s*\(")


@dataclass(frozen=True, slots=True)
class TimeMention:
    """A time that a text mentions."""

    start_char: int
    end_char: int
    text: str
    """What stands between the two places of the text."""
    interval: Interval
    granularity: Granularity
    relative: bool
    """Whether it is only known by the clock of whoever said it."""


def find_times(text: str, clock: datetime | None) -> list[TimeMention]:
    """Find the times that a text mentions, in order, not overlapping.

    Args:
        text: Any text; nothing in it raises an error, and an impossible date is none.
        clock: When it was said; without it only complete dates are found.
    """
    find = _find if len(text) <= LONGEST_KEPT else _find.__wrapped__
    return list(find(text, on_clock(clock)))


@lru_cache(maxsize=TEXTS_KEPT)
def _find(text: str, clock: datetime | None) -> tuple[TimeMention, ...]:
    """Read a text once: its type, its dates and what it says in brackets are asked for one after the other."""
    known = clock is not None and clock.year in PLAUSIBLE_YEARS
    saying = Saying(text, clock if clock and known else NO_CLOCK)
    found = [one for one in _claim(saying) if known or not one.relative]
    return tuple(_mention(text, one) for one in join_times(text, found))


def resolve_times(text: str, clock: datetime | None) -> str:
    """Write after each time that counts from the clock what it means: "I went yesterday (7 May 2023)".

    A past weekday, week or weekend is told as seen from the clock too: "last Friday (5 May 2023, the Friday before)".
    """
    pieces, done = [], 0
    for mention in find_times(text, clock):
        if clock and mention.relative and not BRACKET.match(text, mention.end_char):
            name = name_interval(mention.interval, mention.granularity)
            seen = name_before(mention.interval, mention.granularity, clock) if UNIT_NAMED.search(mention.text) else ""
            pieces.append(f"{text[done : mention.end_char]} ({', '.join(filter(None, (name, seen)))})")
            done = mention.end_char
    return "".join([*pieces, text[done:]])


def parse_time(text: str, clock: datetime | None) -> Interval | None:
    """Read a text that is a time: ISO dates and times, two of them with a slash between, or natural words.

    Args:
        text: "2023-05-07", "2023-05", "2023", "2023-05-01/2023-05-07", "last week"; of more, the first.
        clock: What relative words count from.

    Returns:
        The interval, both ends included, or none if the text tells no time that exists.
    """
    first, slash, last = text.strip().partition("/")
    if slash and (start := parse_time(first, clock)) and (end := parse_time(last, clock)):
        return Interval(start=start.start, end=end.end) if start.start <= end.end else None
    for before in ("", "in ", "on "):
        mentions = [one for one in find_times(before + text.strip(), clock) if one.start_char >= len(before)]
        if mentions:
            return mentions[0].interval
    return None


def parse_constraint(query: str, now: datetime | None) -> TimeConstraint | None:
    """Read when the thing asked for happened, from the times that the query mentions.

    Args:
        query: A question; its own words such as "before", "since" and "around" open or widen the time.
        now: When it is asked; without it only complete dates count.

    Returns:
        The constraint, its text as it was said; none if the query mentions no time.
    """
    limits: list[Limit] = [
        limit_of(query, one.start_char, one.end_char, Period(one.interval, one.granularity))
        for one in find_times(query, now)
    ]
    return combine(query, limits) if limits else None


def overlaps(interval: Interval, constraint: TimeConstraint) -> bool:
    """Tell whether an interval and a constraint share a second."""
    starts_in_time = constraint.end is None or interval.start <= constraint.end
    return starts_in_time and (constraint.start is None or interval.end >= constraint.start)


def _mention(text: str, one: Found) -> TimeMention:
    said = text[one.start : one.end]
    return TimeMention(one.start, one.end, said, one.period.interval, one.period.granularity, one.relative)


def _claim(saying: Saying) -> list[Found]:
    """Let the longest matches have their places. One that turns out to be no time keeps its place empty."""
    matches = sorted(
        _matches(saying.text), key=lambda pair: (pair[1].start("span") - pair[1].end("span"), pair[1].start("span"))
    )
    taken = bytearray(len(saying.text))
    found = []
    for rule, match in matches:
        start, end = match.span("span")
        if any(taken[start:end]):
            continue
        taken[start:end] = b"\1" * (end - start)
        period = _read(rule, match, saying)
        if period:
            found.append(Found(start, end, period, needs_clock(match)))
    return sorted(found, key=lambda one: one.start)


def _matches(text: str) -> Iterator[tuple[Rule, re.Match[str]]]:
    said = _words(text)
    for rule in RULES:
        if not rule.triggers.isdisjoint(said):
            yield from ((rule, match) for match in rule.pattern.finditer(text))


def _words(text: str) -> Iterable[str]:
    said = set(WORD.findall(text.lower()))
    return said | {DIGITS} if DIGIT.search(text) else said


def _read(rule: Rule, match: re.Match[str], saying: Saying) -> Period | None:
    start = match.start("span")
    if RECURRING.search(saying.text[max(0, start - REACH) : start]):
        return None
    try:
        return rule.read(match, saying)
    except (ValueError, OverflowError):
        return None
