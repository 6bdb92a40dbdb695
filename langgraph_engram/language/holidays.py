"""Read holidays whose date is fixed or can be computed, as they are kept in the United States.

A holiday's name alone is no time ("a Christmas tree"): a preposition, a year, or "last" and its like must go with it.
"""

import re
from collections.abc import Callable
from datetime import date, timedelta

from langgraph_engram.language.periods import DAYS_OF_A_WEEK, Period, day_of
from langgraph_engram.language.time_rule import Rule, Saying, in_year, led_by, rule
from langgraph_engram.language.time_words import PART_OF_DAY, WHICH, YEAR, names_something, read_which

MONDAY, THURSDAY, SUNDAY = 0, 3, 6


def nth_weekday(year: int, month: int, weekday: int, nth: int) -> date:
    """Give the nth such weekday of a month, from 1; Monday is 0."""
    first = date(year, month, 1)
    return first + timedelta(days=(weekday - first.weekday()) % DAYS_OF_A_WEEK + DAYS_OF_A_WEEK * (nth - 1))


def last_monday(year: int, month: int) -> date:
    """Give the last Monday of a month of 31 days."""
    last = date(year, month, 31)
    return last - timedelta(days=last.weekday())


def easter(year: int) -> date:
    """Give Easter Sunday of the Gregorian calendar (the anonymous computus; Meeus, Astronomical Algorithms, ch. 8)."""
    a, (b, c) = year % 19, divmod(year, 100)
    (d, e), (i, k) = divmod(b, 4), divmod(c, 4)
    h = (19 * a + b - d - (b - (b + 8) // 25 + 1) // 3 + 15) % 30
    l = (32 + 2 * e + 2 * i - h - k) % 7  # noqa: E741  # the symbol of the formula
    month, day = divmod(h + l - 7 * ((a + 11 * h + 22 * l) // 451) + 114, 31)
    return date(year, month, day + 1)


HOLIDAYS: dict[str, Callable[[int], date]] = {
    r"christmas\s+eve": lambda year: date(year, 12, 24),
    r"(?:christmas|xmas)(?:\s+day)?": lambda year: date(year, 12, 25),
    r"boxing\s+day": lambda year: date(year, 12, 26),
    r"new\s+year['’]?s\s+eve|nye": lambda year: date(year, 12, 31),
    r"new\s+year['’]?s(?:\s+day)?": lambda year: date(year, 1, 1),
    r"halloween": lambda year: date(year, 10, 31),
    r"(?:saint\s+|st\.?\s+)?valentine['’]?s(?:\s+day)?": lambda year: date(year, 2, 14),
    r"independence\s+day|(?:the\s+)?fourth\s+of\s+july": lambda year: date(year, 7, 4),
    r"(?:saint|st\.?)\s+patrick['’]?s(?:\s+day)?": lambda year: date(year, 3, 17),
    r"april\s+fools?['’]?s?(?:\s+day)?": lambda year: date(year, 4, 1),
    r"earth\s+day": lambda year: date(year, 4, 22),
    r"cinco\s+de\s+mayo": lambda year: date(year, 5, 5),
    r"juneteenth": lambda year: date(year, 6, 19),
    r"veterans?['’]?s?\s+day": lambda year: date(year, 11, 11),
    r"thanksgiving(?:\s+day)?": lambda year: nth_weekday(year, 11, THURSDAY, 4),
    r"black\s+friday": lambda year: nth_weekday(year, 11, THURSDAY, 4) + timedelta(days=1),
    r"labor\s+day": lambda year: nth_weekday(year, 9, MONDAY, 1),
    r"memorial\s+day": lambda year: last_monday(year, 5),
    r"mother['’]?s['’]?\s+day": lambda year: nth_weekday(year, 5, SUNDAY, 2),
    r"father['’]?s['’]?\s+day": lambda year: nth_weekday(year, 6, SUNDAY, 3),
    r"good\s+friday": lambda year: easter(year) - timedelta(days=2),
    r"easter\s+monday": lambda year: easter(year) + timedelta(days=1),
    r"easter(?:\s+sunday)?": easter,
}
"""Patterns of names, the more special first, and the day in a year."""
TRIGGERS = (
    "christmas xmas boxing eve nye year halloween valentine valentines independence fourth patrick patricks april "
    "earth cinco juneteenth veteran veterans thanksgiving friday labor memorial mother mothers father fathers easter"
)
LEAD = led_by("on", "at", "over", "for", "since", "until", "till", "by", "before", "after", "around", "during", "this")


def _read_holiday(match: re.Match[str], saying: Saying) -> Period | None:
    which = match.groupdict().get("which")
    if not match.groupdict().get("year") and names_something(saying.text, match.end()):
        return None
    day_in = next(day for name, day in HOLIDAYS.items() if re.fullmatch(name, match.group("name"), re.IGNORECASE))
    return in_year(match, saying, lambda year: day_of(day_in(year)), read_which(which) if which else None)


NAME = rf"(?:the\s+)?(?P<name>{'|'.join(HOLIDAYS)}){PART_OF_DAY}?"
YEAR_FOLLOWS = rf"(?:,?\s+|,)(?:of\s+|in\s+)?(?P<year>{YEAR})"
RULES: tuple[Rule, ...] = (
    rule(TRIGGERS, rf"{NAME}{YEAR_FOLLOWS}", _read_holiday),
    rule(TRIGGERS, rf"(?P<which>{WHICH})\s+{NAME}", _read_holiday),
    rule(TRIGGERS, rf"{NAME}", _read_holiday, LEAD),
)
