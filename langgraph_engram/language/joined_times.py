"""Join what was found with the words around it: ranges, "the week before X", "the first weekend of X", "early X".

This module does not know how the times themselves are read.
"""

import re
from collections.abc import Callable, Iterable
from datetime import timedelta

from langgraph_engram.language.periods import (
    DAYS_OF_A_WEEK,
    SATURDAY,
    SUNDAY,
    Part,
    Period,
    away,
    day_of,
    join,
    part_of,
    span,
    unit_of,
    weekday_from,
)
from langgraph_engram.language.tense import is_move_at
from langgraph_engram.language.time_rule import Found
from langgraph_engram.language.time_words import AMOUNT, UNIT, UNTIL, WEEKDAY, read_amount, read_unit, read_weekday

REACH = 48
"""How many characters before a time are looked at."""
RANGE = re.compile(rf"{UNTIL}(?:the\s+)?|\s*/\s*", re.IGNORECASE)
DASH = re.compile(r"\s*[-–—]\s*")
AND = re.compile(r",?\s+and\s+(?:the\s+)?", re.IGNORECASE)
OPENER = re.compile(r"\b(?P<opener>from|between)\s+(?:the\s+)?$", re.IGNORECASE)
PARTS: dict[str, Part] = {
    "early": "early",
    "beginning": "early",
    "start": "early",
    "mid": "mid",
    "middle": "mid",
    "late": "late",
    "end": "late",
}
NTHS = {"first": 0, "1st": 0, "second": 1, "2nd": 1, "third": 2, "3rd": 2, "fourth": 3, "4th": 3, "last": -1}
LONG = ("week", "month", "season", "year", "decade")


def join_times(text: str, found: Iterable[Found]) -> list[Found]:
    """Join times that are not overlapping and in order with each other and with the words before them."""
    widened: list[Found] = []
    for one in found:
        if widened and (joined := _join_two(text, widened[-1], one)):
            widened[-1] = joined
            continue
        one = _with_words_before(text, one)
        if widened and widened[-1].end > one.start:
            widened.pop()
        widened.append(one)
    return widened


def _join_two(text: str, one: Found, other: Found) -> Found | None:
    gap = text[one.end : other.start]
    opener = OPENER.search(text[max(0, one.start - REACH) : one.start])
    between = opener is not None and opener.group("opener").casefold() == "between"
    if not (AND.fullmatch(gap) if between else RANGE.fullmatch(gap)):
        return None
    if DASH.fullmatch(gap) and (one.relative or other.relative):
        return None
    if one.period.first > other.period.last:
        return None
    start = one.start - len(opener.group()) if opener else one.start
    if opener and not between and is_move_at(text, start):
        return None
    return Found(start, other.end, join(one.period, other.period), one.relative or other.relative)


def _with_words_before(text: str, found: Found) -> Found:
    for pattern, change in CHANGES:
        match = pattern.search(text[max(0, found.start - REACH) : found.start])
        period = change(match, found.period) if match else None
        if match and period:
            found = Found(found.start - len(match.group()), found.end, period, found.relative)
    return found


def _take_part(match: re.Match[str], period: Period) -> Period | None:
    if period.granularity not in LONG:
        return None
    return part_of(period, PARTS[match.group("part").casefold()])


def _take_nth(match: re.Match[str], period: Period) -> Period | None:
    """Take the nth day, week, weekend or weekday of a month or more; the last week is its last seven days."""
    if period.granularity not in ("month", "season", "year"):
        return None
    nth, unit = NTHS[match.group("nth").casefold()], match.group("unit").casefold()
    if unit in ("day", "week"):
        size = 1 if unit == "day" else DAYS_OF_A_WEEK
        first = period.first + timedelta(days=nth * size) if nth >= 0 else period.last - timedelta(days=size - 1)
        return span(first, first + timedelta(days=size - 1), "day" if unit == "day" else "range")
    weekday = SATURDAY if unit == "weekend" else read_weekday(unit)
    if nth >= 0:
        on = weekday_from(period.first - timedelta(days=1), weekday, 1) + timedelta(weeks=nth)
    else:
        on = weekday_from(period.last + timedelta(days=1), weekday, -1)
    return unit_of("weekend" if unit == "weekend" else "day", on)


def _take_week_of(match: re.Match[str], period: Period) -> Period | None:
    if period.granularity != "day":
        return None
    return unit_of("weekend" if match.group("unit").casefold() == "weekend" else "week", period.first)


def _step_away(match: re.Match[str], period: Period) -> Period | None:
    """Give "the Sunday before X", "two days after X", and, as a calendar week, "the week before X".

    The weekend after a Friday starts the next day, and the one after a Saturday a week later.
    """
    before = match.group("way").casefold() in ("before", "preceding") or match.group("way")[0] in "pP"
    if match.group("weekday"):
        weekday = read_weekday(match.group("weekday"))
        return day_of(weekday_from(period.first, weekday, -1) if before else weekday_from(period.last, weekday, 1))
    least, most = read_amount(match.group("amount")) if match.group("amount") else (1, 1)
    unit, size = read_unit(match.group("unit") or match.group("one"))
    if unit == "weekend":
        on = weekday_from(period.first, SUNDAY, -1) if before else weekday_from(period.last, SATURDAY, 1)
        return away(unit, on, 1 - least if before else least - 1, 1 - most if before else most - 1)
    sign = -size if before else size
    return away(unit, period.first if before else period.last, sign * least, sign * most)


CHANGES: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], Period], Period | None]], ...] = (
    (
        re.compile(
            r"\b(?:the\s+)?(?P<part>early|mid|late|beginning|start|middle|end)(?:\s+(?:in|of|part\s+of))?[\s-]+(?:the\s+)?$",
            re.IGNORECASE,
        ),
        _take_part,
    ),
    (
        re.compile(
            rf"\b(?:the\s+)?(?P<nth>{'|'.join(NTHS)})\s+(?P<unit>day|week|weekend|{WEEKDAY})\s+(?:of|in)\s+(?:the\s+)?$",
            re.IGNORECASE,
        ),
        _take_nth,
    ),
    (re.compile(r"\b(?:the\s+)?(?P<unit>week|weekend)\s+of\s+(?:the\s+)?$", re.IGNORECASE), _take_week_of),
    (
        re.compile(
            rf"\b(?:(?P<amount>{AMOUNT})\s+(?P<unit>{UNIT})s?|the\s+(?:(?P<weekday>{WEEKDAY})|(?P<one>{UNIT})))\s+"
            r"(?P<way>before|after|prior\s+to|preceding|following)\s+(?:the\s+)?$",
            re.IGNORECASE,
        ),
        _step_away,
    ),
)
"""What the words before a time make of it, in the order in which they are applied."""
