"""Score answers to temporal questions by the time they name, not by its wording.

An answer is right when the span of the dates it names overlaps the gold answer's and is at most a month longer. Only
dates that stand on their own count: "last week" names no time once the conversation is over. An answer that names
several dates spans them all, so that naming many does not help. This module does not know any conversation.
"""

import re
from datetime import timedelta

from langgraph_engram.language.times import find_times, parse_time
from langgraph_engram.schema import Interval

MOST_LONGER = timedelta(days=31)
BARE_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
"""What a text dates by that names no other time: "It was 2022"."""


def temporal_interval(answer: str, gold: str) -> float:
    """Give 1 for an answer whose dates overlap the gold ones and span at most a month more, else 0.

    A gold answer without a date ("four months") cannot be met: it counts 0.
    """
    named, wanted = dates_named(answer), dates_named(gold)
    if named is None or wanted is None:
        return 0.0
    overlaps = named.start <= wanted.end and wanted.start <= named.end
    return float(overlaps and _length(named) - _length(wanted) <= MOST_LONGER)


def dates_named(text: str) -> Interval | None:
    """Give the span from the first to the last of the dates that `text` names; None where it names none."""
    named = [mention.interval for mention in find_times(text, None)]
    if not named:
        year = BARE_YEAR.search(text)
        return parse_time(year.group(), None) if year else None
    return Interval(start=min(one.start for one in named), end=max(one.end for one in named))


def _length(interval: Interval) -> timedelta:
    return interval.end - interval.start
