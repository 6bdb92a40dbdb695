"""The served graph that improves a user's memory, for schedules: a run spends a budget on what was written free."""

from typing import TYPE_CHECKING, Any

from langgraph.graph.state import CompiledStateGraph, StateGraph
from typing_extensions import TypedDict

from langgraph_engram.integrations.identity import RunContext, resolve_scope

if TYPE_CHECKING:
    from langgraph_engram.memory import Memory

ImproveGraph = CompiledStateGraph[Any, RunContext, Any, Any]


class ImproveInput(TypedDict, total=False):
    """What a run may spend."""

    budget: int


class ImproveState(ImproveInput):
    """That, and what came of it."""

    receipt: dict[str, Any]
    """The fields of the `Receipt`."""


def build_improve_graph(memory: "Memory") -> ImproveGraph:
    """Build a graph of one node, which calls `Memory.improve` for whom the run is about."""

    def improve(state: ImproveInput) -> dict[str, Any]:
        receipt = memory.improve(**dict(resolve_scope()), **state)
        return {"receipt": receipt.model_dump(mode="json")}

    graph = StateGraph(ImproveState, RunContext, input_schema=ImproveInput)
    graph.add_node("improve", improve)
    graph.set_entry_point("improve")
    return graph.compile(name="improve")
