"""Decide on records that resemble one another without a model: merge repeats, let a stated change supersede.

The rule is careful: what it is not sure of stays. Two sentences on different days are different things. A change is
stated in so many words ("no longer"), or a later sentence sets the same attribute of the same person to another value.
"""

from collections.abc import Iterator, Sequence

from langgraph_engram.prompts.decide_update import DecideUpdate, UpdateVerdict, UpdateVerdicts
from langgraph_engram.schema import Record
from langgraph_engram.temporal.datetimes import wall_time
from langgraph_engram.text.slots import Slot, slot_of
from langgraph_engram.text.statements import own_words, signals_change
from langgraph_engram.text.tokens import content_stems

REPEAT = 0.9
"""Least share of common stems of two wordings of one thing."""
SAME_SUBJECT = 0.5
"""Least share of common stems of a statement and the change of it."""
LEAST_STEMS = 2
"""Stems from which on a repeat is worth merging: exclamations are no memories."""


def decide_update(question: DecideUpdate) -> UpdateVerdicts:
    """Merge repeats, supersede what a later record says has changed, and keep the rest."""
    return UpdateVerdicts(
        verdicts=[
            verdict
            for number, records in enumerate(question.clusters, start=1)
            for verdict in (list(_decide(number, records)) or [_keep(number)])
        ]
    )


def _decide(cluster: int, records: Sequence[Record]) -> Iterator[UpdateVerdict]:
    """Take each record, newest first, with all that repeat it, or with all that it makes untrue."""
    left = list(range(len(records)))
    while left:
        newest = left.pop()
        repeats = [one for one in left if _repeats(records[one], records[newest])]
        outdated = [] if repeats else [one for one in left if _changes(records[one], records[newest])]
        members = [*(repeats or outdated), newest]
        left = [one for one in left if one not in members]
        numbers = [one + 1 for one in members] if len(members) < len(records) else []
        if repeats:
            longest = max((records[one] for one in members), key=lambda record: len(record.content))
            yield UpdateVerdict(
                cluster=cluster, action="MERGE", members=numbers, content=longest.content, reason="the same words"
            )
        elif outdated:
            yield UpdateVerdict(
                cluster=cluster, action="SUPERSEDE", members=numbers, reason="the newest says that it has changed"
            )


def _keep(cluster: int) -> UpdateVerdict:
    return UpdateVerdict(cluster=cluster, action="KEEP_BOTH", reason="no sign that they are one")


def _repeats(one: Record, other: Record) -> bool:
    same_time = (one.event_start, one.event_end) == (other.event_start, other.event_end)
    enough = len(_stems(other)) >= LEAST_STEMS
    return one.speaker == other.speaker and same_time and enough and _overlap(one, other) >= REPEAT


def _changes(older: Record, newest: Record) -> bool:
    """Return whether the newest makes the older untrue: it sets the same attribute, or says that something changed."""
    before, after = _attribute(older), _attribute(newest)
    if before and after and before.key == after.key:
        return before.value != after.value and not _tells_of_earlier(newest, older)
    said_so = newest.memory_type != "episodic" and signals_change(own_words(newest.content, newest.speaker))
    return said_so and older.speaker == newest.speaker and _overlap(older, newest) >= SAME_SUBJECT


def _tells_of_earlier(newest: Record, older: Record) -> bool:
    """Return whether the newest tells of a time that was over when the older was said."""
    told = wall_time(older.mentioned_at)
    return bool(newest.event_end and told and newest.event_end < told)


def _attribute(record: Record) -> Slot | None:
    return slot_of(own_words(record.content, record.speaker), record.speaker)


def _overlap(one: Record, other: Record) -> float:
    first, second = _stems(one), _stems(other)
    return len(first & second) / len(first | second) if first | second else 1.0


def _stems(record: Record) -> frozenset[str]:
    return frozenset(content_stems(own_words(record.content, record.speaker)))
