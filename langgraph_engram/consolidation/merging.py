"""Carry out what was decided on records: merge them into one, let the newest supersede the others, or link them.

Nothing is deleted.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

from langgraph_engram.consolidation.triage import are_apart_in_time
from langgraph_engram.filters import join_metadata
from langgraph_engram.schema import Decision, Proposal, Record, make_id
from langgraph_engram.temporal.datetimes import instant_of
from langgraph_engram.text.keywords import proper_names
from langgraph_engram.text.tokens import content_stems, numbers_in

LOSES_SOURCE = "a merge would lose a cited source"
WITHOUT_WORDS = "a merge without words"
LEAVES_OUT = "the merged text leaves out a name or a number that one of them says"
TWO_EVENTS = "two events at two times do not merge"
MAX_CONFLICTS = 19
"""Records that one is linked to at most: a conflict of twenty statements."""


def carry_out(proposal: Proposal, known: Mapping[str, Record]) -> tuple[list[Record], list[Record]]:
    """Return the records that a decision makes, and those that it marks; neither where one of its records is gone."""
    group = [known[record_id] for record_id in proposal.decision.pair if record_id in known]
    if len(group) < len(proposal.decision.pair):
        return [], []
    match proposal.decision.action:
        case "MERGE":
            made = merged(group, proposal.content)
            return [made], as_merged(group, made)
        case "SUPERSEDE":
            return [], as_superseded(group[:-1], group[-1])
        case "CONFLICT":
            return [], [in_conflict(record, proposal.decision.pair) for record in group]
    return [], []


def merged(group: Sequence[Record], content: str) -> Record:
    """Return one record made of several, oldest first.

    It has the union of sources and keywords, the widest span of time, and the newest's other dimensions; where the
    newest has none, the last that has one gives it. What one of them is in conflict with is in conflict with it.
    """
    newest = group[-1]
    conflicts = [other for record in group for other in record.conflicts_with]
    ids = [record.record_id for record in group]
    dimensions = {name: _last(group, name) for name in ("time_text", "location", "reason", "purpose")}
    made = newest.model_copy(
        update={
            **dimensions,
            "conflicts_with": [],
            "record_id": make_id("merge", *sorted(ids)),
            "standing": next((record.standing for record in reversed(group) if record.standing), None),
            "content": content,
            "derived_from": ids,
            "source_turn_ids": list(dict.fromkeys(turn_id for record in group for turn_id in record.source_turn_ids)),
            "metadata": join_metadata(record.metadata for record in group),
            "keywords": list(dict.fromkeys(word for record in group for word in record.keywords)),
            "event_start": min((record.event_start for record in group if record.event_start), default=None),
            "event_end": max((record.event_end for record in group if record.event_end), default=None),
            "valid_from": min((record.valid_from for record in group if record.valid_from), default=None),
        }
    )
    return in_conflict(made, [other for other in conflicts if other not in ids])


def objection_to_merge(group: Sequence[Record], made: Record) -> str:
    """Return why records must not be merged into `made`; empty if they may (DimMem section 3.4)."""
    if not made.content:
        return WITHOUT_WORDS
    pairs = ((first, second) for position, first in enumerate(group) for second in group[:position])
    if any(are_apart_in_time(first, second) for first, second in pairs):
        return TWO_EVENTS
    if not _cites_all_sources(made, group):
        return LOSES_SOURCE
    return "" if all(_says_as_much(made, record) for record in group) else LEAVES_OUT


def as_merged(group: Sequence[Record], made: Record) -> list[Record]:
    """Return the records of a group as parts of the one made of them; how long they are true does not change."""
    return [record.model_copy(update={"status": "merged", "superseded_by": made.record_id}) for record in group]


def as_superseded(group: Sequence[Record], by: Record) -> list[Record]:
    """Return records as superseded: each is true until the newer one became true."""
    start = _true_from(by)
    status = {"status": "superseded", "superseded_by": by.record_id}
    return [record.model_copy(update={**status, "valid_to": _valid_to(start, record)}) for record in group]


def in_conflict(record: Record, others: Iterable[str]) -> Record:
    """Return a record linked to others that cannot be true together with it: to the newest `MAX_CONFLICTS` at most."""
    linked = dict.fromkeys([*record.conflicts_with, *others])
    ids = [record_id for record_id in linked if record_id != record.record_id]
    return record.model_copy(update={"conflicts_with": ids[-MAX_CONFLICTS:]})


def without_conflicts(record: Record, others: Collection[str]) -> Record:
    """Return a record without its links to some others."""
    left = [record_id for record_id in record.conflicts_with if record_id not in others]
    return record.model_copy(update={"conflicts_with": left})


def conflicts_among(decisions: Iterable[Decision]) -> dict[str, list[str]]:
    """Return the ids that each record is linked to by decisions that stand, oldest decision first."""
    linked: dict[str, list[str]] = {}
    for decision in decisions:
        if decision.action == "CONFLICT" and decision.undone_at is None:
            for record_id in decision.pair:
                linked.setdefault(record_id, []).extend(other for other in decision.pair if other != record_id)
    return linked


def as_active(record: Record) -> Record:
    """Return a merged or superseded record as it was before."""
    return record.model_copy(update={"status": "active", "superseded_by": None, "valid_to": None})


def _cites_all_sources(made: Record, group: Sequence[Record]) -> bool:
    """Return whether a merged record cites every turn that its group cites."""
    return {turn_id for record in group for turn_id in record.source_turn_ids} <= set(made.source_turn_ids)


def _says_as_much(made: Record, record: Record) -> bool:
    """Return whether a merged text holds every name and number of a record it is made of, the speaker's name aside."""
    speaker = set(content_stems(record.speaker))
    names = {stem for name in proper_names(record.content) for stem in content_stems(name)} - speaker
    numbers = set(numbers_in(record.content))
    return names <= set(content_stems(made.content)) and numbers <= set(numbers_in(made.content))


def _true_from(record: Record) -> datetime | None:
    begun = instant_of(record.event_start, record.mentioned_at) if record.event_start else None
    return begun or record.valid_from or record.mentioned_at


def _valid_to(end: datetime | None, record: Record) -> datetime | None:
    """Keep the end of a record's validity from lying before its start."""
    return max(end, record.valid_from) if end and record.valid_from else end


def _last(group: Sequence[Record], name: str) -> str:
    return next((value for record in reversed(group) if (value := str(getattr(record, name)))), "")
