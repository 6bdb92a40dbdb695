"""Find the times that English text mentions, given when it was said.

Days are those of the speaker's own clock, and every interval is given in UTC as if that clock showed it, both ends
included. Without a clock, only times that name their year in full are found. Times that were found are joined with the
words around them: ranges, "the week before X", "the first weekend of X", "early X". The rules for each kind of time are
in `dates` and `relative`. `resolve_times` writes what a time means beside it.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from langgraph_engram.schema import DateOrder, Interval
from langgraph_engram.temporal import dates, relative
from langgraph_engram.temporal.datetimes import wall_time
from langgraph_engram.temporal.patterns import (
    AMOUNT,
    DIGITS,
    FULL_WEEKDAY,
    UNIT,
    UNTIL,
    WEEKDAY,
    FoundTime,
    Rule,
    Utterance,
    needs_clock,
    read_amount,
    read_unit,
    read_weekday,
)
from langgraph_engram.temporal.periods import (
    DAYS_OF_A_WEEK,
    SATURDAY,
    SUNDAY,
    Granularity,
    Period,
    format_interval,
    shift,
    weekday_from,
)
from langgraph_engram.temporal.tense import is_move_at

UNIT_NAMED = re.compile(rf"(?i)\bweek(?:end)?s?\b|\b{WEEKDAY}")
"""A time mentioned by its week, weekend or weekday."""
VAGUE = re.compile(r"(?i)\b(?:couple|few|several|other)\b")
"""Words for amounts without certain ends."""
NUMBERS_ALONE = re.compile(r"\d\d?([/-])\d\d?\1\d+")
"""A date whose order of day and month a reader has to guess."""
BRACKET = re.compile(r"\s*\(")
MOST_DAYS_BEFORE = 34
"""Days within four weeks before this week; longer ago, a date says more than a count."""
NUMBERS = ("", "one", "two", "three", "four")
RULES: tuple[Rule, ...] = (*dates.RULES, *relative.RULES)
PLAUSIBLE_YEARS = range(1500, 2200)
"""Years of a clock that is believed."""
NO_CLOCK = datetime(2000, 1, 1, tzinfo=UTC)
"""Used where times that need a clock are dropped anyway."""
CACHE_SIZE = 1024
"""Texts whose times are cached in the process."""
LONGEST_CACHED = 2_000
"""Characters of the longest such text."""
WORD = re.compile(r"[a-z]+")
DIGIT = re.compile(r"\d")
REACH = 24
"""Characters before a time in which such words are looked for."""
RECURRING = re.compile(
    r"(?i)\b(?:(?:every|each|most|any|per|happy|previous|preceding|following|same|particular|certain|typical)"
    r"(?:\s+(?:other|single|last|first|second|third))?|an?)\s+$"
)
"""Words that make the time after them a habit, a wish or a kind, or count it from another time."""
LABEL = re.compile(rf"(?i)^\W*(?:(?:day|week|month|phase|sprint|step|session|part)\s+\d+|{FULL_WEEKDAY})\W*$")
"""The beginning of a line that only numbers or names a day or a week: the time after it is one of a schedule."""
JOIN_REACH = 48
"""Characters before a time in which words that change it are looked for."""
RANGE = re.compile(rf"(?i){UNTIL}(?:the\s+)?|\s*/\s*")
DASH = re.compile(r"\s*[-–—]\s*")
AND = re.compile(r"(?i),?\s+and\s+(?:the\s+)?")
OPENER = re.compile(r"(?i)\b(?P<opener>from|between)\s+(?:the\s+)?$")
THIRDS = {"early": 0, "beginning": 0, "start": 0, "mid": 1, "middle": 1, "late": 2, "end": 2}
NTHS = {"first": 0, "1st": 0, "second": 1, "2nd": 1, "third": 2, "3rd": 2, "fourth": 3, "4th": 3, "last": -1}
LONG = ("week", "month", "season", "year", "decade")


@dataclass(frozen=True, slots=True)
class TimeMention:
    """A time that a text mentions."""

    start_char: int
    end_char: int
    text: str
    """The text from `start_char` to `end_char`."""
    interval: Interval
    granularity: Granularity
    relative: bool
    """Whether it depends on the speaker's clock."""


def find_times(text: str, clock: datetime | None, date_order: DateOrder | None = None) -> list[TimeMention]:
    """Find the times that a text mentions, in order, not overlapping; an impossible or uncertain date is none.

    `clock` is when it was said: without it only complete dates are found. `date_order` is that of day and month in
    "03/04/2025", where the text itself does not show it.
    """
    find = _find if len(text) <= LONGEST_CACHED else _find.__wrapped__
    return list(find(text, wall_time(clock), date_order))


