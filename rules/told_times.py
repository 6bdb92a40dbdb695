"""Say whether a sentence may tell of the time that a query asks about.

An amount is of its time: what was counted in March is no answer for December. This module does not know what is read
off a sentence.
"""

from datetime import timedelta

from langgraph_engram.language.times import find_times
from langgraph_engram.rules.utterances import Utterance
from langgraph_engram.schema import Interval, TimeConstraint

SOON = timedelta(days=31)
"""How long after something happened it is told without saying when."""


def may_tell_of(said: Utterance, asked: TimeConstraint) -> bool:
    """Say whether a sentence may tell of a time.

    The times that it names decide. One that names none, or only what is still to come, may also tell of those that its
    turn names, or of what was lately when it was said.

    Args:
        said: The sentence. One that names no time, and of which nobody knows when it was said, may tell of any.
        asked: The time; an open end holds all that is on its side.
    """
    own = _own_times(said)
    if any(_overlap(one, asked) for one in own):
        return True
    if said.said_at is None or any(one.start <= said.said_at for one in own):
        return not own
    lately = Interval(start=said.said_at - SOON, end=said.said_at)
    beside = [mention.interval for mention in find_times(said.around, said.said_at)]
    return any(_overlap(one, asked) for one in (lately, *beside))


def _own_times(said: Utterance) -> list[Interval]:
    """Give the times that a sentence and its record name."""
    times = [mention.interval for mention in find_times(said.text, said.said_at)]
    if said.record and said.record.event_start:
        times.append(Interval(start=said.record.event_start, end=said.record.event_end or said.record.event_start))
    return times


def _overlap(one: Interval, asked: TimeConstraint) -> bool:
    return (asked.end is None or one.start <= asked.end) and (asked.start is None or one.end >= asked.start)
