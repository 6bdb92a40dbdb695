"""Show a person the decisions that wait, and read what they answer.

An answer is for all decisions or, as a mapping, for each by its id. "approve", "yes", True and {"approve": True}
approve; "reject", "no", False and {"approve": False} reject; {"decisions": [{"type": "approve"}]}, as LangChain's
human-in-the-loop middleware is answered, does either. Anything else is no answer.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeGuard

from langgraph_engram.results import ProposedDecision
from langgraph_engram.schema import Proposal, Record

AWAITED = "a person's approval is awaited"
REJECTED = "rejected by a person"
ANSWERS = 'Answer "approve" or "reject" for all decisions, or {decision_id: "approve" or "reject"} for each of them.'
APPROVING, REJECTING = ("approve", "yes"), ("reject", "no")


def describe_proposal(proposal: Proposal, known: Mapping[str, Record]) -> ProposedDecision:
    """Return a decision as a person reads it: what stands, and what would take its place or contradict it."""
    *others, last = proposal.decision.pair
    going = proposal.decision.pair if proposal.decision.action == "MERGE" else others
    return ProposedDecision(
        decision_id=proposal.decision.decision_id,
        action=proposal.decision.action,
        old=[known[record_id].content for record_id in going if record_id in known],
        new=proposal.content or (known[last].content if last in known else ""),
        reason=proposal.decision.reason,
    )


def problem_of(answer: object, decision_ids: Sequence[str]) -> str:
    """Return why an answer does not decide all of these decisions and no others; empty where it does."""
    if not _is_by_id(answer):
        return "" if read_verdict(answer) is not None else f"{answer!r} is no answer. {ANSWERS}"
    open_ids = [decision_id for decision_id in decision_ids if read_verdict(answer.get(decision_id)) is None]
    if open_ids:
        return f'say "approve" or "reject" of each decision: {", ".join(open_ids)} has neither'
    unknown = sorted(map(str, answer.keys() - set(decision_ids)))
    return f"unknown decisions {unknown}: this run waits for {', '.join(decision_ids)}" if unknown else ""


def apply_answer(proposals: Iterable[Proposal], answer: object) -> list[Proposal]:
    """Return proposals as an answer without a problem has them: those that waited and are rejected keep everything."""
    return [_answered(proposal, answer) if proposal.waits else proposal for proposal in proposals]


def _answered(proposal: Proposal, answer: object) -> Proposal:
    if read_verdict(answer.get(proposal.decision.decision_id) if _is_by_id(answer) else answer):
        return proposal
    rejected = {"action": "KEEP_BOTH", "reason": REJECTED, "result_id": None}
    return Proposal(decision=proposal.decision.model_copy(update=rejected), waits=proposal.waits)


def _is_by_id(answer: object) -> TypeGuard[Mapping[str, object]]:
    return isinstance(answer, Mapping) and _unwrapped(answer) is answer


def read_verdict(answer: object) -> bool | None:
    """Return whether an answer for one thing approves; None for what is no answer."""
    answer = _unwrapped(answer)
    if isinstance(answer, bool):
        return answer
    word = answer.strip().casefold() if isinstance(answer, str) else ""
    return True if word in APPROVING else False if word in REJECTING else None


def _unwrapped(answer: object) -> object:
    """Return what a mapping answers for all; anything else as it is."""
    match answer:
        case {"approve": verdict, **rest} | {"decisions": [{"type": verdict}], **rest} if not rest:
            return verdict
    return answer
