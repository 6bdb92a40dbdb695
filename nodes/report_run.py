"""Sum up a write run as the receipt that its caller gets."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from langgraph_engram.pending import tasks_to_do
from langgraph_engram.results import Receipt, total
from langgraph_engram.schema import PendingTask
from langgraph_engram.state import WriteState
from langgraph_engram.stores.base import Store


@dataclass(frozen=True, slots=True)
class ReportRun:
    """Count what the run stored, quarantined, left pending and cost. Reads everything; sets `receipt`.

    Where turns were known, what is pending of their sessions is told too: sent again, it is no more done than before.
    """

    store: Store

    def __call__(self, state: WriteState) -> WriteState:
        """Return the receipt."""
        tasks = self.store.pending_tasks(state["request"].scope) if state["known_turns"] else []
        left = [task for task in tasks_to_do(tasks) if task.session_id in state["session_ids"]]
        return {"receipt": receipt_of(state, left)}


def receipt_of(state: WriteState, left: Sequence[PendingTask] = ()) -> Receipt:
    """Return the receipt of what a run did, and of what it and others left."""
    records, failures, filtered = state["records"], [*state["failures"], *left], state["filtered"]
    why = Counter(turn.withdrawn for turn in state["followed"])
    return Receipt(
        run_id=state["run_id"],
        stored_turns=state["stored_turns"],
        known_turns=state["known_turns"],
        edited_turns=why["edited"],
        withdrawn_turns=why["removed"] + why["abandoned"],
        restored_turns=why[None],
        masked=state["request"].masked,
        refused=state["request"].refused,
        events=len(state["events"]),
        records=sum(record.status != "quarantined" for record in records),
        quarantined=sum(record.status == "quarantined" for record in records),
        pending=len({turn_id for task in failures for turn_id in task.turn_ids}),
        decisions=len(state["decisions"]),
        boundaries=len(state["boundaries"]),
        syntheses=len(state["synthesis_ids"]),
        pairs_possible=filtered.possible,
        pairs_compared=filtered.compared,
        pairs_ruled_out=sum(filtered.ruled_out.values()),
        notes=list(dict.fromkeys(f"{task.step}: {task.reason}" for task in failures)),
        usage=total(state["usage"]),
    )
