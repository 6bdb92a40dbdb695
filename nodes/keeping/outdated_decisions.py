"""Drop the decisions of a run about records that another run has changed since: they are to be made again.

Between a decision and its commit lie whatever wait there is for a person, and any crash that the run comes back from.
What stands in the store when the run commits is what counts.
"""

from collections.abc import Collection

from langgraph_engram.nodes.consolidating.revise import as_active
from langgraph_engram.nodes.keeping.receive import pend
from langgraph_engram.nodes.keeping.source_turns import turns_under
from langgraph_engram.schema import Decision
from langgraph_engram.state import WriteState
from langgraph_engram.stores.scope_index import RecordShelf, ScopeIndex

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
        "failures": [pend(state["run_id"], turns, "consolidate", CHANGED)] if turns else [],
    }


def is_outdated(decision: Decision, own: Collection[str], shelf: RecordShelf) -> bool:
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
