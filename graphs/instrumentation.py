"""Instrument the nodes of a graph: each reports when it starts and ends, and is retried where the store failed briefly.

Reports are custom events of LangGraph (`stream_mode="custom"`): whose node it is, how long it took and how much of what
it returned; never a word of a memory. Where nobody streams they go nowhere.
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

STORE_RETRY = RetryPolicy(initial_interval=0.2, max_attempts=3, retry_on=(StoreUnreachable, StoreFailed))
"""Nodes are idempotent. Bad input is not retried, nor is what a model got wrong."""
ENTRY_NODE = "identify"
"""The name of the node before the first step of a served graph."""
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
"""Lists of the states that are counted when a node returns them, and what the count is called."""


@dataclass(frozen=True)
class InstrumentedNode:
    """A node that reports when it starts and ends, as dicts of plain JSON.

    Both have `graph`, `step` and `status`: "started", and "done" with `seconds`, the counts of what the node returned,
    and the `calls` and `tokens` that a model took for it. A node that fails, or waits for a person, is not done.
    """

    graph: str
    step: str
    action: Callable[[Any], Mapping[str, Any]]

    def __call__(self, state: Any, writer: StreamWriter) -> Mapping[str, Any]:
        """Run the node."""
        about = {"graph": self.graph, "step": self.step}
        writer({**about, "status": "started"})
        start = perf_counter()
        update = self.action(state)
        writer({**about, "status": "done", "seconds": perf_counter() - start, **_counts_in(update)})
        return update


class InstrumentedGraph(StateGraph[StateT, None, InputT, OutputT]):
    """A state graph of instrumented nodes."""

    def __init__(
        self,
        name: str,
        state_schema: type[StateT],
        context_schema: type[Any] | None = None,
        *,
        input_schema: type[InputT],
    ) -> None:
        """Start without nodes.

        Args:
            name: What its events call the graph.
            state_schema: The state that travels along its edges.
            context_schema: The context of a run that its callers may set, where they may set any.
            input_schema: What it is called with.
        """
        super().__init__(state_schema, context_schema, input_schema=input_schema)
        self.name = name

    def add_node(self, node: Any, action: Any = None, **options: Any) -> Self:
        """Add a node under its name; options are LangGraph's."""
        instrumented = InstrumentedNode(self.name, node, action)
        return super().add_node(node, instrumented, **{"retry_policy": STORE_RETRY, **options})


@dataclass(frozen=True)
class EntryNode:
    """The node before the first step of a served graph, and what clients send to it."""

    step: Callable[..., Any]
    """Takes the state; returns the request as the first step reads it."""
    input_schema: type
    context_schema: type


def add_entry(graph: StateGraph[Any, Any, Any, Any], entry: EntryNode | None, first: str) -> None:
    """Begin with the entry node, where there is one, then with `first`."""
    if entry is None:
        graph.add_edge(START, first)
        return
    graph.add_node(ENTRY_NODE, entry.step)
    graph.add_edge(START, ENTRY_NODE)
    graph.add_edge(ENTRY_NODE, first)


def _counts_in(update: Mapping[str, Any]) -> dict[str, int]:
    """Count what a node returned, and what it took of a model; of what is empty there is no count."""
    returned = {name: update.get(key) for key, name in COUNTED.items()}
    counts = {name: len(items) for name, items in returned.items() if isinstance(items, list) and items}
    usage = update.get("usage")
    entries = [entry for entry in usage if isinstance(entry, UsageEntry)] if isinstance(usage, list) else []
    if entries:
        counts["calls"] = sum(entry.calls for entry in entries)
        counts["tokens"] = sum(entry.prompt_tokens + entry.completion_tokens for entry in entries)
    return counts
