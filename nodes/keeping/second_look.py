"""See look-alikes that a run could not see: another run stored them after this one had looked.

Runs of one user may overlap on a server, and one that was cut off may come back after others wrote. Both would leave
"I live in Porto" beside "I live in Lisbon" and say nothing. So the run looks again and decides on everything anew;
where it has looked often enough, or a person was asked about what it decided, what is left is pending for a retry.
"""

from collections.abc import Collection, Sequence
from typing import cast

from langgraph.types import Overwrite

from langgraph_engram.nodes.consolidating.filter_candidates import FilterCandidates
from langgraph_engram.nodes.consolidating.revise import as_active
from langgraph_engram.nodes.keeping.receive import pend
from langgraph_engram.nodes.keeping.source_turns import turns_under
from langgraph_engram.schema import Pending, Record
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
    if state.get("looked_at", index.revision) == index.revision or is_half_written(state, index):
        return set()
    seen = [{pair.older_id, pair.newer_id} for pair in state.get("pairs", [])]
    found = [{pair.older_id, pair.newer_id} for pair in look({**state, "records": drawn(state, index)})["pairs"]]
    return {one for pair in found if pair not in seen for one in pair}


def may_look_again(state: WriteState, index: ScopeIndex) -> bool:
    """Say whether a run may decide anew: not what it has begun to write or asked a person about, and not endlessly."""
    asked = any(one.waits for one in state.get("proposals", []))
    return state.get("looks", 0) < MOST_LOOKS and not asked and not is_half_written(state, index)


def look_again(state: WriteState, index: ScopeIndex) -> WriteState:
    """Give what a run goes on with: its records as they were before it decided on any, and nothing decided."""
    failures = [one for one in state.get("failures", []) if one.step != "consolidate"]
    return {
        "records": drawn(state, index),
        "proposals": [],
        "looks_again": True,
        "changed": [],
        "decisions": [],
        "failures": cast(list[Pending], Overwrite(failures)),
    }


def overlooked(
    state: WriteState, index: ScopeIndex, ids: Collection[str], noted: Sequence[Pending] = ()
) -> list[Pending]:
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
    return [pend(state["run_id"], turns, "consolidate", OVERLOOKED)] if turns else []


def drawn(state: WriteState, index: ScopeIndex) -> list[Record]:
    """Give a run's records as they were before it decided on any; those it took up as they stand, if they do."""
    made = {one.result_id for one in state.get("decisions", []) if one.action == "MERGE"}
    taken_up = {one: index.records.get(one) for one in state.get("taken_up", [])}
    own = [
        as_active(one) if one.status in ("merged", "superseded") else one
        for one in state["records"]
        if one.record_id not in made and one.record_id not in taken_up
    ]
    return [*own, *(one for one in taken_up.values() if one and one.status == "active")]


def is_half_written(state: WriteState, index: ScopeIndex) -> bool:
    """Say whether a commit of this run was cut off: what it began is to be finished, not decided anew."""
    taken_up = set(state.get("taken_up", []))
    own = (one.record_id for one in state.get("records", []))
    return any(one in index.records for one in own if one not in taken_up)
