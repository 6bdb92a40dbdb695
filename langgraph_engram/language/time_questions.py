"""Read questions that compare times: which of two came first, how long lies between two, how long ago something was.

English, by their words alone. This module does not know when anything happened.
"""

import re
from dataclasses import dataclass
from typing import Literal

CalendarUnit = Literal["day", "week", "month", "year"]
UNITS: tuple[CalendarUnit, ...] = ("day", "week", "month", "year")

UNIT = r"(?:many\s+(?P<unit>day|week|month|year)s?|long|much\s+time)"
PASSED = (
    r"(?:\s+(?:have|has|had|did|were|was|went|lie|lay|are|is))?(?:\s+(?:passed|elapsed|gone\s+by|pass|go\s+by|there))?"
)
THE_DAY = r"(?:the\s+(?:day|date|time|moment)\s+(?:that\s+|when\s+|of\s+)?)?"
END = r"[\s?.!]*$"
BRACKETS = re.compile(r"\s*\([^()]*\)")
CHOICE = re.compile(
    r"^\W*(?:which|what|who)\b(?P<shared>[^,:?]*?)\b(?:(?P<first>first|earlier|earliest)|"
    rf"(?P<last>last|later|latest|(?:most|more)\s+recently))\b(?P<more>[^,:?]*)[,:]\s*(?P<one>.+?),?\s+or\s+(?P<two>.+?){END}",
    re.IGNORECASE,
)
"""Queries that name two things and ask which came first or last."""
SPANS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\bhow\s+{UNIT}\b.*?\bbetween\s+{THE_DAY}(?P<one>.+?)\s+and\s+{THE_DAY}(?P<two>.+?){END}",
        rf"\bhow\s+{UNIT}{PASSED}\s+since\s+(?P<one>.+?)\s+when\s+(?P<two>.+?){END}",
        rf"\bhow\s+{UNIT}\s+ago\s+(?:did|was|were|had|have)\s+(?P<one>.+?)\s+when\s+(?P<two>.+?){END}",
        rf"\bhow\s+{UNIT}\s+(?:before|after)\s+{THE_DAY}(?P<one>.+?)\s+(?:did|was|were)\s+(?P<two>.+?){END}",
        rf"\bhow\s+{UNIT}\s+did\s+it\s+take\b.*?\bto\s+(?P<two>.+?)\s+(?:after|since|from)\s+(?P<one>.+?){END}",
    )
)
"""Queries for the time between two things."""
SINCE = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\bhow\s+{UNIT}\s+ago\s+(?:did|was|were|had|have)\s+(?P<one>.+?){END}",
        rf"\bhow\s+{UNIT}\s+(?:have|has|had|is)\s+(?:it\s+been|passed|elapsed|gone\s+by|it)\s+since\s+(?P<one>.+?){END}",
    )
)
"""Queries for the time from something until now."""


@dataclass(frozen=True, slots=True)
class TimeQuestion:
    """What a query compares the times of."""

    asks: Literal["first", "last", "span"]
    """Which of the parts came first or last, or how long lies between them, or between the one and now."""
    parts: tuple[str, ...]
    """What happened: two parts, or one that is compared with now."""
    shared: str = ""
    """What the query says of both."""
    unit: CalendarUnit | None = None
    """The unit that a span is asked for in; None for the one that fits."""


def time_question(query: str) -> TimeQuestion | None:
    """Read a query that compares times; None where it does not, or its words do not say so."""
    query = BRACKETS.sub("", query)
    if choice := CHOICE.search(query):
        shared = f"{choice['shared']} {choice['more']}".strip()
        return TimeQuestion("first" if choice["first"] else "last", (choice["one"], choice["two"]), shared)
    between = next((found for pattern in SPANS if (found := pattern.search(query))), None)
    if between:
        return TimeQuestion("span", (between["one"], between["two"]), unit=_unit(between))
    since = next((found for pattern in SINCE if (found := pattern.search(query))), None)
    return TimeQuestion("span", (since["one"],), unit=_unit(since)) if since else None


def _unit(match: re.Match[str]) -> CalendarUnit | None:
    named = (match["unit"] or "").casefold()
    return next((unit for unit in UNITS if unit == named), None)
