"""Say whether a sentence may tell of the time that a query asks about.

An amount is of its time: what was counted in March is no answer for December. This module does not know what is read
off a sentence.
"""

from datetime import datetime, timedelta

from langgraph_engram.rules.utterances import Utterance
from langgraph_engram.schema import Interval, TimeConstraint
from langgraph_engram.temporal.datetimes import on_clock
from langgraph_engram.temporal.find import find_times
from langgraph_engram.text.tokens import content_stems

SOON = timedelta(days=31)
"""How long after something happened it is told without saying when."""


def may_tell_of(said: Utterance, asked: TimeConstraint, now: datetime | None = None) -> bool:
    """Say whether a sentence may tell of a time that is over.

    The times that it names decide. One that names none, or only what is still to come, may also tell of those that its
    turn or the turn before it names, or of what was lately when it was said.

    Args:
        said: The sentence. One that names no time, and of which nobody knows when it was said, may tell of any.
        asked: The time. Of one that is open, or goes on, whatever was told may still hold.
        now: When it is asked; None for a time that is over.
    """
    if not asked.start or not asked.end or (now and asked.end >= now) or _says(said, asked):
        return True
    whole = Interval(start=asked.start, end=asked.end)
    own = _own_times(said)
    if any(_overlap(one, whole) for one in own):
        return True
    clock = on_clock(said.said_at)
    if clock is None or any(one.start <= clock for one in own):
        return not own
    lately = Interval(start=clock - SOON, end=clock)
    beside = find_times(f"{said.before} {said.around}", said.said_at)
    return any(_overlap(one, whole) for one in (lately, *(mention.interval for mention in beside)))


def _says(said: Utterance, asked: TimeConstraint) -> bool:
    """Say whether a sentence names a time by the query's own words: "on Mondays", "every December"."""
    named = set(content_stems(asked.text))
    return bool(named) and named <= set(content_stems(said.text))


def _own_times(said: Utterance) -> list[Interval]:
    """Give the times that a sentence and its record name."""
    times = [mention.interval for mention in find_times(said.text, said.said_at)]
    if said.record and said.record.event_start:
        times.append(Interval(start=said.record.event_start, end=said.record.event_end or said.record.event_start))
    return times


def _overlap(one: Interval, other: Interval) -> bool:
    return one.start <= other.end and one.end >= other.start