@lru_cache(maxsize=CACHE_SIZE)
def _find(text: str, clock: datetime | None, date_order: DateOrder | None) -> tuple[TimeMention, ...]:
    """Find times, cached: a text is asked for its type, its dates and its brackets in turn."""
    known = clock is not None and clock.year in PLAUSIBLE_YEARS
    utterance = Utterance(text, clock if clock and known else NO_CLOCK, date_order)
    found = [time for time in _claim(utterance) if known or not time.relative]
    return tuple(_mention(text, time) for time in _join_times(text, found))


def _mention(text: str, found: FoundTime) -> TimeMention:
    words, period = text[found.start : found.end], found.period
    return TimeMention(found.start, found.end, words, period.interval, period.granularity, found.relative)


def _claim(utterance: Utterance) -> list[FoundTime]:
    """Return the times of the longest matches; a match that turns out to be no time still blocks shorter ones."""
    matches = sorted(
        _matches(utterance.text), key=lambda pair: (pair[1].start("span") - pair[1].end("span"), pair[1].start("span"))
    )
    taken = bytearray(len(utterance.text))
    found = []
    for rule, match in matches:
        start, end = match.span("span")
        if any(taken[start:end]):
            continue
        taken[start:end] = b"\1" * (end - start)
        period = _read(rule, match, utterance)
        if period:
            found.append(FoundTime(start, end, period, needs_clock(match)))
    return sorted(found, key=lambda time: time.start)


def _matches(text: str) -> Iterator[tuple[Rule, re.Match[str]]]:
    words = {*WORD.findall(text.lower()), *(DIGITS if DIGIT.search(text) else "")}
    for rule in RULES:
        if not rule.triggers.isdisjoint(words):
            yield from ((rule, match) for match in rule.pattern.finditer(text))


def _read(rule: Rule, match: re.Match[str], utterance: Utterance) -> Period | None:
    start = match.start("span")
    before = utterance.text[max(0, start - REACH) : start]
    if match.group("span")[:4].casefold() == "from" and is_move_at(utterance.text, start):
        return None
    if RECURRING.search(before) or (needs_clock(match) and LABEL.match(before.rpartition("\n")[2])):
        return None
    try:
        return rule.read(match, utterance)
    except (ValueError, OverflowError):
        return None


def _join_times(text: str, found: Iterable[FoundTime]) -> list[FoundTime]:
    """Join ordered, non-overlapping times with each other and with the words before them."""
    widened: list[FoundTime] = []
    for time in found:
        if widened and (joined := _join_two(text, widened[-1], time)):
            widened[-1] = joined
            continue
        time = _with_words_before(text, time)
        if widened and widened[-1].end > time.start:
            widened.pop()
        widened.append(time)
    return widened


def _join_two(text: str, first: FoundTime, last: FoundTime) -> FoundTime | None:
    gap = text[first.end : last.start]
    opener = OPENER.search(text[max(0, first.start - JOIN_REACH) : first.start])
    between = opener is not None and opener.group("opener").casefold() == "between"
    if not (AND.fullmatch(gap) if between else RANGE.fullmatch(gap)):
        return None
    if DASH.fullmatch(gap) and (first.relative or last.relative):
        return None
    if first.period.first > last.period.last:
        return None
    start = first.start - len(opener.group()) if opener else first.start
    if opener and not between and is_move_at(text, start):
        return None
    return FoundTime(start, last.end, first.period.join(last.period), first.relative or last.relative)


def _with_words_before(text: str, found: FoundTime) -> FoundTime:
    for pattern, change in CHANGES:
        match = pattern.search(text[max(0, found.start - JOIN_REACH) : found.start])
        period = change(match, found.period) if match else None
        if match and period:
            found = FoundTime(found.start - len(match.group()), found.end, period, found.relative)
    return found


def _take_part(match: re.Match[str], period: Period) -> Period | None:
    if period.granularity not in LONG:
        return None
    return period.third(THIRDS[match.group("part").casefold()])


def _take_nth(match: re.Match[str], period: Period) -> Period | None:
    """Take the nth day, week, weekend or weekday of a month or more; the last week is its last seven days."""
    if period.granularity not in ("month", "season", "year"):
        return None
    nth, unit = NTHS[match.group("nth").casefold()], match.group("unit").casefold()
    if unit in ("day", "week"):
        size = timedelta(days=1 if unit == "day" else DAYS_OF_A_WEEK)
        first = (period.first if nth >= 0 else period.last + timedelta(days=1)) + nth * size
        return Period.of_days(first, first + size - timedelta(days=1), "day" if unit == "day" else "range")
    weekday = SATURDAY if unit == "weekend" else read_weekday(unit)
    nearest = weekday_from(period.first - timedelta(days=1), weekday, 1) + timedelta(weeks=nth)
    on = nearest if nth >= 0 else weekday_from(period.last + timedelta(days=1), weekday, -1)
    return Period.of_unit("weekend" if unit == "weekend" else "day", on)


