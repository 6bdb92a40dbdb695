"""Rebase what a run decided on what stands when it commits: other runs may have written since it looked.

Between a decision and its commit lie whatever wait there is for a person, and any crash that the run comes back from.
A decision about a record that was changed or forgotten meanwhile is never carried out. The run decides anew, and
where it may not, the turns of its records are pending.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from langgraph_engram.consolidation.merging import as_active, carry_out
from langgraph_engram.pending import cited_turns, pending_task
from langgraph_engram.schema import Decision, Pair, PendingTask, Proposal, Record
from langgraph_engram.stores.index import RecordIndex, ScopeIndex

CHANGED = "a record was changed before this decision was carried out"
MISSED = "another run stored a memory like these after this run had looked for near-duplicates"
MAX_ATTEMPTS = 4
"""Times that a run looks for near-duplicates before it writes what it has."""


@dataclass(frozen=True)
class AppliedDecisions:
    """What the decisions of a run make of its records, and of those that were stored before."""

    records: list[Record]
    """The run's own, with what merges made."""
    changed: list[Record] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)


def apply_decisions(proposals: Sequence[Proposal], records: Sequence[Record], stored: RecordIndex) -> AppliedDecisions:
    """Carry out decisions that hold. Doing it again changes nothing."""
    own = {record.record_id: _with_stored_conflicts(record, stored) for record in records}
    changed: dict[str, Record] = {}
    made: list[Record] = []
    for proposal in proposals:
        decision = proposal.decision
        known = {record_id: _undone(stored.get(record_id), decision) for record_id in decision.pair} | own | changed
        new, marked = carry_out(proposal, {record_id: record for record_id, record in known.items() if record})
        made += new
        changed |= {record.record_id: record for record in marked}
    others = [record for record_id, record in changed.items() if record_id not in own]
    return AppliedDecisions(
        [*(changed.get(record_id, record) for record_id, record in own.items()), *made],
        [record for record in others if record != stored.get(record.record_id)],
        [proposal.decision for proposal in proposals],
    )


def outdated_ids(proposals: Sequence[Proposal], own: Collection[str], stored: RecordIndex) -> set[str]:
    """Return the ids of the decisions about a record that is gone, or was changed by something else than this decision.

    What a decision itself has changed, in a commit that was cut off, holds; and to keep both is true of whatever became
    of either.
    """
    return {proposal.decision.decision_id for proposal in proposals if _is_outdated(proposal.decision, own, stored)}


def missed_ids(seen: Sequence[Pair], found: Sequence[Pair]) -> set[str]:
    """Return both ids of each pair of near-duplicates that a run has not seen."""
    known = {_ids(pair) for pair in seen}
    return {record_id for pair in found if _ids(pair) not in known for record_id in _ids(pair)}


def undecided_tasks(
    run_id: str,
    index: ScopeIndex,
    records: Mapping[str, Record],
    outdated: Sequence[Decision],
    missed: Collection[str],
) -> list[PendingTask]:
    """Return what a run leaves to decide that may not decide anew: each turn once."""
    decided = {record_id for decision in outdated for record_id in decision.pair}
    changed, unseen = (
        cited_turns(index, (record for record_id, record in records.items() if record_id in ids))
        for ids in (decided, missed)
    )
    left = [(changed, CHANGED), ([turn for turn in unseen if turn not in changed], MISSED)]
    return [pending_task(run_id, turns, "consolidate", reason) for turns, reason in left if turns]


def _with_stored_conflicts(record: Record, stored: RecordIndex) -> Record:
    """Return a record of a run with the conflicts that another run may have linked once it was stored."""
    found = stored.get(record.record_id)
    return record.model_copy(update={"conflicts_with": found.conflicts_with}) if found else record


def _undone(record: Record | None, decision: Decision) -> Record | None:
    """Return a stored record as it was before this decision, where a commit that was cut off has changed it."""
    is_marked = record is not None and record.superseded_by is not None and record.superseded_by == decision.result_id
    return as_active(record) if record and is_marked else record


def _is_outdated(decision: Decision, own: Collection[str], stored: RecordIndex) -> bool:
    found = {record_id: stored.get(record_id) for record_id in decision.pair}
    if decision.action == "KEEP_BOTH":
        return any(record is None and record_id not in own for record_id, record in found.items())
    return any(
        record.status != "active" and (record.superseded_by or "") != decision.result_id
        if record
        else record_id not in own
        for record_id, record in found.items()
    )


def _ids(pair: Pair) -> frozenset[str]:
    return frozenset((pair.older_id, pair.newer_id))
