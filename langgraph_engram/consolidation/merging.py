"""Carry out what was decided on records: merge them into one, let the newest supersede the others, or link them.

Nothing is deleted. Other runs may have written since the decision: one about a record that was changed or forgotten
meanwhile is never carried out. The run decides anew, and where it may not, the turns of its records are pending.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import combinations

from langgraph_engram.consolidation.pairing import are_apart_in_time
from langgraph_engram.filters import join_metadata
from langgraph_engram.pending import cited_turns, pending_task
from langgraph_engram.schema import Action, Decision, Pair, PendingTask, Proposal, Record, make_id
from langgraph_engram.stores.index import RecordIndex, ScopeIndex
from langgraph_engram.temporal.datetimes import instant_of
from langgraph_engram.text.keywords import proper_names
from langgraph_engram.text.words import content_stems, numbers_in

LOSES_SOURCE = "a merge would lose a cited source"
WITHOUT_WORDS = "a merge without words"
LEAVES_OUT = "the merged text leaves out a name or a number that one of them says"
TWO_EVENTS = "two events at two times do not merge"
MAX_CONFLICTS = 19
"""Records that one is linked to at most: a conflict of twenty statements."""
CHANGED = "a record was changed before this decision was carried out"
MISSED = "another run stored a memory like these after this run had looked for near-duplicates"
MAX_ATTEMPTS = 4
"""Times that a run looks for near-duplicates before it writes what it has."""


@dataclass(frozen=True)
class Applied:
    """What the decisions of a run make of its records, and of those that were stored before."""

    records: list[Record]
    """The run's own, with what merges made."""
    changed: list[Record]
    decisions: list[Decision]
    outdated: list[Decision]
    """Those about a record that is gone, or was changed by something else than the decision: not carried out."""


def apply_decisions(proposals: Sequence[Proposal], records: Sequence[Record], stored: RecordIndex) -> Applied:
    """Carry out the decisions that hold on a run's own records and on stored ones. Doing it again changes nothing."""
    own = {record.record_id: record for record in records}
    # Another run may have linked records of this one once they were stored.
    linked = {record_id: found.conflicts_with for record_id in own if (found := stored.get(record_id))}
    own |= {key: own[key].model_copy(update={"conflicts_with": others}) for key, others in linked.items()}
    outdated = [proposal.decision for proposal in proposals if _is_outdated(proposal.decision, own, stored)]
    holding = [proposal for proposal in proposals if proposal.decision not in outdated]
    changed: dict[str, Record] = {}
    made: list[Record] = []
    for proposal in holding:
        decision = proposal.decision
        known = (changed.get(key) or own.get(key) or _undone(stored.get(key), decision) for key in decision.pair)
        new, marked = _carry_out(proposal, {record.record_id: record for record in known if record})
        made += new
        changed |= {record.record_id: record for record in marked}
    others = [record for record_id, record in changed.items() if record_id not in own]
    return Applied(
        [*(changed.get(record_id, record) for record_id, record in own.items()), *made],
        [record for record in others if record != stored.get(record.record_id)],
        [proposal.decision for proposal in holding],
        outdated,
    )


def missed_ids(seen: Sequence[Pair], found: Sequence[Pair]) -> set[str]:
    """Return both ids of each pair of near-duplicates that a run has not seen."""
    known = {frozenset((pair.older_id, pair.newer_id)) for pair in seen}
    pairs = (frozenset((pair.older_id, pair.newer_id)) for pair in found)
    return {record_id for pair in pairs if pair not in known for record_id in pair}


def undecided_tasks(
    run_id: str, index: ScopeIndex, records: Mapping[str, Record], outdated: Sequence[Decision], missed: Collection[str]
) -> list[PendingTask]:
    """Return what a run leaves to decide that may not decide anew: each turn once."""
    decided = {record_id for decision in outdated for record_id in decision.pair}
    changed, unseen = (
        cited_turns(index, (record for record_id, record in records.items() if record_id in ids))
        for ids in (decided, missed)
    )
    left = [(changed, CHANGED), ([turn for turn in unseen if turn not in changed], MISSED)]
    return [pending_task(run_id, turns, "consolidate", reason) for turns, reason in left if turns]


