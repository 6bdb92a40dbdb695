"""Read a time off a sentence, as one retells it: "The Friday before 20 May 2023 (19 May 2023)".

What somebody calls last week is the week before the day of telling, whatever the calendar says. This module does not
know which sentence is right.
"""

import re
from collections.abc import Sequence, Set
from datetime import datetime

from langgraph_engram.rules.nearest import nearest_first
from langgraph_engram.rules.retell import retold
from langgraph_engram.rules.utterances import Utterance
from langgraph_engram.temporal.find import TimeMention, find_times
from langgraph_engram.temporal.periods import name_interval, name_span
from langgraph_engram.temporal.resolve import name_before
from langgraph_engram.temporal.tense import tense_at

SEEN_FROM = re.compile(r"\bweek(?:end)?s?\b|\b(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\b", re.IGNORECASE)
AGO = re.compile(r"(?P<amount>.+)\s+(?:ago|back)$", re.IGNORECASE)
"""What is too vague for the calendar: "a few years ago"."""

THIS_DAY = re.compile(r"\b(?:just|now|today|currently|tonight|this morning)\b", re.IGNORECASE)
"""What happens as it is told."""


def read_time(one: Utterance, stems: Set[str]) -> str:
    """Tell when something happened, by what a sentence says or else by the day it was said.

    Args:
        one: The sentence.
        stems: What is asked, to tell the time that belongs to it from others.

    Returns:
        Words that name a time on their own; empty where nothing is known.
    """
    mentions = find_times(one.text, one.said_at)
    if mentions:
        return name_mention(nearest_mention(one.text, mentions, stems), one.said_at)
    record = one.record
    if record and record.event_start and record.event_end:
        event = (record.event_start, record.event_end)
        beside = (
            time for time in find_times(one.around, one.said_at) if (time.interval.start, time.interval.end) == event
        )
        mention = next(beside, None)
        return name_mention(mention, one.said_at) if mention else name_span(*event)
    return told_day(one.text, one.said_at) if one.said_at else ""


def name_mention(mention: TimeMention, clock: datetime | None) -> str:
    """Name a mentioned time: as seen from the day of telling where it is a week or a weekday, else by the calendar."""
    calendar = name_interval(mention.interval, mention.granularity)
    if clock is None or not mention.relative:
        return calendar
    ago = AGO.match(mention.text)
    if ago and mention.granularity == "range":
        return f"{retold(ago.group('amount'))} before {name_day(clock)}"
    seen = name_before(mention.interval, mention.granularity, clock) if SEEN_FROM.search(mention.text) else ""
    if not seen:
        return calendar
    told = f"{seen[:1].upper()}{seen[1:]} {name_day(clock)}"
    return f"{told} ({calendar})" if mention.granularity == "day" else told


def told_day(text: str, clock: datetime) -> str:
    """Tell what the day of telling says of a time that is not told: the day itself, or its limit."""
    end = len(text.rstrip(" .!…"))
    tense = None if THIS_DAY.search(text) else tense_at(text, end, end)
    limit = {"behind": "By ", "ahead": "After "}.get(tense or "", "")
    return f"{limit}{name_day(clock)}"


def name_day(moment: datetime) -> str:
    """Name the day of a moment."""
    return f"{moment.day} {moment:%B} {moment.year}"


def nearest_mention(text: str, mentions: Sequence[TimeMention], asked: Set[str]) -> TimeMention:
    """Give the mention, of one at least, that stands nearest to what is asked."""
    return nearest_first(mentions, lambda one: (one.start_char, one.end_char), text, asked)[0]
