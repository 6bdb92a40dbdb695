"""Add steps to a graph so that each tells when it begins and ends, and is tried again where the store's trouble passed.

What is told are custom events of LangGraph (`stream_mode="custom"`): whose step it is, how long it took and how much of
what it gave; never a word of a memory. Without anybody who streams they go nowhere. This module does not know what any
step does.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Self

from langgraph.graph import START, StateGraph
from langgraph.types import RetryPolicy, StreamWriter
from langgraph.typing import InputT, OutputT, StateT

from langgraph_engram.errors import StoreFailed, StoreUnreachable
from langgraph_engram.results import UsageEntry

PASSING_TROUBLE = RetryPolicy(initial_interval=0.2, max_attempts=3, retry_on=(StoreUnreachable, StoreFailed))
"""Steps are done twice as if done once. Bad input is no such trouble, nor is what a model got wrong."""
COUNTED = {
    "turns": "turns",
    "events": "events",
    "boundaries": "boundaries",
    "records": "records",
    "pairs": "candidates",
    "proposals": "proposals",
    "changed": "changed",
    "decisions": "decisions",
    "synthesis_ids": "syntheses",
    "evidence": "evidence",
    "selected_ids": "selected",
    "pool": "pool",
}
"""Lists of the states that are counted when a step gives them, and what the count is called."""


@dataclass(frozen=True)
class Watched:
    """A step that tells when it begins and ends, as dicts of plain JSON.

    Both have `graph`, `step` and `status`: "started", and "done" with `seconds`, the counts of what the step gave, and
    the `calls` and `tokens` that a model took for it. A step that fails, or waits for a person, is not done.
    """

    graph: str
    step: str
    action: Callable[[Any], Mapping[str, Any]]

    def __call__(self, state: Any, writer: StreamWriter) -> Mapping[str, Any]:
        """Do the step."""
        about = {"graph": self.graph, "step": self.step}
        writer({**about, "status": "started"})
        start = perf_counter()
        update = self.action(state)
        writer({**about, "status": "done", "seconds": perf_counter() - start, **counts_in(update)})
        return update


class WatchedGraph(StateGraph[StateT, None, InputT, OutputT]):
    """A state graph of watched steps."""

    def __init__(
        self,
        name: str,
        state_schema: type[StateT],
        context_schema: type[Any] | None = None,
        *,
        input_schema: type[InputT],
    ) -> None:
        """Start without steps.

        Args:
            name: What its events call the graph.
            state_schema: The state that travels along its edges.
            context_schema: What its callers may say of a run, where they may say anything.
            input_schema: What it is called with.
        """
        super().__init__(state_schema, context_schema, input_schema=input_schema)
        self.name = name

    def add_node(self, node: Any, action: Any = None, **options: Any) -> Self:
        """Add a step under its name; options are LangGraph's."""
        return super().add_node(node, Watched(self.name, node, action), **{"retry_policy": PASSING_TROUBLE, **options})


def counts_in(update: Mapping[str, Any]) -> dict[str, int]:
    """Count what a step gave, and what it took of a model; of what it gave nothing of there is no count."""
    given = {name: update.get(key) for key, name in COUNTED.items()}
    counts = {name: len(things) for name, things in given.items() if isinstance(things, list) and things}
    usage = update.get("usage")
    entries = [one for one in usage if isinstance(one, UsageEntry)] if isinstance(usage, list) else []
    if entries:
        counts["calls"] = sum(one.calls for one in entries)
        counts["tokens"] = sum(one.prompt_tokens + one.completion_tokens for one in entries)
    return counts


@dataclass(frozen=True)
class EntryNode:
    """What clients send to a served graph, and the step that takes it in."""

    step: Callable[..., Any]
    """Takes the state; returns the request as the first step reads it."""
    input_schema: type
    context_schema: type


STEP = "identify"


def add_entry(graph: StateGraph[Any, Any, Any, Any], door: EntryNode | None, first: str) -> None:
    """Begin with the door, where there is one, then with `first`."""
    if door is None:
        graph.add_edge(START, first)
        return
    graph.add_node(STEP, door.step)
    graph.add_edge(START, STEP)
    graph.add_edge(STEP, first)
