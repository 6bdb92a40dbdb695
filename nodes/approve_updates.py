"""Wait for a person's approval of the decisions that are marked as waiting; nothing is asked of a model here.

The run stops at an interrupt, once, and goes on with `Command(resume=...)`: a word for all decisions, or one for each
by its id. What is not approved keeps everything. Until then the run's turns are stored and pending.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from langgraph.types import interrupt

from langgraph_engram.pending import pending_task
from langgraph_engram.results import ProposedDecision
from langgraph_engram.schema import APPROVAL, Proposal, Record
from langgraph_engram.state import WriteState
from langgraph_engram.stores.base import Changes, Store

AWAITED = "a person's approval is awaited"
REJECTED = "rejected by a person"


@dataclass(frozen=True)
class ApproveUpdates:
    """Ask a person. Reads `run_id`, `request`, `turns`, `records`, `proposals`; changes `proposals`."""

    store: Store

    def __call__(self, state: WriteState) -> WriteState:
        """Return the proposals, those that a person rejected as keeping everything.

        What stands before the interrupt is done again when the run goes on.
        """
        waiting = [one for one in state["proposals"] if one.waits]
        scope = state["request"].scope
        shelf = self.store.index(scope).records
        own = {record.record_id: record for record in state["records"]}
        cited = {one for proposal in waiting for one in proposal.decision.pair}
        known = {one: record for one in cited if (record := own.get(one) or shelf.get(one))}
        if state["turns"]:
            self.store.commit(
                scope, Changes(pending_tasks=[pending_task(state["run_id"], state["turns"], APPROVAL, AWAITED)])
            )
        shown = [describe(one, known).model_dump(mode="json") for one in waiting]
        answer: object = interrupt({"run_id": state["run_id"], "decisions": shown})
        return {"proposals": [_answered(one, answer) if one in waiting else one for one in state["proposals"]]}


def describe(proposal: Proposal, known: Mapping[str, Record]) -> ProposedDecision:
    """Show a decision as a person reads it: what would go, and what would stand, of what is still kept."""
    *others, last = proposal.decision.pair
    going = others if proposal.decision.action == "SUPERSEDE" else proposal.decision.pair
    return ProposedDecision(
        decision_id=proposal.decision.decision_id,
        action=proposal.decision.action,
        old=[known[one].content for one in going if one in known],
        new=proposal.content or (known[last].content if last in known else ""),
        reason=proposal.decision.reason,
    )


def unanswered(answer: object, decision_ids: Sequence[str]) -> list[str]:
    """Give the decisions that an answer says nothing of."""
    if isinstance(answer, Mapping):
        return [one for one in decision_ids if answer.get(one) not in ("approve", "reject")]
    return [] if answer in ("approve", "reject") else list(decision_ids)


def _answered(proposal: Proposal, answer: object) -> Proposal:
    said = answer.get(proposal.decision.decision_id) if isinstance(answer, Mapping) else answer
    if said == "approve":
        return proposal
    kept = {"action": "KEEP_BOTH", "reason": REJECTED, "result_id": None}
    return Proposal(decision=proposal.decision.model_copy(update=kept), waits=proposal.waits)
