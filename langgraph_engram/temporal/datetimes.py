"""Convert and format datetimes, and compute calendar periods: days, weeks, weekends, months, seasons, years.

A moment is an instant, and the wall time that the speaker's clock showed (docs/decisions/0010). Order, gaps and "as of"
go by instants. Days and "yesterday" go by wall time, which is compared with days and periods: these are all given in
UTC as if that clock showed it. Weeks run from Monday to Sunday, seasons are those of the northern hemisphere by whole
months, and a winter bears the year it starts in. A period that is formatted is parsed back to the same period.
"""

from calendar import monthrange
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from typing import Literal, Self

from dateutil.relativedelta import relativedelta

from langgraph_engram.schema import Interval

Granularity = Literal["time", "day", "week", "weekend", "month", "season", "year", "range"]
"""How long a period is. A `range` is any span that is not one calendar period."""
Unit = Literal["day", "week", "weekend", "month", "year"]
Which = Literal["last", "recent", "this", "nearest", "coming", "next"]
"""Which occurrence: over before today, begun by today, of this year, nearest, not over yet, still to begin."""
ONE_DAY = timedelta(days=1)
DAYS_OF_A_WEEK = 7
YEARS_TO_A_LEAP_DAY = 4
MONTHS_OF: dict[Granularity, int] = {"season": 3, "year": 12}
SEASON_STARTS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
SEASON_NAMES = {start: name for name, start in SEASON_STARTS.items() if name != "fall"}
STEPS: dict[Unit, relativedelta] = {
    "day": relativedelta(days=1), "week": relativedelta(weeks=1), "weekend": relativedelta(weeks=1),
    "month": relativedelta(months=1), "year": relativedelta(years=1),
}  # fmt: skip


def with_offset(moment: datetime) -> datetime:
    """Return a moment with a fixed offset, that of its zone at the time; a naive moment is UTC."""
    offset = moment.utcoffset()
    return moment.replace(tzinfo=timezone(offset) if offset else UTC)


def wall_time(moment: datetime | None) -> datetime | None:
    """Return the local wall time of a moment, marked as UTC: 08:00Z for 08:00+10:00; None for None."""
    return moment.replace(tzinfo=UTC) if moment else None


def instant_of(shown: datetime, clock: datetime | None) -> datetime:
    """Return the instant at which `clock` (None for UTC) showed a wall time: the reverse of `wall_time`."""
    return shown.replace(tzinfo=clock.tzinfo) if clock and clock.tzinfo else shown


def epoch_seconds(moment: datetime | None, unknown: float) -> float:
    """Return a moment in seconds since 1970; a naive moment is UTC, None is `unknown`."""
    if moment is None:
        return unknown
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def format_day(moment: datetime | None) -> str:
    """Format a day with its weekday: "Mon 8 May 2023"; "undated" for None."""
    return f"{moment:%a} {moment.day} {moment:%B %Y}" if moment else "undated"


