"""Convert datetimes: a moment is an instant, and the wall time that the speaker's clock showed (docs/decisions/0010).

Order, gaps and "as of" go by instants. Days and "yesterday" go by wall time, which is compared with days and intervals:
these are all given in UTC as if that clock showed it.
"""

from datetime import UTC, datetime, timezone


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
