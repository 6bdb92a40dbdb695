"""Wire what stands before the first step where a graph is served: a step that says whose request it is."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from langgraph.graph import START, StateGraph


@dataclass(frozen=True)
class Door:
    """What clients send to a served graph, and the step that takes it in."""

    step: Callable[..., Any]
    """Takes the state; returns the request as the first step reads it."""
    input_schema: type
    context_schema: type


STEP = "identify"


def begin_with(graph: StateGraph[Any, Any, Any, Any], door: Door | None, first: str) -> None:
    """Begin with the door, where there is one, then with `first`."""
    if door is None:
        graph.add_edge(START, first)
        return
    graph.add_node(STEP, door.step)
    graph.add_edge(START, STEP)
    graph.add_edge(STEP, first)