def format_moment(moment: datetime | None) -> str:
    """Format a day with the time of day: "Mon 8 May 2023, 14:05"; of midnight the day alone."""
    return f"{format_day(moment)}, {moment:%H:%M}" if moment and (moment.hour or moment.minute) else format_day(moment)


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

    @classmethod
    def of_days(cls, first: date, last: date, granularity: Granularity = "range") -> Self:
        """Return the whole days from `first` to `last`, both included; raise ValueError if `last` is the earlier."""
        if last < first:
            raise ValueError(f"a period cannot end on {last} before it starts on {first}")
        start, end = datetime.combine(first, time(), UTC), datetime.combine(last, time(23, 59, 59), UTC)
        return cls(Interval(start=start, end=end), granularity)

    @classmethod
    def of_day(cls, on: date) -> Self:
        """Return one day."""
        return cls.of_days(on, on, "day")

    @classmethod
    def of_season(cls, year: int, name: str) -> Self:
        """Return one season, a key of `SEASON_STARTS`."""
        first = date(year, SEASON_STARTS[name], 1)
        return cls.of_days(first, shift("month", first, 3) - ONE_DAY, "season")

    @classmethod
    def of_unit(cls, unit: Unit, on: date) -> Self:
        """Return the calendar unit that holds a day; the weekend is that of its week, before or after the day."""
        monday = on - timedelta(days=on.weekday())
        firsts: dict[Unit, date] = {
            "day": on, "week": monday, "weekend": monday + timedelta(days=5),
            "month": on.replace(day=1), "year": date(on.year, 1, 1),
        }  # fmt: skip
        first = firsts[unit]
        return cls.of_days(first, first + ONE_DAY if unit == "weekend" else shift(unit, first, 1) - ONE_DAY, unit)

    @classmethod
    def away(cls, unit: Unit, on: date, least: int, most: int) -> Self:
        """Return the period between `least` and `most` units from a day, negative for before; one unit if equal."""
        near, far = cls.of_unit(unit, shift(unit, on, least)), cls.of_unit(unit, shift(unit, on, most))
        return near if least == most else near.join(far)

    def join(self, other: Self) -> Self:
        """Return the span that holds both periods."""
        start = min(self.interval.start, other.interval.start)
        end = max(self.interval.end, other.interval.end)
        return type(self)(Interval(start=start, end=end), "range")

    def third(self, index: int) -> Self:
        """Return the first, second or last third; of a month, days 1 to 10, 11 to 20 and 21 to the end."""
        unit: Unit = "month" if self.granularity in MONTHS_OF else "day"
        size = MONTHS_OF.get(self.granularity, (self.last - self.first).days + 1) // 3
        first = shift(unit, self.first, index * size)
        return self.of_days(first, self.last if index == 2 else shift(unit, first, size) - ONE_DAY)


def shift(unit: Unit, on: date, count: int) -> date:
    """Return the day `count` units away, or the month's last; raise ValueError or OverflowError where there is none."""
    shifted: date = on + STEPS[unit] * count
    return shifted


def weekday_from(on: date, weekday: int, direction: int) -> date:
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


def choose(which: Which, ordered: Sequence[Period], today: date) -> Period | None:
    """Return one of several ordered occurrences; None if there is no such one."""
    nearest = sorted(ordered, key=lambda period: days_between(period, today))
    running = [period for period in nearest if days_between(period, today) == 0]
    of_this_year = [period for period in nearest if period.first.year == today.year]
    chosen: dict[Which, list[Period]] = {
        "last": [period for period in ordered if period.last < today][-1:],
        "recent": [period for period in ordered if period.first <= today][-1:],
        "this": running or of_this_year or nearest,
        "nearest": nearest,
        "coming": [period for period in ordered if period.last >= today],
        "next": [period for period in ordered if period.first > today],
    }
    return next(iter(chosen[which]), None)


def days_between(period: Period, today: date) -> int:
    """Return the number of days between a period and a day; 0 within it."""
    return max((period.first - today).days, (today - period.last).days, 0)


def format_interval(interval: Interval, granularity: Granularity) -> str:
    """Format an interval: "7 May 2023", "the week of 1 May 2023", "summer 2022", "3 to 5 May 2023"."""
    first, last = interval.start.date(), interval.end.date()
    names: dict[Granularity, str] = {
        "time": f"{_format_date(first)} {interval.start:%H:%M}",
        "day": _format_date(first),
        "week": f"the week of {_format_date(first)}",
        "weekend": f"the weekend of {_format_date(first)}",
        "month": f"{first:%B} {first.year}",
        "season": f"{SEASON_NAMES.get(first.month, '')} {first.year}",
        "year": str(first.year),
        "range": _format_range(first, last),
    }
    return names[granularity]


def _format_date(day: date) -> str:
    return f"{day.day} {day:%B} {day.year}"


def _format_range(first: date, last: date) -> str:
    if first == last:
        return _format_date(first)
    if (first.day, first.month, last.day, last.month) == (1, 1, 31, 12):
        return f"{first.year} to {last.year}"
    year = "" if first.year == last.year else f" {first.year}"
    if first.day == 1 and last.day == monthrange(last.year, last.month)[1]:
        return f"{first:%B}{year} to {last:%B} {last.year}"
    if (first.year, first.month) == (last.year, last.month):
        return f"{first.day} to {_format_date(last)}"
    return f"{first.day} {first:%B}{year} to {_format_date(last)}"
