"""Compute calendar periods and format them: days, weeks, weekends, months, seasons, years, decades and spans.

Weeks run from Monday to Sunday, seasons are those of the northern hemisphere by whole months, and a winter bears the
year it starts in. What is formatted is parsed back to the same period.
"""

from calendar import monthrange
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal

from langgraph_engram.schema import Interval

Granularity = Literal["time", "day", "week", "weekend", "month", "season", "year", "decade", "range"]
"""How long a period is. A `range` is any span that is not one calendar period."""
Unit = Literal["day", "week", "weekend", "month", "year", "decade"]
Part = Literal["early", "mid", "late"]
Which = Literal["last", "recent", "this", "nearest", "coming", "next"]
"""Which occurrence: over before today, begun by today, of this year, nearest, not over yet, still to begin."""
SATURDAY = 5
SUNDAY = 6
SEASON_STARTS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
MONTHS_OF_A_SEASON = 3
DAYS_OF_A_WEEK = 7
MONTHS_OF_A_YEAR = 12
YEARS_OF_A_DECADE = 10
YEARS_TO_A_LEAP_DAY = 4
LAST_SECOND = time(23, 59, 59)
PARTS: tuple[Part, ...] = ("early", "mid", "late")
SEASON_NAMES = {start: name for name, start in SEASON_STARTS.items() if name != "fall"}


@dataclass(frozen=True, slots=True)
class Period:
    """An interval of UTC time, and what kind of period it is."""

    interval: Interval
    granularity: Granularity

    @property
    def first(self) -> date:
        """Return the first day."""
        return self.interval.start.date()

    @property
    def last(self) -> date:
        """Return the last day."""
        return self.interval.end.date()


def span(first: date, last: date, granularity: Granularity = "range") -> Period:
    """Return the whole days from `first` to `last`, both included.

    Raises:
        ValueError: If `last` lies before `first`.
    """
    if last < first:
        raise ValueError(f"a period cannot end on {last} before it starts on {first}")
    start, end = datetime.combine(first, time(), UTC), datetime.combine(last, LAST_SECOND, UTC)
    return Period(Interval(start=start, end=end), granularity)


def moment(start: datetime, end: datetime) -> Period:
    """Return a stretch of less than a day, to the second."""
    return Period(Interval(start=start.replace(microsecond=0), end=end.replace(microsecond=0)), "time")


def day_of(on: date) -> Period:
    """Return one day."""
    return span(on, on, "day")


def month_of(year: int, month: int) -> Period:
    """Return one month."""
    return span(date(year, month, 1), date(year, month, monthrange(year, month)[1]), "month")


def year_of(year: int) -> Period:
    """Return one year."""
    return span(date(year, 1, 1), date(year, MONTHS_OF_A_YEAR, 31), "year")


def season_of(year: int, name: str) -> Period:
    """Return one season, a key of `SEASON_STARTS`."""
    first = date(year, SEASON_STARTS[name], 1)
    return span(first, _end_of_months(first, MONTHS_OF_A_SEASON), "season")


def unit_of(unit: Unit, on: date) -> Period:
    """Return the calendar unit that holds a day; the weekend is that of its week, before or after the day."""
    monday = on - timedelta(days=on.weekday())
    match unit:
        case "day":
            return day_of(on)
        case "week":
            return span(monday, monday + timedelta(days=DAYS_OF_A_WEEK - 1), "week")
        case "weekend":
            return span(monday + timedelta(days=SATURDAY), monday + timedelta(days=SATURDAY + 1), "weekend")
        case "month":
            return month_of(on.year, on.month)
        case "year":
            return year_of(on.year)
        case "decade":
            first = date(on.year - on.year % YEARS_OF_A_DECADE, 1, 1)
            return span(first, date(first.year + YEARS_OF_A_DECADE - 1, 12, 31), "decade")


def shift(unit: Unit, on: date, count: int) -> date:
    """Return the day that is `count` units away; a day that the month lacks becomes the month's last.

    Raises:
        ValueError: If the calendar ends before that.
        OverflowError: Likewise.
    """
    if unit in ("day", "week", "weekend"):
        return on + timedelta(days=count * (1 if unit == "day" else DAYS_OF_A_WEEK))
    months = count * {"month": 1, "year": MONTHS_OF_A_YEAR}.get(unit, MONTHS_OF_A_YEAR * YEARS_OF_A_DECADE)
    year, month = divmod(on.year * MONTHS_OF_A_YEAR + on.month - 1 + months, MONTHS_OF_A_YEAR)
    return date(year, month + 1, 1).replace(day=min(on.day, monthrange(year, month + 1)[1]))


def away(unit: Unit, on: date, least: int, most: int) -> Period:
    """Return the period between `least` and `most` units from a day, negative for before; one unit if equal."""
    near, far = unit_of(unit, shift(unit, on, least)), unit_of(unit, shift(unit, on, most))
    return near if least == most else join(near, far)


