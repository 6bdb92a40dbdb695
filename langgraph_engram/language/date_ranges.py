"""Read ranges whose ends share a month or a year: "3-5 May 2023", "from May to August", "between 2019 and 2021".

This module does not know ranges between two complete times; `joined_times` joins those.
"""

import re
from datetime import date

from langgraph_engram.language.dates import MONTH_TRIGGERS
from langgraph_engram.language.periods import Period, day_of, join, month_of, span, year_of
from langgraph_engram.language.time_rule import DIGITS, Rule, Saying, in_year, rule
from langgraph_engram.language.time_words import (
    DAY_NUMBER,
    FULL_YEAR,
    MONTH,
    UNTIL,
    YEAR,
    read_day,
    read_full_year,
    read_month,
)

YEAR_FOLLOWS = rf"(?:(?:,?\s+|,)(?:of\s+)?(?P<year>{YEAR}))?"
AND = r"\s+and\s+"


def _read_days(match: re.Match[str], saying: Saying) -> Period | None:
    month = read_month(match.group("month"))
    first, last = read_day(_first_end(match)), read_day(match.group("last"))
    if saying.is_move(match):
        return in_year(match, saying, lambda year: day_of(date(year, month, last)), "coming")
    return in_year(match, saying, lambda year: span(date(year, month, first), date(year, month, last)))


def _read_months(match: re.Match[str], saying: Saying) -> Period | None:
    """Read a range from one month or day to another; a first end later in the year is a year earlier."""
    first, last = _first_end(match), match.group("last") or match.group("last_between")
    if saying.is_move(match):
        return in_year(match, saying, lambda year: _partial(last, year), "coming")
    return in_year(match, saying, lambda year: _between(first, last, year))


def _between(first: str, last: str, year: int) -> Period:
    start, end = _partial(first, year), _partial(last, year)
    return join(start if start.first <= end.first else _partial(first, year - 1), end)


def _partial(text: str, year: int) -> Period:
    month = re.search(MONTH, text, re.IGNORECASE)
    day = re.search(r"\d+", text)
    assert month, "the pattern holds a month"
    number = read_month(month.group())
    return day_of(date(year, number, int(day.group()))) if day else month_of(year, number)


def _read_years(match: re.Match[str], _: Saying) -> Period | None:
    first, last = int(_first_end(match)), match.group("year")
    end = read_full_year(last) if len(last) > 2 else first - first % 100 + int(last)
    return join(year_of(first), year_of(end)) if first < end else None


def _first_end(match: re.Match[str]) -> str:
    return match.group("first") or match.group("between")


THE = r"(?:the\s+)?"
PARTIAL = rf"{THE}(?:{DAY_NUMBER}\s+(?:of\s+)?{MONTH}|{MONTH}(?:\s+{DAY_NUMBER})?)"
RULES: tuple[Rule, ...] = (
    rule(
        MONTH_TRIGGERS,
        rf"(?:between\s+{THE}(?P<between>{DAY_NUMBER}){AND}|(?:from\s+)?{THE}(?P<first>{DAY_NUMBER}){UNTIL}){THE}"
        rf"(?P<last>{DAY_NUMBER})\s+(?:of\s+)?(?P<month>{MONTH}){YEAR_FOLLOWS}",
        _read_days,
    ),
    rule(
        MONTH_TRIGGERS,
        rf"(?:from\s+)?(?P<month>{MONTH})\s+(?P<first>{DAY_NUMBER}){UNTIL}{THE}(?P<last>{DAY_NUMBER}){YEAR_FOLLOWS}",
        _read_days,
    ),
    rule(
        MONTH_TRIGGERS,
        rf"(?:between\s+(?P<between>{PARTIAL}){AND}(?P<last_between>{PARTIAL})|"
        rf"(?:from\s+)?(?P<first>{PARTIAL}){UNTIL}(?P<last>{PARTIAL})){YEAR_FOLLOWS}",
        _read_months,
    ),
    rule(
        DIGITS,
        rf"(?:between\s+(?P<between>{FULL_YEAR}){AND}|(?:from\s+)?(?P<first>{FULL_YEAR}){UNTIL})(?P<year>{FULL_YEAR}|\d\d(?![\d/:-]))",
        _read_years,
        r"(?<![\w/-])",
        r"(?![-/:]\d)",
    ),
)
