"""Define moments: an instant, shown by a clock of some offset.

Instants are what orders, gaps and "as of" go by. What the clock showed names a day, and is what "yesterday" counts
from: it is compared with days and intervals, which are all given in UTC as if that clock showed it
(docs/decisions/0029). This module does not know whose clock it is.
"""

from datetime import UTC, datetime, timezone


def with_offset(moment: datetime) -> datetime:
    """Return a moment with the offset that its clock had then; one without is taken to be in UTC."""
    offset = moment.utcoffset()
    return moment.replace(tzinfo=timezone(offset) if offset else UTC)


def on_clock(moment: datetime | None) -> datetime | None:
    """Return what the clock showed at a moment, as if it were UTC: 08:00 for 08:00+10:00; none for none."""
    return moment.replace(tzinfo=UTC) if moment else None


def instant_of(shown: datetime, clock: datetime | None) -> datetime:
    """Return the instant at which a clock showed what stands in UTC as if it did: the reverse of `on_clock`.

    Args:
        shown: What it showed.
        clock: A moment shown by that clock; none for UTC.
    """
    return shown.replace(tzinfo=clock.tzinfo) if clock and clock.tzinfo else shown


def epoch_seconds(moment: datetime | None, unknown: float) -> float:
    """Turn a moment into seconds since 1970; a naive one is UTC, and none at all is `unknown`."""
    if moment is None:
        return unknown
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def name_day(moment: datetime | None) -> str:
    """Name a day with its weekday: "Mon 8 May 2023"; "undated" for none."""
    return f"{moment:%a} {moment.day} {moment:%B %Y}" if moment else "undated"
