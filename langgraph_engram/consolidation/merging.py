"""Carry out a ruling on records: merge them into one, or let the newest supersede the others. Nothing is deleted.

This module does not know who decided.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from langgraph_engram.consolidation.triage import are_apart_in_time
from langgraph_engram.schema import Proposal, Record, make_id
from langgraph_engram.temporal.datetimes import instant_of
from langgraph_engram.text.names import numbers_in, proper_names
from langgraph_engram.text.tokens import content_stems

LOSES_SOURCE = "a merge would lose a cited source"
WITHOUT_WORDS = "a merge without words"
LEAVES_OUT = "the merged text leaves out a name or a number that one of them says"
TWO_EVENTS = "two events at two times do not merge"


def objection_to_merge(group: Sequence[Record], made: Record) -> str:
    """Say why records must not be merged into `made`; empty if they may (DimMem section 3.4; DESIGN, step 6)."""
    if not made.content:
        return WITHOUT_WORDS
    if any(are_apart_in_time(one, other) for place, one in enumerate(group) for other in group[:place]):
        return TWO_EVENTS
    if not conserves(group, made):
        return LOSES_SOURCE
    return "" if all(says_as_much(made, one) for one in group) else LEAVES_OUT


def merged(group: Sequence[Record], content: str) -> Record:
    """Make one record of several, oldest first.

    It has the union of sources and keywords, the widest span of time, and the newest's place and other dimensions;
    where the newest has none, the last that has one gives it.
    """
    newest = group[-1]
    ids = [record.record_id for record in group]
    told = {name: _last(group, name) for name in ("time_text", "location", "reason", "purpose")}
    return newest.model_copy(
        update={
            **told,
            "record_id": make_id("merge", *sorted(ids)),
            "content": content,
            "derived_from": ids,
            "source_turn_ids": list(dict.fromkeys(one for record in group for one in record.source_turn_ids)),
            "keywords": list(dict.fromkeys(word for record in group for word in record.keywords)),
            "event_start": min((one.event_start for one in group if one.event_start), default=None),
            "event_end": max((one.event_end for one in group if one.event_end), default=None),
            "valid_from": min((one.valid_from for one in group if one.valid_from), default=None),
        }
    )


def conserves(group: Sequence[Record], made: Record) -> bool:
    """Say whether a merged record cites every turn that its group cites."""
    return {one for record in group for one in record.source_turn_ids} <= set(made.source_turn_ids)


def says_as_much(made: Record, one: Record) -> bool:
    """Say whether a merged text holds every name and number of a record that it is made of, its speaker aside."""
    own = set(content_stems(one.speaker))
    named = {stem for name in proper_names(one.content) for stem in content_stems(name)} - own
    return named <= set(content_stems(made.content)) and set(numbers_in(one.content)) <= set(numbers_in(made.content))


def as_merged(group: Sequence[Record], made: Record) -> list[Record]:
    """Give the records of a group as parts of the one made of them; how long they are true does not change."""
    return [one.model_copy(update={"status": "merged", "superseded_by": made.record_id}) for one in group]


def as_superseded(group: Sequence[Record], by: Record) -> list[Record]:
    """Give records as superseded: each is true until the newer one became true."""
    return [
        one.model_copy(
            update={"status": "superseded", "superseded_by": by.record_id, "valid_to": _no_earlier(_true_from(by), one)}
        )
        for one in group
    ]


def as_active(record: Record) -> Record:
    """Give a merged or superseded record as it was before."""
    return record.model_copy(update={"status": "active", "superseded_by": None, "valid_to": None})


def _true_from(record: Record) -> datetime | None:
    begun = instant_of(record.event_start, record.mentioned_at) if record.event_start else None
    return begun or record.valid_from or record.mentioned_at


def _no_earlier(end: datetime | None, record: Record) -> datetime | None:
    """Keep the end of a record's validity from lying before its start."""
    return max(end, record.valid_from) if end and record.valid_from else end


def _last(group: Sequence[Record], name: str) -> str:
    return next((value for record in reversed(group) if (value := str(getattr(record, name)))), "")


def carry_out(proposal: Proposal, known: Mapping[str, Record]) -> tuple[list[Record], list[Record]]:
    """Give the records that a decision makes, and those that it marks; neither where one of its records is gone."""
    group = [known[one] for one in proposal.decision.pair if one in known]
    if len(group) < len(proposal.decision.pair):
        return [], []
    match proposal.decision.action:
        case "MERGE":
            made = merged(group, proposal.content)
            return [made], as_merged(group, made)
        case "SUPERSEDE":
            return [], as_superseded(group[:-1], group[-1])
    return [], []
