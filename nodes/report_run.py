"""Sum up a write run as the receipt that its caller gets."""

from langgraph_engram.results import Receipt, total
from langgraph_engram.schema import FilterCounts
from langgraph_engram.state import WriteState


def report_run(state: WriteState) -> WriteState:
    """Count what the run stored, quarantined, left pending and cost. Reads everything; sets `receipt`."""
    reloaded = set(state.get("reloaded", []))
    records = [record for record in state.get("records", []) if record.record_id not in reloaded]
    pending = {turn_id for task in state.get("failures", []) for turn_id in task.turn_ids}
    filtered = state.get("filtered", FilterCounts())
    receipt = Receipt(
        run_id=state["run_id"],
        stored_turns=0 if state["request"].retry_turn_ids else len(state["turns"]),
        known_turns=state["known_turns"],
        masked=state["request"].masked,
        refused=state["request"].refused,
        events=len(state.get("events", [])),
        records=sum(record.status != "quarantined" for record in records),
        quarantined=sum(record.status == "quarantined" for record in records),
        pending=len(pending),
        decisions=len(state.get("decisions", [])),
        boundaries=len(state.get("boundaries", [])),
        syntheses=len(state.get("synthesis_ids", [])),
        pairs_possible=filtered.possible,
        pairs_compared=filtered.compared,
        pairs_ruled_out=sum(filtered.ruled_out.values()),
        notes=list(dict.fromkeys(f"{task.step}: {task.reason}" for task in state.get("failures", []))),
        usage=total(state.get("usage", [])),
    )
    return {"receipt": receipt}
