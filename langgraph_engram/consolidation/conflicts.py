"""Recheck a run's decisions against what other runs have written since it looked for near-duplicates.

Between a decision and its commit lie whatever wait there is for a person, and any crash that the run comes back from.
What stands in the store when the run commits is what counts: a decision about a record that was changed is dropped,
and near-duplicates that were stored meanwhile are looked for again.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from langgraph_engram.consolidation.merging import as_active, conflicts_among, in_conflict
from langgraph_engram.consolidation.pairing import PairFinder
from langgraph_engram.pending import cited_turns, pending_task
from langgraph_engram.schema import Decision, Pair, PendingTask, Proposal, Record, Scope
from langgraph_engram.stores.index import RecordIndex, ScopeIndex

CHANGED = "a record was changed before this decision was carried out"
MISSED = "another run stored a memory like these after this run had looked for near-duplicates"
MAX_RECHECKS = 4
"""Times that a run looks for near-duplicates before it writes what it has."""


@dataclass(frozen=True)
class UpdatedRecords:
    """What a run has decided on its records and not written yet."""

    run_id: str
    records: Sequence[Record] = ()
    """The run's records, with what merges made."""
    changed: Sequence[Record] = ()
    """Older records that change."""
    decisions: Sequence[Decision] = ()
    reloaded: Collection[str] = ()
    """Ids of those of `records` that were stored before the run."""

    def without_outdated(self, index: ScopeIndex) -> "tuple[UpdatedRecords, list[PendingTask]]":
        """Return what is left without the decisions that no longer hold, and the tasks that they leave.

        Args:
            index: What stands in the store now.

        Returns:
            This object itself where every decision holds.
        """
        own = {record.record_id: record for record in self.records}
        outdated = [decision for decision in self.decisions if _is_outdated(decision, own, index.records)]
        if not outdated:
            return self, []
        made = {decision.result_id for decision in outdated if decision.action == "MERGE"}
        undone = {
            (record_id, decision.result_id)
            for decision in outdated
            if decision.result_id
            for record_id in decision.pair
        }
        left = [
            as_active(record) if (record_id, record.superseded_by) in undone else record
            for record_id, record in own.items()
            if record_id not in made
        ]
        cited = {record_id for decision in outdated for record_id in decision.pair}
        turns = cited_turns(index, (record for record in left if record.record_id in cited))
        holding = [decision for decision in self.decisions if decision not in outdated]
        held = {record_id for decision in holding if decision.action != "KEEP_BOTH" for record_id in decision.pair}
        kept = replace(
            self,
            records=left,
            changed=[
                record
                for record in self.changed
                if record.record_id in held and (record.record_id, record.superseded_by) not in undone
            ],
            decisions=holding,
        )
        return kept, [pending_task(self.run_id, turns, "consolidate", CHANGED)] if turns else []

    def relinked(self, index: ScopeIndex) -> "UpdatedRecords":
        """Return this with the conflicts that its decisions link, beside those that are stored by now.

        Args:
            index: What stands in the store now.
        """
        linked = conflicts_among(self.decisions)

        def relink(record: Record) -> Record:
            if record.derived_from:
                return record
            stored = index.records.get(record.record_id)
            known = record.model_copy(update={"conflicts_with": stored.conflicts_with if stored else []})
            return in_conflict(known, linked.get(record.record_id, []))

        changed = [relink(record) for record in self.changed]
        return replace(
            self,
            records=[relink(record) for record in self.records],
            changed=[record for record in changed if record != index.records.get(record.record_id)],
        )

    def undecided(self, index: ScopeIndex) -> list[Record]:
        """Return the run's records as they were before it decided on any; those reloaded as they stand, if they do."""
        made = {decision.result_id for decision in self.decisions if decision.action == "MERGE"}
        reloaded = [index.records.get(record_id) for record_id in self.reloaded]
        own = [
            as_active(record).model_copy(update={"conflicts_with": []})
            if record.status in ("merged", "superseded") or record.conflicts_with
            else record
            for record in self.records
            if record.record_id not in made and record.record_id not in self.reloaded
        ]
        return [*own, *(record for record in reloaded if record and record.status == "active")]

    @property
    def written(self) -> list[Record]:
        """Return the records to write: not those that were only reloaded, for another run may have changed them."""
        changed = {record.record_id for record in self.records if record.status != "active"}
        changed |= conflicts_among(self.decisions).keys()
        return [
            record for record in self.records if record.record_id not in self.reloaded or record.record_id in changed
        ]

    def may_recheck(self, index: ScopeIndex, rechecks: int, proposals: Sequence[Proposal]) -> bool:
        """Return whether the run may decide anew: not what it began to write or asked a person about, nor endlessly.

        Args:
            index: What stands in the store now.
            rechecks: How often the run has looked for near-duplicates.
            proposals: What it proposed.
        """
        is_asked = any(proposal.waits for proposal in proposals)
        return rechecks < MAX_RECHECKS and not is_asked and not self.is_half_written(index)

    def is_half_written(self, index: ScopeIndex) -> bool:
        """Return whether a commit of this run was cut off: what it began is to be finished, not decided anew."""
        own = (record.record_id for record in self.records)
        return any(record_id in index.records for record_id in own if record_id not in self.reloaded)

    def missed_ids(
        self, scope: Scope, index: ScopeIndex, finder: PairFinder, pairs: Sequence[Pair], revision: str
    ) -> set[str]:
        """Return both ids of each pair of near-duplicates that was stored since the run looked for them.

        Args:
            scope: The scope of the run.
            index: What stands in the store now.
            finder: What the run looked with.
            pairs: What it found.
            revision: The revision of the scope in which it looked.
        """
        if revision == index.revision or self.is_half_written(index):
            return set()
        seen = [{pair.older_id, pair.newer_id} for pair in pairs]
        found = [{pair.older_id, pair.newer_id} for pair in finder.find(scope, self.undecided(index)).pairs]
        return {record_id for pair in found if pair not in seen for record_id in pair}

    def missed_tasks(
        self, index: ScopeIndex, missed: Collection[str], known: Sequence[PendingTask] = ()
    ) -> list[PendingTask]:
        """Return what is left to do of a run that does not look again: the turns under its missed records.

        Args:
            index: Where the turns are stored.
            missed: What `missed_ids` returned.
            known: Tasks whose turns are pending anyway.
        """
        pending = {turn_id for task in known for turn_id in task.turn_ids}
        cited = cited_turns(index, (record for record in self.records if record.record_id in missed))
        turns = [turn for turn in cited if turn.turn_id not in pending]
        return [pending_task(self.run_id, turns, "consolidate", MISSED)] if turns else []


def _is_outdated(decision: Decision, own: Collection[str], records: RecordIndex) -> bool:
    """Return whether a record that is decided on is gone, or was changed by something else than this decision.

    What this very decision has changed, in a commit that was cut off, holds.

    Args:
        decision: The decision.
        own: Ids of the run's own records, stored or not.
        records: The stored ones.
    """
    stored = {record_id: records.get(record_id) for record_id in decision.pair}
    if decision.action == "KEEP_BOTH":
        return any(record is None and record_id not in own for record_id, record in stored.items())
    return any(
        record.status != "active" and (record.superseded_by or "") != decision.result_id
        if record
        else record_id not in own
        for record_id, record in stored.items()
    )
