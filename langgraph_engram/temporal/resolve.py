"""Resolve the relative times of a text in brackets, given when it was said."""

import re
from datetime import datetime, timedelta

from langgraph_engram.schema import DateOrder
from langgraph_engram.temporal.find import TimeMention, find_times
from langgraph_engram.temporal.patterns import WEEKDAY
from langgraph_engram.temporal.periods import DAYS_OF_A_WEEK, format_interval

UNIT_NAMED = re.compile(rf"\bweek(?:end)?s?\b|\b{WEEKDAY}", re.IGNORECASE)
"""A time mentioned by its week, weekend or weekday."""
VAGUE = re.compile(r"\b(?:couple|few|several|other)\b", re.IGNORECASE)
"""Words for amounts without certain ends."""
NUMBERS_ALONE = re.compile(r"\d\d?([/-])\d\d?\1\d+")
"""A date whose order of day and month a reader has to guess."""
BRACKET = re.compile(r"\s*\(")
MOST_DAYS_BEFORE = 34
"""Days within four weeks before this week; longer ago, a date says more than a count."""
NUMBERS = ("", "one", "two", "three", "four")


def resolve_times(text: str, clock: datetime | None, date_order: DateOrder | None = None) -> str:
    """Return the text with its relative times resolved in brackets: "I went yesterday (7 May 2023)".

    A past weekday, week or weekend is counted from the clock too: "last Friday (5 May 2023, the Friday before)".
    A date in numbers is written out. What is vague ("a few years ago") gets no brackets.

    Args:
        text: Any text; only brackets are added to it.
        clock: When it was said.
        date_order: The order of day and month in "03/04/2025", where the text itself does not show it.
    """
    parts, done = [], 0
    for mention in find_times(text, clock, date_order):
        if clock and _is_worth_a_bracket(mention) and not BRACKET.match(text, mention.end_char):
            meanings = [format_interval(mention.interval, mention.granularity), _format_distance(mention, clock)]
            parts.append(f"{text[done : mention.end_char]} ({', '.join(filter(None, meanings))})")
            done = mention.end_char
    return "".join([*parts, text[done:]])


def _is_worth_a_bracket(mention: TimeMention) -> bool:
    return NUMBERS_ALONE.fullmatch(mention.text) is not None or (mention.relative and not VAGUE.search(mention.text))


def _format_distance(mention: TimeMention, clock: datetime) -> str:
    """Return how long before the clock a week, weekend or weekday was: "the week before", "the Friday before".

    Empty for what is not past, longer ago than four weeks, or not mentioned by its week, weekend or weekday.
    """
    first, unit = mention.interval.start.date(), mention.granularity
    days = (clock.date() - first).days
    is_past = mention.interval.end.date() < clock.date()
    if not is_past or days > MOST_DAYS_BEFORE or not UNIT_NAMED.search(mention.text):
        return ""
    if unit == "day" and days <= DAYS_OF_A_WEEK:
        return f"the {first:%A} before"
    if unit not in ("week", "weekend"):
        return ""
    this_monday, monday = (day - timedelta(days=day.weekday()) for day in (clock.date(), first))
    weeks = max(1, (this_monday - monday).days // DAYS_OF_A_WEEK)
    return f"the {unit} before" if weeks == 1 else f"{NUMBERS[weeks]} {unit}s before"