def join(first: Period, second: Period) -> Period:
    """Return the span that holds both periods."""
    start = min(first.interval.start, second.interval.start)
    end = max(first.interval.end, second.interval.end)
    return Period(Interval(start=start, end=end), "range")


def part_of(period: Period, part: Part) -> Period:
    """Return the first, second or last third of a period; of a month, days 1 to 10, 11 to 20 and 21 to the end."""
    months = _count_months(period)
    if months >= MONTHS_OF_A_SEASON:
        step = months // MONTHS_OF_A_SEASON
        first = shift("month", period.first, PARTS.index(part) * step)
        last = period.last if part == "late" else _end_of_months(first, step)
        return span(first, last)
    step = ((period.last - period.first).days + 1) // len(PARTS)
    first = period.first + timedelta(days=PARTS.index(part) * step)
    return span(first, period.last if part == "late" else first + timedelta(days=step - 1))


def weekday_from(on: date, weekday: int, direction: Literal[-1, 1]) -> date:
    """Return the nearest such weekday before (-1) or after (1) a day; Monday is 0."""
    distance = (weekday - on.weekday()) * direction % DAYS_OF_A_WEEK or DAYS_OF_A_WEEK
    return on + timedelta(days=distance * direction)


def yearly(make: Callable[[int], Period], today: date) -> Iterator[Period]:
    """Yield the period of each year around today, in order; years that lack it are skipped."""
    for year in range(today.year - YEARS_TO_A_LEAP_DAY, today.year + YEARS_TO_A_LEAP_DAY + 1):
        try:
            yield make(year)
        except ValueError:
            continue


def choose(which: Which, occurrences: Iterable[Period], today: date) -> Period | None:
    """Return one of several ordered occurrences; None if there is no such one."""
    ordered = list(occurrences)
    match which:
        case "last":
            return next((period for period in reversed(ordered) if period.last < today), None)
        case "recent":
            return next((period for period in reversed(ordered) if period.first <= today), None)
        case "this":
            return min(ordered, key=lambda period: _distance_from_this(period, today), default=None)
        case "nearest":
            return min(ordered, key=lambda period: days_between(period, today), default=None)
        case "coming":
            return next((period for period in ordered if period.last >= today), None)
        case "next":
            return next((period for period in ordered if period.first > today), None)


def days_between(period: Period, today: date) -> int:
    """Return the number of days between a period and a day; 0 within it."""
    return max((period.first - today).days, (today - period.last).days, 0)


def format_interval(interval: Interval, granularity: Granularity) -> str:
    """Format an interval: "7 May 2023", "the week of 1 May 2023", "summer 2022", "3 to 5 May 2023"."""
    first, last = interval.start.date(), interval.end.date()
    match granularity:
        case "time":
            return _format_moment(interval)
        case "day":
            return _format_day(first)
        case "week" | "weekend":
            return f"the {granularity} of {_format_day(first)}"
        case "month":
            return f"{first:%B} {first.year}"
        case "season":
            return f"{SEASON_NAMES.get(first.month, 'the season from')} {first.year}"
        case "year":
            return str(first.year)
        case "decade":
            return f"the {first.year}s"
        case "range":
            return _format_days(first, last)


def _distance_from_this(period: Period, today: date) -> tuple[bool, bool, int]:
    """Return a key that is least for the period meant by "this": running, of this year, near."""
    distance = days_between(period, today)
    return distance > 0, period.first.year != today.year, distance


def _count_months(period: Period) -> int:
    if period.first.day != 1 or (period.last + timedelta(days=1)).day != 1:
        return 0
    years = period.last.year - period.first.year
    return years * MONTHS_OF_A_YEAR + period.last.month - period.first.month + 1


def _end_of_months(first: date, months: int) -> date:
    return shift("month", first, months) - timedelta(days=1)


def _format_moment(interval: Interval) -> str:
    start, end = interval.start, interval.end
    if start.date() != end.date():
        return _format_days(start.date(), end.date())
    return f"{_format_day(start.date())} {start:%H:%M}"


def _format_day(day: date) -> str:
    return f"{day.day} {day:%B} {day.year}"


def _format_days(first: date, last: date) -> str:
    if first == last:
        return _format_day(first)
    if (first.day, first.month, last.day, last.month) == (1, 1, 31, 12):
        return f"{first.year} to {last.year}"
    if _are_whole_months(first, last):
        return f"{first:%B}{_year_unless(first, last)} to {last:%B} {last.year}"
    if (first.year, first.month) == (last.year, last.month):
        return f"{first.day} to {_format_day(last)}"
    return f"{first.day} {first:%B}{_year_unless(first, last)} to {_format_day(last)}"


def _are_whole_months(first: date, last: date) -> bool:
    return first.day == 1 and last.day == monthrange(last.year, last.month)[1]


def _year_unless(first: date, last: date) -> str:
    return "" if first.year == last.year else f" {first.year}"