def _take_week_of(match: re.Match[str], period: Period) -> Period | None:
    if period.granularity != "day":
        return None
    return Period.of_unit("weekend" if match.group("unit").casefold() == "weekend" else "week", period.first)


def _step_away(match: re.Match[str], period: Period) -> Period | None:
    """Return "the Sunday before X", "two days after X", and, as a calendar week, "the week before X".

    The weekend after a Friday starts the next day, and the one after a Saturday a week later.
    """
    way = match.group("way").casefold()
    on, sign = (period.first, -1) if way.startswith(("before", "p")) else (period.last, 1)
    if match.group("weekday"):
        return Period.of_day(weekday_from(on, read_weekday(match.group("weekday")), sign))
    least, most = read_amount(match.group("amount") or "a")
    unit = read_unit(match.group("unit") or match.group("single_unit"))
    if way == "from":
        is_day = period.granularity == "day" and least == most
        return Period.of_day(shift(unit, period.first, least)) if is_day else None
    if unit == "weekend":
        nearest = weekday_from(on, SATURDAY if sign > 0 else SUNDAY, sign)
        return Period.away(unit, nearest, sign * (least - 1), sign * (most - 1))
    return Period.away(unit, on, sign * least, sign * most)


CHANGES: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], Period], Period | None]], ...] = (
    (
        re.compile(
            r"(?i)\b(?:the\s+)?(?P<part>early|mid|late|beginning|start|middle|end)(?:\s+(?:in|of|part\s+of))?[\s-]+(?:the\s+)?$"
        ),
        _take_part,
    ),
    (
        re.compile(
            rf"(?i)\b(?:the\s+)?(?P<nth>{'|'.join(NTHS)})\s+(?P<unit>day|week|weekend|{WEEKDAY})\s+(?:of|in)\s+(?:the\s+)?$"
        ),
        _take_nth,
    ),
    (re.compile(r"(?i)\b(?:the\s+)?(?P<unit>week|weekend)\s+of\s+(?:the\s+)?$"), _take_week_of),
    (
        re.compile(
            rf"(?i)\b(?:(?P<amount>{AMOUNT})\s+(?P<unit>{UNIT})s?|the\s+(?:(?P<weekday>{WEEKDAY})|(?P<single_unit>{UNIT})))\s+"
            r"(?P<way>before|after|prior\s+to|preceding|following|from)\s+(?:the\s+)?$"
        ),
        _step_away,
    ),
)
"""Words before a time and how they change it, in the order in which they are applied."""


def resolve_times(text: str, clock: datetime | None, date_order: DateOrder | None = None) -> str:
    """Return the text with its relative times resolved in brackets: "I went yesterday (7 May 2023)".

    A past weekday, week or weekend is counted from the clock too: "last Friday (5 May 2023, the Friday before)".
    A date in numbers is written out. What is vague ("a few years ago") gets no brackets.
    """
    parts, done = [], 0
    for mention in find_times(text, clock, date_order):
        if clock and _is_worth_a_bracket(mention) and not BRACKET.match(text, mention.end_char):
            meanings = [format_interval(mention.interval, mention.granularity), _format_distance(mention, clock)]
            parts.append(f"{text[done : mention.end_char]} ({', '.join(filter(None, meanings))})")
            done = mention.end_char
    return "".join([*parts, text[done:]])


def _is_worth_a_bracket(mention: TimeMention) -> bool:
    return NUMBERS_ALONE.fullmatch(mention.text) is not None or (mention.relative and not VAGUE.search(mention.text))


def _format_distance(mention: TimeMention, clock: datetime) -> str:
    """Return how long before the clock a week, weekend or weekday was: "the week before", "the Friday before".

    Empty for what is not past, longer ago than four weeks, or not mentioned by its week, weekend or weekday.
    """
    first, unit = mention.interval.start.date(), mention.granularity
    days = (clock.date() - first).days
    is_past = mention.interval.end.date() < clock.date()
    if not is_past or days > MOST_DAYS_BEFORE or not UNIT_NAMED.search(mention.text):
        return ""
    if unit == "day" and days <= DAYS_OF_A_WEEK:
        return f"the {first:%A} before"
    if unit not in ("week", "weekend"):
        return ""
    this_monday, monday = (day - timedelta(days=day.weekday()) for day in (clock.date(), first))
    weeks = max(1, (this_monday - monday).days // DAYS_OF_A_WEEK)
    return f"the {unit} before" if weeks == 1 else f"{NUMBERS[weeks]} {unit}s before"
