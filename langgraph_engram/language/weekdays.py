"""Read weekdays: "last Friday", "on Monday", "Tuesday of next week", "two Sundays ago".

A bare weekday lies in the past unless its clause looks ahead, and is never today but in "it is Friday": who means today
says so.
"""

import re
from datetime import date, timedelta
from typing import Literal

from langgraph_engram.language.periods import Period, day_of, span, unit_of, weekday_from
from langgraph_engram.language.time_rule import Rule, Saying, led_by, rule
from langgraph_engram.language.time_words import (
    AMOUNT,
    FULL_WEEKDAY,
    PART_OF_DAY,
    UNTIL,
    WEEKDAY,
    WHICH,
    names_something,
    read_amount,
    read_weekday,
)

TRIGGERS = "monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun"
PLURAL_TRIGGERS = "mondays tuesdays wednesdays thursdays fridays saturdays sundays"
WEEKS = {"last": -1, "this": 0, "next": 1}
CLAUSE_ENDS = r"(?=\s*(?:[.,;:!?)\n]|$|at\s+\d|(?:and|but|so|with)\s+(?:I|we|it|my)\b))"
NAMES = frozenset(["black", "good", "ash", "cyber", "super", "ruby", "bloody", "happy", "palm"])
"""Words that make a weekday the name of something else."""
SAYS_TODAY = re.compile(r"\b(?:it|today)(?:['’]?s|\s+is)\s+(?:a\s+)?$", re.IGNORECASE)


def _read_which(match: re.Match[str], saying: Saying) -> Period | None:
    which, weekday, today = (
        match.group("which").split()[-1].casefold(),
        read_weekday(match.group("weekday")),
        saying.today,
    )
    if which in ("last", "past", "previous"):
        return day_of(weekday_from(today, weekday, -1))
    if which in ("next", "coming", "upcoming"):
        return day_of(weekday_from(today, weekday, 1))
    return day_of(_this(today, weekday, saying.looks_ahead(*match.span("span"))))


def _this(today: date, weekday: int, ahead: bool) -> date:
    on = today + timedelta(days=weekday - today.weekday())
    return weekday_from(today, weekday, 1) if ahead and on < today else on


def _read_bare(match: re.Match[str], saying: Saying) -> Period | None:
    before = saying.text[max(0, match.start("span") - 12) : match.start("span")].casefold().split()
    if (before and before[-1] in NAMES) or names_something(saying.text, match.end()):
        return None
    weekday = read_weekday(match.group("weekday"))
    if weekday == saying.today.weekday() and SAYS_TODAY.search(saying.before(match.start("span"))):
        return day_of(saying.today)
    if saying.is_habit(*match.span("span")):
        return None
    direction: Literal[-1, 1] = 1 if saying.looks_ahead(*match.span("span")) else -1
    return day_of(weekday_from(saying.today, weekday, direction))


def _read_range(match: re.Match[str], saying: Saying) -> Period | None:
    """Read "from Monday to Friday"; without "from" it is a habit."""
    if not match.group("opener") or saying.is_habit(*match.span("span")):
        return None
    first, last = read_weekday(match.group("first")), read_weekday(match.group("last"))
    if saying.is_move(match):
        return day_of(weekday_from(saying.today, last, 1))
    if saying.looks_ahead(*match.span("span")):
        start = weekday_from(saying.today, first, 1)
        return span(start, weekday_from(start, last, 1))
    end = weekday_from(saying.today, last, -1)
    return span(weekday_from(end, first, -1), end)


def _read_of_week(match: re.Match[str], saying: Saying) -> Period | None:
    week = match.group("week") or match.group("week_before")
    monday = unit_of("week", saying.today).first + timedelta(weeks=WEEKS[week.casefold()])
    weekday = match.group("weekday") or match.group("weekday_after")
    return day_of(monday + timedelta(days=read_weekday(weekday)))


def _read_ago(match: re.Match[str], saying: Saying) -> Period | None:
    nearest = weekday_from(saying.today, read_weekday(match.group("weekday")), -1)
    return day_of(nearest - timedelta(weeks=read_amount(match.group("amount"))[0] - 1))


def _read_before_last(match: re.Match[str], saying: Saying) -> Period | None:
    nearest = weekday_from(saying.today, read_weekday(match.group("weekday")), -1)
    return day_of(nearest - timedelta(weeks=1))


NAMED = rf"(?P<weekday>{WEEKDAY})"
RULES: tuple[Rule, ...] = (
    rule(TRIGGERS, rf"(?P<which>{WHICH})\s+{NAMED}{PART_OF_DAY}?", _read_which, after=r"(?!\s+of\b)"),
    rule(
        TRIGGERS,
        rf"{NAMED}{PART_OF_DAY}?",
        _read_bare,
        led_by("on", "by", "since", "until", "till", "before", "after", "from", "around", "between"),
        r"(?!,?\s+(?:the\s+)?\d)",
    ),
    rule(
        TRIGGERS,
        rf"(?P<opener>from\s+)?(?P<first>{WEEKDAY}){UNTIL}(?P<last>{WEEKDAY})",
        _read_range,
    ),
    rule(TRIGGERS, rf"(?P<weekday>{FULL_WEEKDAY}){PART_OF_DAY}", _read_bare),
    rule(TRIGGERS, rf"(?P<weekday>{FULL_WEEKDAY})", _read_bare, after=CLAUSE_ENDS),
    rule(
        TRIGGERS,
        rf"{NAMED}{PART_OF_DAY}?,?\s+(?:of\s+|in\s+)?(?P<week>last|this|next)\s+week|"
        rf"(?P<week_before>last|this|next)\s+week,?\s+(?:on\s+)?(?P<weekday_after>{WEEKDAY}){PART_OF_DAY}?",
        _read_of_week,
    ),
    rule(PLURAL_TRIGGERS, rf"(?P<amount>{AMOUNT})\s+(?P<weekday>{'|'.join(PLURAL_TRIGGERS.split())})\s+ago", _read_ago),
    rule(TRIGGERS, rf"(?:the\s+)?{NAMED}\s+before\s+last", _read_before_last),
)
