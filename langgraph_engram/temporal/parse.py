"""Parse one time expression, and the time that a query asks about: on it, before it, since it, around it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from langgraph_engram.schema import Interval, TimeConstraint
from langgraph_engram.temporal.find import find_times
from langgraph_engram.temporal.periods import Granularity, Period

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
    rf"(?i)\b(?:(?P<before>{BEFORE})|(?P<after>{AFTER})|(?P<since>{SINCE})|(?P<until>{UNTIL})|(?P<around>{AROUND})|(?:{PLAIN}))\s+"
    r"(?:the\s+)?$"
)
ONWARDS = re.compile(r"(?i)\s+(?:on|onwards?|forward)\b(?!\s+(?:the|my|a)\b)")
LEAD_REACH = 32
"""Characters before a time in which its preposition is looked for."""


@dataclass(frozen=True, slots=True)
class _Limit:
    """The limit that one time of a query sets, and its position in the query. An open end is None."""

    start_char: int
    end_char: int
    start: datetime | None
    end: datetime | None


def parse_time(text: str, clock: datetime | None) -> Interval | None:
    """Read a text that is a time, or else the first that it mentions; None if it names no time that exists.

    "2023-05-07", "2023-05", "2023", "2023-05-01/2023-05-07", or "last week", which counts from `clock`.
    """
    first, slash, last = text.strip().partition("/")
    if slash and (start := parse_time(first, clock)) and (end := parse_time(last, clock)):
        return Interval(start=start.start, end=end.end) if start.start <= end.end else None
    for before in ("", "in ", "on "):
        found = find_times(before + text.strip(), clock)
        mentions = [mention for mention in found if mention.start_char >= len(before)]
        if mentions:
            return mentions[0].interval
    return None


def parse_constraint(query: str, now: datetime | None) -> TimeConstraint | None:
    """Return when the thing asked for happened, from the times that a query mentions; None if it mentions none.

    Words such as "before", "since" and "around" open or widen the time. Without `now` only complete dates count.
    """
    limits: list[_Limit] = [
        _limit_of(query, mention.start_char, mention.end_char, Period(mention.interval, mention.granularity))
        for mention in find_times(query, now)
    ]
    return _combine(query, limits) if limits else None


def _limit_of(query: str, start: int, end: int, period: Period) -> _Limit:
    """Return the limit that a time at `start` to `end` of a query sets."""
    lead = LEAD.search(query[max(0, start - LEAD_REACH) : start])
    if lead is None:
        return _Limit(start, end, period.interval.start, period.interval.end)
    kind = "since" if lead.group().casefold().startswith("from") and ONWARDS.match(query, end) else lead.lastgroup
    if kind == "since" and (onwards := ONWARDS.match(query, end)):
        end = onwards.end()
    return _Limit(start - len(lead.group()), end, *_ends(kind, period))


def _combine(query: str, limits: Sequence[_Limit]) -> TimeConstraint:
    """Return the span of the closed limits, cut by the open ones; where that is empty, the first limit."""
    text = query[limits[0].start_char : limits[-1].end_char]
    closed = [(limit.start, limit.end) for limit in limits if limit.start and limit.end]
    starts = [limit.start for limit in limits if limit.start and not limit.end]
    ends = [limit.end for limit in limits if limit.end and not limit.start]
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
