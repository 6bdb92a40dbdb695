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
"""Least share of common stems of two records that say the same."""
SAME_SUBJECT = 0.5
"""Least share of common stems of a statement and of one that says it has changed."""
LEAST_STEMS = 2
"""Stems from which a repeat is worth merging: exclamations are no memories."""


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
    """Yield a verdict on each record, newest first, with all that it repeats, or with all that it makes untrue."""
    remaining = list(range(len(records)))
    while remaining:
        newest = remaining.pop()
        repeats = [index for index in remaining if _repeats(records[index], records[newest])]
        outdated = [] if repeats else [index for index in remaining if _supersedes(records[newest], records[index])]
        members = [*(repeats or outdated), newest]
        remaining = [index for index in remaining if index not in members]
        numbers = [index + 1 for index in members] if len(members) < len(records) else []
        if repeats:
            longest = max((records[index] for index in members), key=lambda record: len(record.content))
            yield UpdateVerdict(
                cluster=cluster, action="MERGE", members=numbers, content=longest.content, reason="the same words"
            )
        elif outdated:
            yield UpdateVerdict(
                cluster=cluster, action="SUPERSEDE", members=numbers, reason="the newest says that it has changed"
            )


def _keep(cluster: int) -> UpdateVerdict:
    return UpdateVerdict(cluster=cluster, action="KEEP_BOTH", reason="no sign that they are one")


def _repeats(older: Record, newest: Record) -> bool:
    same_time = (older.event_start, older.event_end) == (newest.event_start, newest.event_end)
    is_worth_merging = len(_stems(newest)) >= LEAST_STEMS
    return older.speaker == newest.speaker and same_time and is_worth_merging and _overlap(older, newest) >= REPEAT


def _supersedes(newest: Record, older: Record) -> bool:
    """Return whether the newest makes the older untrue: it sets the same attribute, or says that something changed."""
    before, after = _slot(older), _slot(newest)
    if before and after and before.key == after.key:
        return before.value != after.value and not _mentions_earlier_time(newest, older)
    says_so = newest.memory_type != "episodic" and signals_change(own_words(newest.content, newest.speaker))
    return says_so and older.speaker == newest.speaker and _overlap(older, newest) >= SAME_SUBJECT


def _mentions_earlier_time(newest: Record, older: Record) -> bool:
    """Return whether the newest mentions a time that was over when the older was said."""
    mentioned = wall_time(older.mentioned_at)
    return bool(newest.event_end and mentioned and newest.event_end < mentioned)


def _slot(record: Record) -> Slot | None:
    return slot_of(own_words(record.content, record.speaker), record.speaker)


def _overlap(older: Record, newest: Record) -> float:
    """Return the share of common stems among all stems of two records."""
    first, second = _stems(older), _stems(newest)
    return len(first & second) / len(first | second) if first | second else 1.0


def _stems(record: Record) -> frozenset[str]:
    return frozenset(content_stems(own_words(record.content, record.speaker)))
