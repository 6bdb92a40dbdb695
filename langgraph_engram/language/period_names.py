"""Name periods in plain English, so that a reader and `times.parse_time` understand the same one.

This module does not know which words a period was read from.
"""

from calendar import monthrange
from datetime import date, datetime, timedelta

from langgraph_engram.language.periods import (
    DAYS_OF_A_WEEK,
    MONTHS_OF_A_SEASON,
    SATURDAY,
    SEASON_STARTS,
    YEARS_OF_A_DECADE,
    Granularity,
)
from langgraph_engram.schema import Interval

SEASON_NAMES = {start: name for name, start in SEASON_STARTS.items() if name != "fall"}
MOST_DAYS_BEFORE = 34
"""Longer ago than four weeks before this one, a date says more than a count."""
NUMBERS = ("", "one", "two", "three", "four")
MIDNIGHT = (0, 0, 0)
DAY_ENDS = (23, 59, 59)


def name_interval(interval: Interval, granularity: Granularity) -> str:
    """Name an interval by its kind: "7 May 2023", "the week of 1 May 2023", "summer 2022", "3 to 5 May 2023"."""
    first, last = interval.start.date(), interval.end.date()
    match granularity:
        case "time":
            return _name_moment(interval)
        case "day":
            return _name_day(first)
        case "week" | "weekend":
            return f"the {granularity} of {_name_day(first)}"
        case "month":
            return f"{first:%B} {first.year}"
        case "season":
            return f"{SEASON_NAMES.get(first.month, 'the season from')} {first.year}"
        case "year":
            return str(first.year)
        case "decade":
            return f"the {first.year}s"
        case "range":
            return _name_days(first, last)


def name_before(interval: Interval, granularity: Granularity, clock: datetime) -> str:
    """Name a past week, weekend or day of the last week as a listener retells it: "the week before".

    Retold later, "last Friday" is the Friday before: whoever reads it needs no calendar to see how long ago it was.

    Args:
        interval: A time that a text counts from its clock.
        granularity: What kind of time it is.
        clock: When the text was said.

    Returns:
        The words; empty for what is not past, longer ago than four weeks, or no week, weekend or weekday.
    """
    days = (clock.date() - interval.start.date()).days
    if interval.end.date() >= clock.date() or days > MOST_DAYS_BEFORE:
        return ""
    match granularity:
        case "day" if days <= DAYS_OF_A_WEEK:
            return f"the {interval.start:%A} before"
        case "week" | "weekend":
            counted = interval.start.date() - timedelta(days=interval.start.weekday())
            weeks = max(1, (clock.date() - timedelta(days=clock.weekday()) - counted).days // DAYS_OF_A_WEEK)
            return f"the {granularity} before" if weeks == 1 else f"{NUMBERS[weeks]} {granularity}s before"
    return ""


def name_span(start: datetime, end: datetime) -> str:
    """Name the time from `start` to `end`, both included, by the calendar period that it is."""
    return name_interval(Interval(start=start, end=end), granularity_of(start, end))


def granularity_of(start: datetime, end: datetime) -> Granularity:
    """Tell which calendar period the time from `start` to `end` is; `range` if it is none."""
    if not _are_whole_days(start, end):
        return "time" if start.date() == end.date() else "range"
    first, last = start.date(), end.date()
    match (last - first).days, first.weekday():
        case 0, _:
            return "day"
        case 1, weekday if weekday == SATURDAY:
            return "weekend"
        case 6, 0:
            return "week"
    return _granularity_of_months(first, last)


def _granularity_of_months(first: date, last: date) -> Granularity:
    if not _are_whole_months(first, last):
        return "range"
    months = (last.year - first.year) * 12 + last.month - first.month + 1
    if months == MONTHS_OF_A_SEASON and first.month in SEASON_NAMES:
        return "season"
    if months == 12 * YEARS_OF_A_DECADE and first.month == 1 and first.year % YEARS_OF_A_DECADE == 0:
        return "decade"
    if months == 12 and first.month == 1:
        return "year"
    return "month" if months == 1 else "range"


def _are_whole_months(first: date, last: date) -> bool:
    return first.day == 1 and last.day == monthrange(last.year, last.month)[1]


def _are_whole_days(start: datetime, end: datetime) -> bool:
    starts = (start.hour, start.minute, start.second)
    ends = (end.hour, end.minute, end.second)
    return starts == MIDNIGHT and ends == DAY_ENDS


def _name_day(day: date) -> str:
    return f"{day.day} {day:%B} {day.year}"


def _name_moment(interval: Interval) -> str:
    start, end = interval.start, interval.end
    if start.date() != end.date():
        return _name_days(start.date(), end.date())
    return f"{_name_day(start.date())} {start:%H:%M}"


def _name_days(first: date, last: date) -> str:
    if first == last:
        return _name_day(first)
    if (first.day, first.month, last.day, last.month) == (1, 1, 31, 12):
        return f"{first.year} to {last.year}"
    if _are_whole_months(first, last):
        return f"{first:%B}{_year_unless(first, last)} to {last:%B} {last.year}"
    if (first.year, first.month) == (last.year, last.month):
        return f"{first.day} to {_name_day(last)}"
    return f"{first.day} {first:%B}{_year_unless(first, last)} to {_name_day(last)}"


def _year_unless(first: date, last: date) -> str:
    return "" if first.year == last.year else f" {first.year}"