def _carry_out(proposal: Proposal, known: Mapping[str, Record]) -> tuple[list[Record], list[Record]]:
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
    dimensions = {name: _last(group, name) for name in ("time_text", "location", "reason", "purpose", "lasting")}
    made = newest.model_copy(
        update={
            **dimensions,
            "conflicts_with": [],
            "record_id": make_id("merge", *sorted(ids)),
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


def objection_to_merge(group: Sequence[Record], made: Record, *, verify: bool = True) -> str:
    """Return why records must not be merged into `made`, if `verify` by its words as well; empty if they may."""
    if not made.content:
        return WITHOUT_WORDS
    if any(are_apart_in_time(first, second) for first, second in combinations(group, 2)):
        return TWO_EVENTS
    if not {turn_id for record in group for turn_id in record.source_turn_ids} <= set(made.source_turn_ids):
        return LOSES_SOURCE
    return LEAVES_OUT if verify and not all(_says_as_much(made, record) for record in group) else ""


def as_merged(group: Sequence[Record], made: Record) -> list[Record]:
    """Return the records of a group as parts of the one made of them; how long they are true does not change."""
    return [record.model_copy(update={"status": "merged", "superseded_by": made.record_id}) for record in group]


def as_superseded(group: Sequence[Record], by: Record) -> list[Record]:
    """Return records as superseded: each is true until the newer one became true, or until it was true itself."""
    begun = instant_of(by.event_start, by.mentioned_at) if by.event_start else None
    end = begun or by.valid_from or by.mentioned_at
    status = {"status": "superseded", "superseded_by": by.record_id}
    ends = (max(end, record.valid_from) if end and record.valid_from else end for record in group)
    return [record.model_copy(update={**status, "valid_to": at}) for record, at in zip(group, ends, strict=True)]


def in_conflict(record: Record, others: Iterable[str]) -> Record:
    """Return a record linked to others that cannot be true together with it: to the newest `MAX_CONFLICTS` at most."""
    linked = dict.fromkeys([*record.conflicts_with, *others])
    ids = [record_id for record_id in linked if record_id != record.record_id]
    return record.model_copy(update={"conflicts_with": ids[-MAX_CONFLICTS:]})


def without_conflicts(record: Record, others: Collection[str]) -> Record:
    """Return a record without its links to some others."""
    left = [record_id for record_id in record.conflicts_with if record_id not in others]
    return record.model_copy(update={"conflicts_with": left})


def decided(
    run_id: str, group: Sequence[Record], action: Action, reason: str, result_id: str | None, pairs: Sequence[Pair] = ()
) -> Decision:
    """Return a decision of a run on some records, with the least likeness of `pairs`, those among them."""
    ids = [record.record_id for record in group]
    return Decision(
        decision_id=make_id("decision", run_id, *sorted(ids)),
        run_id=run_id,
        pair=ids,
        jaccard=min((pair.jaccard for pair in pairs), default=0.0),
        cosine=min((pair.cosine for pair in pairs), default=0.0),
        action=action,
        reason=reason,
        result_id=result_id,
        decided_at=datetime.now(UTC),
    )


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


def _undone(record: Record | None, decision: Decision) -> Record | None:
    """Return a stored record as it was before this decision, where a commit that was cut off has changed it."""
    is_marked = record is not None and record.superseded_by is not None and record.superseded_by == decision.result_id
    return as_active(record) if record and is_marked else record


def _is_outdated(decision: Decision, own: Collection[str], stored: RecordIndex) -> bool:
    """Return whether a record is gone, or was marked by another decision; keeping both holds whatever became of it."""
    found = {record_id: stored.get(record_id) for record_id in decision.pair}
    if any(record is None and record_id not in own for record_id, record in found.items()):
        return True
    marks = [record.superseded_by or "" for record in found.values() if record and record.status != "active"]
    return decision.action != "KEEP_BOTH" and any(mark != decision.result_id for mark in marks)


def _says_as_much(made: Record, record: Record) -> bool:
    """Return whether a merged text holds every name and number of a record it is made of, the speaker's name aside."""
    speaker = set(content_stems(record.speaker))
    names = {stem for name in proper_names(record.content) for stem in content_stems(name)} - speaker
    numbers = set(numbers_in(record.content))
    return names <= set(content_stems(made.content)) and numbers <= set(numbers_in(made.content))


def _last(group: Sequence[Record], name: str) -> object:
    return next((value for record in reversed(group) if (value := getattr(record, name))), getattr(group[-1], name))
