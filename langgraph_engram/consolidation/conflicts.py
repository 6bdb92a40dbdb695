"""Drop the decisions of a run about records that another run has changed since: they are to be made again.

Between a decision and its commit lie whatever wait there is for a person, and any crash that the run comes back from.
What stands in the store when the run commits is what counts.
"""

from collections.abc import Collection, Sequence
from typing import cast

from langgraph.types import Overwrite

from langgraph_engram.consolidation.merging import as_active
from langgraph_engram.nodes.filter_candidates import FilterCandidates
from langgraph_engram.pending import pending_task, turns_under
from langgraph_engram.schema import Decision, PendingTask, Record
from langgraph_engram.state import WriteState
from langgraph_engram.stores.index import RecordIndex, ScopeIndex

CHANGED = "a record was changed before this decision was carried out"


def without_outdated(state: WriteState, index: ScopeIndex) -> WriteState:
    """Give what a run writes without the decisions that no longer hold, and the pending that they leave.

    Args:
        state: The run's records and decisions, carried out.
        index: What stands in the store now.

    Returns:
        `records`, `changed`, `decisions` and further `failures`; nothing where every decision holds.
    """
    own = {record.record_id: record for record in state.get("records", [])}
    decisions = state.get("decisions", [])
    outdated = [one for one in decisions if is_outdated(one, own, index.records)]
    if not outdated:
        return {}
    made = {one.result_id for one in outdated if one.action == "MERGE"}
    closed = {(one, decision.result_id) for decision in outdated if decision.result_id for one in decision.pair}
    left = [
        as_active(record) if (one, record.superseded_by) in closed else record
        for one, record in own.items()
        if one not in made
    ]
    cited = {one for decision in outdated for one in decision.pair}
    turns = turns_under(index, (record for record in left if record.record_id in cited))
    return {
        "records": left,
        "changed": [one for one in state.get("changed", []) if (one.record_id, one.superseded_by) not in closed],
        "decisions": [one for one in decisions if one not in outdated],
        "failures": [pending_task(state["run_id"], turns, "consolidate", CHANGED)] if turns else [],
    }


def is_outdated(decision: Decision, own: Collection[str], shelf: RecordIndex) -> bool:
    """Say whether a record that is decided on is gone, or is to change and stored as something else changed it.

    What this very decision has changed, in a commit that was cut off, holds.
    """
    stored = {one: shelf.get(one) for one in decision.pair}
    if decision.action == "KEEP_BOTH":
        return any(record is None and one not in own for one, record in stored.items())
    return any(
        record.status != "active" and record.superseded_by != decision.result_id if record else one not in own
        for one, record in stored.items()
    )


MISSED = "another run stored a memory like these after this run had looked for look-alikes"
MAX_RECHECKS = 4
"""Times that a run looks for look-alikes before it writes what it has."""


def missed_ids(state: WriteState, index: ScopeIndex, look: FilterCandidates) -> set[str]:
    """Give the ids of records of look-alike pairs that were stored since the run looked for them.

    Args:
        state: The run's records and decisions, carried out.
        index: What stands in the store now.
        look: What the run looked for look-alikes with.

    Returns:
        Both ids of each pair; none where nothing was written meanwhile.
    """
    if state.get("checked_revision", index.revision) == index.revision or is_half_written(state, index):
        return set()
    seen = [{pair.older_id, pair.newer_id} for pair in state.get("pairs", [])]
    found = [
        {pair.older_id, pair.newer_id} for pair in look({**state, "records": undecided_records(state, index)})["pairs"]
    ]
    return {one for pair in found if pair not in seen for one in pair}


def may_recheck(state: WriteState, index: ScopeIndex) -> bool:
    """Say whether a run may decide anew: not what it has begun to write or asked a person about, and not endlessly."""
    asked = any(one.waits for one in state.get("proposals", []))
    return state.get("rechecks", 0) < MAX_RECHECKS and not asked and not is_half_written(state, index)


def recheck(state: WriteState, index: ScopeIndex) -> WriteState:
    """Give what a run goes on with: its records as they were before it decided on any, and nothing decided."""
    failures = [one for one in state.get("failures", []) if one.step != "consolidate"]
    return {
        "records": undecided_records(state, index),
        "proposals": [],
        "recheck": True,
        "changed": [],
        "decisions": [],
        "failures": cast(list[PendingTask], Overwrite(failures)),
    }


def missed_tasks(
    state: WriteState, index: ScopeIndex, ids: Collection[str], noted: Sequence[PendingTask] = ()
) -> list[PendingTask]:
    """Give what is pending of a run that does not look again: the turns under those of its records.

    Args:
        state: The run's records.
        index: Where the turns are.
        ids: What `overlooked_ids` gave.
        noted: What is pending anyway.
    """
    known = {turn_id for one in noted for turn_id in one.turn_ids}
    cited = turns_under(index, (record for record in state["records"] if record.record_id in ids))
    turns = [turn for turn in cited if turn.turn_id not in known]
    return [pending_task(state["run_id"], turns, "consolidate", MISSED)] if turns else []


def undecided_records(state: WriteState, index: ScopeIndex) -> list[Record]:
    """Give a run's records as they were before it decided on any; those it took up as they stand, if they do."""
    made = {one.result_id for one in state.get("decisions", []) if one.action == "MERGE"}
    reloaded = {one: index.records.get(one) for one in state.get("reloaded", [])}
    own = [
        as_active(one) if one.status in ("merged", "superseded") else one
        for one in state["records"]
        if one.record_id not in made and one.record_id not in reloaded
    ]
    return [*own, *(one for one in reloaded.values() if one and one.status == "active")]


def is_half_written(state: WriteState, index: ScopeIndex) -> bool:
    """Say whether a commit of this run was cut off: what it began is to be finished, not decided anew."""
    reloaded = set(state.get("reloaded", []))
    own = (one.record_id for one in state.get("records", []))
    return any(one in index.records for one in own if one not in reloaded)
