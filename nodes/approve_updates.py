"""Wait for a person's approval of the decisions that are marked as waiting.

The run stops at an interrupt, and goes on with `Command(resume=...)`: "approve" or "reject" for all decisions, or for
each by its id. What is no answer is refused, and asked again. Until then the run's turns are stored and pending.
"""

from dataclasses import dataclass

from langgraph.types import interrupt

from langgraph_engram.consolidation.approval import ANSWERS, AWAITED, apply_answer, describe_proposal, problem_of
from langgraph_engram.pending import pending_tasks_for, turns_of
from langgraph_engram.schema import APPROVAL
from langgraph_engram.state import WriteState
from langgraph_engram.stores.base import Changes, Store


@dataclass(frozen=True)
class ApproveUpdates:
    """Ask a person. Reads `run_id`, `tasks`, `records`, `proposals`; changes `proposals`."""

    store: Store

    def __call__(self, state: WriteState) -> WriteState:
        """Return the proposals, those that a person rejected as keeping everything."""
        scope = state["request"].scope
        index = self.store.index(scope)
        own = {record.record_id: record for record in state["records"]}
        waiting = [proposal for proposal in state["proposals"] if proposal.waits]
        cited = {record_id for proposal in waiting for record_id in proposal.decision.pair}
        found = {record_id: own.get(record_id) or index.records.get(record_id) for record_id in cited}
        known = {record_id: record for record_id, record in found.items() if record}
        tasks = pending_tasks_for(state["run_id"], APPROVAL, [(turns_of(state["tasks"], index), AWAITED)])
        self.store.commit(scope, Changes(pending_tasks=tasks))
        shown = [describe_proposal(proposal, known).model_dump(mode="json") for proposal in waiting]
        ids = [proposal.decision.decision_id for proposal in waiting]
        asked = {"run_id": state["run_id"], "decisions": shown, "answers": ANSWERS}
        answer: object = interrupt(asked)
        while problem := problem_of(answer, ids):
            answer = interrupt({**asked, "problem": problem})
        return {"proposals": apply_answer(state["proposals"], answer)}
