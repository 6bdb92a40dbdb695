"""List the runs that wait for a person's approval, and resume them with the answer."""

from collections.abc import Mapping

from langgraph.types import Command, StateSnapshot

from langgraph_engram.consolidation.merging import unanswered_ids
from langgraph_engram.errors import InvalidInput
from langgraph_engram.graphs.write import WriteGraph
from langgraph_engram.results import Approval, Receipt
from langgraph_engram.runner import receipt_of, thread_of
from langgraph_engram.schema import Decision, Proposal, Scope
from langgraph_engram.stores.base import Store


def approvals(store: Store, graph: WriteGraph, scope: Scope) -> list[Approval]:
    """Return the runs of a scope that wait for approval, oldest first."""
    return [Approval.model_validate(state.interrupts[0].value) for state in _interrupted(store, graph, scope)]


def waiting_decisions(store: Store, graph: WriteGraph, scope: Scope) -> list[Decision]:
    """Return the decisions that wait for approval."""
    proposals: list[Proposal] = [
        proposal for state in _interrupted(store, graph, scope) for proposal in state.values["proposals"]
    ]
    return [proposal.decision for proposal in proposals]


def approve(store: Store, graph: WriteGraph, scope: Scope, run_id: str, answer: str | Mapping[str, str]) -> Receipt:
    """Resume a run with a person's answer; no model is asked again what it was asked before.

    Args:
        answer: "approve" or "reject" for all, or one of them for each decision id.

    Raises:
        InvalidInput: No such run waits here, or the answer leaves a decision open or names one that is not there.
    """
    waiting = {approval.run_id: approval for approval in approvals(store, graph, scope)}
    if run_id not in waiting:
        raise InvalidInput(
            f"run {run_id!r} waits for no approval here: approvals(), or engram approve, lists those that do"
        )
    ids = [decision.decision_id for decision in waiting[run_id].decisions]
    if missing := unanswered_ids(answer, ids):
        raise InvalidInput(f'say "approve" or "reject" of each decision: {", ".join(missing)} has neither')
    if isinstance(answer, Mapping) and (unknown := answer.keys() - set(ids)):
        raise InvalidInput(f"unknown decisions {sorted(unknown)}: this run waits for {', '.join(ids)}")
    resumed: Command[str] = Command(resume=answer if isinstance(answer, str) else dict(answer))
    return receipt_of(graph.invoke(resumed, thread_of(run_id, scope), durability="sync"))


def _interrupted(store: Store, graph: WriteGraph, scope: Scope) -> list[StateSnapshot]:
    """Return the states of the runs that wait for approval, oldest first."""
    runs = dict.fromkeys(task.run_id for task in store.pending_tasks(scope) if task.awaits_approval)
    return [state for run_id in runs if (state := graph.get_state(thread_of(run_id, scope))).interrupts]
