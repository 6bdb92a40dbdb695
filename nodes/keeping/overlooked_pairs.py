"""See look-alikes that a run could not see: another run stored them after this one had looked.

Runs of one user may overlap on a server, and one that was cut off may come back after others wrote. Both would leave
"I live in Porto" beside "I live in Lisbon" and say nothing. So the run looks again and decides on everything anew;
where it has looked often enough, or a person was asked about what it decided, what is left is pending for a retry.
"""

from langgraph_engram.nodes.consolidating.filter_candidates import FilterCandidates
from langgraph_engram.nodes.consolidating.revise import as_active
from langgraph_engram.nodes.keeping.receive import pend
from langgraph_engram.nodes.keeping.source_turns import turns_under
from langgraph_engram.schema import Pending
from langgraph_engram.state import WriteState
from langgraph_engram.stores.scope_index import ScopeIndex

OVERLOOKED = "another run stored a memory like these after this run had looked for look-alikes"
MOST_LOOKS = 4
"""Times that a run looks for look-alikes before it writes what it has."""


def overlooked_ids(state: WriteState, index: ScopeIndex, look: FilterCandidates) -> set[str]:
    """Give the ids of records of look-alike pairs that were stored since the run looked for them.

    Args:
        state: The run's records and decisions, carried out.
        index: What stands in the store now.
        look: What the run looked for look-alikes with.

    Returns:
        Both ids of each pair; none where nothing was written meanwhile.
    """
    if state.get("looked_at", index.revision) == index.revision:
        return set()
    known = [{pair.older_id, pair.newer_id} for pair in state.get("pairs", [])]
    decided = [*known, *(set(decision.pair) for decision in state.get("decisions", []))]
    found = [{pair.older_id, pair.newer_id} for pair in look(state)["pairs"]]
    return {one for pair in found if not any(pair <= other for other in decided) for one in pair}


def may_look_again(state: WriteState) -> bool:
    """Say whether a run may decide anew: not endlessly, and not on what a person has been asked."""
    return state.get("looks", 0) < MOST_LOOKS and not any(one.waits for one in state.get("proposals", []))


def undecided(state: WriteState) -> WriteState:
    """Give a run's records as they were before it decided on any."""
    made = {one.result_id for one in state.get("decisions", []) if one.action == "MERGE"}
    records = [
        as_active(one) if one.status in ("merged", "superseded") else one
        for one in state["records"]
        if one.record_id not in made
    ]
    return {"records": records, "changed": [], "decisions": [], "proposals": []}


def overlooked(state: WriteState, index: ScopeIndex, ids: set[str]) -> list[Pending]:
    """Give what is pending of a run that does not look again: the turns under those of its records."""
    turns = turns_under(index, (record for record in state["records"] if record.record_id in ids))
    return [pend(state["run_id"], turns, "consolidate", OVERLOOKED)] if turns else []
