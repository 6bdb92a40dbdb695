"""Write out in a text what its relative times mean, given when it was said."""

import re
from datetime import datetime, timedelta

from langgraph_engram.schema import DateOrder, Interval
from langgraph_engram.temporal.find import TimeMention, find_times
from langgraph_engram.temporal.patterns import WEEKDAY
from langgraph_engram.temporal.periods import DAYS_OF_A_WEEK, Granularity, name_interval

UNIT_NAMED = re.compile(rf"\bweek(?:end)?s?\b|\b{WEEKDAY}", re.IGNORECASE)
"""A time named by its week, weekend or weekday."""
VAGUE = re.compile(r"\b(?:couple|few|several|other)\b", re.IGNORECASE)
"""Nobody knows the ends of what these words measure."""
NUMBERS_ALONE = re.compile(r"\d\d?([/-])\d\d?\1\d+")
"""A date whose order of day and month a reader would have to guess."""
BRACKET = re.compile(r"\s*\(")
MOST_DAYS_BEFORE = 34
"""Longer ago than four weeks before this one, a date says more than a count."""
NUMBERS = ("", "one", "two", "three", "four")


def resolve_times(text: str, clock: datetime | None, date_order: DateOrder | None = None) -> str:
    """Return the text with what its relative times mean in brackets: "I went yesterday (7 May 2023)".

    A past weekday, week or weekend is named as seen from the clock too: "last Friday (5 May 2023, the Friday before)".
    A date in numbers is written out. What is vague ("a few years ago") gets no brackets.

    Args:
        text: Any text; only brackets are added to it.
        clock: When it was said.
        date_order: The order of day and month in "03/04/2025", where the text itself does not show it.
    """
    pieces, done = [], 0
    for mention in find_times(text, clock, date_order):
        if clock and _is_worth_a_bracket(mention) and not BRACKET.match(text, mention.end_char):
            name = name_interval(mention.interval, mention.granularity)
            seen = name_before(mention.interval, mention.granularity, clock) if UNIT_NAMED.search(mention.text) else ""
            pieces.append(f"{text[done : mention.end_char]} ({', '.join(filter(None, (name, seen)))})")
            done = mention.end_char
    return "".join([*pieces, text[done:]])


def _is_worth_a_bracket(mention: TimeMention) -> bool:
    return NUMBERS_ALONE.fullmatch(mention.text) is not None or (mention.relative and not VAGUE.search(mention.text))


def name_before(interval: Interval, granularity: Granularity, clock: datetime) -> str:
    """Name a past week, weekend or weekday as a listener retells it: "the week before", "the Friday before".

    Read later, "last Friday" is the Friday before: whoever reads it needs no calendar to see how long ago it was.

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
