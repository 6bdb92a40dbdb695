"""Show decisions to the person who approves them, and read the answer."""

from collections.abc import Mapping, Sequence

from langgraph_engram.results import ProposedDecision
from langgraph_engram.schema import Proposal, Record

AWAITED = "a person's approval is awaited"
REJECTED = "rejected by a person"


def describe_proposal(proposal: Proposal, known: Mapping[str, Record]) -> ProposedDecision:
    """Return a decision as a person reads it: what would go, and what would stand in its place."""
    *others, last = proposal.decision.pair
    going = others if proposal.decision.action == "SUPERSEDE" else proposal.decision.pair
    return ProposedDecision(
        decision_id=proposal.decision.decision_id,
        action=proposal.decision.action,
        old=[known[record_id].content for record_id in going if record_id in known],
        new=proposal.content or (known[last].content if last in known else ""),
        reason=proposal.decision.reason,
    )


def apply_answer(proposal: Proposal, answer: object) -> Proposal:
    """Return a proposal as it was answered; what is not approved keeps everything."""
    verdict = answer.get(proposal.decision.decision_id) if isinstance(answer, Mapping) else answer
    if verdict == "approve":
        return proposal
    rejected = {"action": "KEEP_BOTH", "reason": REJECTED, "result_id": None}
    return Proposal(decision=proposal.decision.model_copy(update=rejected), waits=proposal.waits)


def unanswered_ids(answer: object, decision_ids: Sequence[str]) -> list[str]:
    """Return the decisions that an answer does not approve or reject."""
    if isinstance(answer, Mapping):
        return [decision_id for decision_id in decision_ids if answer.get(decision_id) not in ("approve", "reject")]
    return [] if answer in ("approve", "reject") else list(decision_ids)
