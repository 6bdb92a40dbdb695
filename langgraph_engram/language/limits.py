"""Turn a time in a query, with the preposition before it, into a limit: before it, since it, around it.

This module does not know how the time was worded.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from langgraph_engram.language.periods import Granularity, Period
from langgraph_engram.schema import TimeConstraint

SECOND = timedelta(seconds=1)
WIDER: dict[Granularity, timedelta] = {
    "time": timedelta(days=1),
    "day": timedelta(days=3),
    "weekend": timedelta(days=3),
    "week": timedelta(days=7),
    "range": timedelta(days=7),
    "month": timedelta(days=31),
    "season": timedelta(days=31),
    "year": timedelta(days=366),
    "decade": timedelta(days=366),
}
"""How far "around" reaches beyond both ends, by how exact the time is (DimMem's search: 1, 3, 31 and 366 days)."""
BEFORE = r"before|prior\s+to|earlier\s+than|up\s+to"
AFTER = r"after|later\s+than|following"
SINCE = r"since|ever\s+since|starting(?:\s+(?:in|on|from))?|as\s+of|beginning(?:\s+(?:in|on))?"
UNTIL = r"by|until|till|up\s+until|no\s+later\s+than|through|to"
AROUND = r"around|about|circa|roughly|approximately|close\s+to|near"
PLAIN = r"on|in|during|at|over|within|from|for|of|between"
LEAD = re.compile(
    rf"\b(?:(?P<before>{BEFORE})|(?P<after>{AFTER})|(?P<since>{SINCE})|(?P<until>{UNTIL})|(?P<around>{AROUND})|(?:{PLAIN}))\s+"
    r"(?:the\s+)?$",
    re.IGNORECASE,
)
ONWARDS = re.compile(r"\s+(?:on|onwards?|forward)\b(?!\s+(?:the|my|a)\b)", re.IGNORECASE)
REACH = 32
"""How many characters before a time are looked at for its preposition."""


@dataclass(frozen=True, slots=True)
class Limit:
    """What one time of a query says of when, and where in the query it says so. An open end is absent."""

    start_char: int
    end_char: int
    start: datetime | None
    end: datetime | None


def limit_of(query: str, start: int, end: int, period: Period) -> Limit:
    """Give the limit that a time sets, found between two places of a query."""
    lead = LEAD.search(query[max(0, start - REACH) : start])
    if lead is None:
        return Limit(start, end, period.interval.start, period.interval.end)
    kind = "since" if lead.group().casefold().startswith("from") and ONWARDS.match(query, end) else lead.lastgroup
    if kind == "since" and (onwards := ONWARDS.match(query, end)):
        end = onwards.end()
    return Limit(start - len(lead.group()), end, *_ends(kind, period))


def combine(query: str, limits: Sequence[Limit]) -> TimeConstraint:
    """Give what all limits say together; if nothing fits them all, the span of those that have both ends.

    Args:
        query: What the limits were read from.
        limits: At least one, in order.
    """
    text = query[limits[0].start_char : limits[-1].end_char]
    closed = [(one.start, one.end) for one in limits if one.start and one.end]
    starts = [one.start for one in limits if one.start and not one.end]
    ends = [one.end for one in limits if one.end and not one.start]
    if closed:
        starts.append(min(start for start, _ in closed))
        ends.append(max(end for _, end in closed))
    start, end = max(starts, default=None), min(ends, default=None)
    if start and end and start > end:
        return TimeConstraint(text=text, start=limits[0].start, end=limits[0].end)
    return TimeConstraint(text=text, start=start, end=end)


def _ends(kind: str | None, period: Period) -> tuple[datetime | None, datetime | None]:
    start, end = period.interval.start, period.interval.end
    match kind:
        case "before":
            return None, start - SECOND
        case "after":
            return end + SECOND, None
        case "since":
            return start, None
        case "until":
            return None, end
        case "around":
            return start - WIDER[period.granularity], end + WIDER[period.granularity]
    return start, end
