"""List the runs that wait for a person's approval, and resume them with the answer."""

from collections.abc import Mapping
from typing import Literal

from langgraph.types import Command, StateSnapshot

from langgraph_engram.consolidation.approval import problem_of
from langgraph_engram.errors import InvalidInput
from langgraph_engram.graphs.write import WriteGraph
from langgraph_engram.requests import check_name
from langgraph_engram.results import Approval, Receipt
from langgraph_engram.runner import WriteRunner, thread_of
from langgraph_engram.schema import Decision, Proposal, Scope
from langgraph_engram.stores.base import Store

Verdict = Literal["approve", "reject"] | bool
Answer = Verdict | Mapping[str, Verdict]
"""For all decisions, or for each by its id; True approves."""


def approvals(store: Store, graph: WriteGraph, scope: Scope) -> list[Approval]:
    """Return the runs of a scope that wait for approval, oldest first."""
    return [Approval.model_validate(state.interrupts[0].value) for state in _interrupted(store, graph, scope)]


def waiting_decisions(store: Store, graph: WriteGraph, scope: Scope) -> list[Decision]:
    """Return the decisions that wait for approval."""
    proposals: list[Proposal] = [
        proposal for state in _interrupted(store, graph, scope) for proposal in state.values["proposals"]
    ]
    return [proposal.decision for proposal in proposals]


def approve(runs: WriteRunner, scope: Scope, run_id: str, answer: Answer) -> Receipt:
    """Resume a run with a person's answer; no model is asked again what it was asked before."""
    with runs.store.writing(scope):
        waiting = {approval.run_id: approval for approval in approvals(runs.store, runs.graph, scope)}
        if check_name("run_id", run_id, "name a run") not in waiting:
            raise InvalidInput(
                f"run {run_id!r} waits for no approval here",
                command="approvals(), or engram approve, lists those that do",
            )
        ids = [decision.decision_id for decision in waiting[run_id].decisions]
        if problem := problem_of(answer, ids):
            raise InvalidInput(problem)
        resumed: Command[str] = Command(resume=dict(answer) if isinstance(answer, Mapping) else answer)
        return runs.run(scope, resumed, run_id)


def _interrupted(store: Store, graph: WriteGraph, scope: Scope) -> list[StateSnapshot]:
    """Return the states of the runs that wait for approval, oldest first."""
    runs = dict.fromkeys(task.run_id for task in store.pending_tasks(scope) if task.awaits_approval)
    return [state for run_id in runs if (state := graph.get_state(thread_of(run_id, scope))).interrupts]
