"""Instrument the nodes of a graph: each reports its start and its end, and is retried where the store failed briefly.

Reports are custom events of LangGraph (`stream_mode="custom"`) with the names of graph and node, the seconds that it
took and counts of what it returned; never a word of a memory. Without a consumer they are dropped.
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
"""Nodes are idempotent. Bad input and failures of a model are not retried."""
ENTRY_NODE = "identify"
"""The name of the node before the first step of a served graph."""
COUNTED = (
    *("turns", "events", "boundaries", "records", "pairs", "proposals", "decisions", "synthesis_ids"),
    *("evidence", "selected_ids", "pool"),
)
"""Keys of the states whose lists are counted in a node's update."""
NAMES = {"pairs": "candidates", "synthesis_ids": "syntheses", "selected_ids": "selected"}
"""How counts are called, where not by their keys."""


@dataclass(frozen=True)
class InstrumentedNode:
    """A node that reports its start and its end as dicts of plain JSON.

    Both have `graph`, `step` and `status`: "started", then "done" with `seconds`, the counts of what the node returned,
    and the `calls` and `tokens` of the model. A node that fails, or waits for a person, is not done.
    """

    graph: str
    step: str
    action: Callable[[Any], Mapping[str, Any]]

    def __call__(self, state: Any, writer: StreamWriter) -> Mapping[str, Any]:
        """Run the node."""
        source = {"graph": self.graph, "step": self.step}
        writer({**source, "status": "started"})
        start = perf_counter()
        update = self.action(state)
        writer({**source, "status": "done", "seconds": perf_counter() - start, **_counts_in(update)})
        return update


@dataclass(frozen=True)
class EntryNode:
    """The node before the first step of a served graph, with the schemas of what clients send."""

    step: Callable[..., Any]
    """Takes the state; returns the request as the first step reads it."""
    input_schema: type
    context_schema: type


class InstrumentedGraph(StateGraph[StateT, None, InputT, OutputT]):
    """A state graph of instrumented nodes, which clients of a server enter by the entry node."""

    def __init__(
        self,
        name: str,
        state_schema: type[StateT],
        input_schema: type[InputT],
        output_schema: type[OutputT],
        entry: EntryNode | None,
    ) -> None:
        context = entry.context_schema if entry else None
        given = entry.input_schema if entry else input_schema
        super().__init__(state_schema, context, input_schema=given, output_schema=output_schema)
        self.name = name
        self._entry = entry

    def add_node(self, node: Any, action: Any = None, **options: Any) -> Self:
        """Add a node under its name; options are LangGraph's."""
        instrumented = InstrumentedNode(self.name, node, action)
        return super().add_node(node, instrumented, **{"retry_policy": STORE_RETRY, **options})

    def begin_at(self, first: str) -> None:
        """Add the edges from START to the first step."""
        if self._entry:
            self.add_node(ENTRY_NODE, self._entry.step)
            self.add_edge(ENTRY_NODE, first)
        self.add_edge(START, ENTRY_NODE if self._entry else first)


def _counts_in(update: Mapping[str, Any]) -> dict[str, int]:
    """Return the counts of an update, and of the calls and tokens that it took; an empty list has no count."""
    returned = {key: update.get(key) for key in COUNTED}
    counts = {NAMES.get(key, key): len(items) for key, items in returned.items() if isinstance(items, list) and items}
    usage = update.get("usage")
    entries = [entry for entry in usage if isinstance(entry, UsageEntry)] if isinstance(usage, list) else []
    if entries:
        counts["calls"] = sum(entry.calls for entry in entries)
        counts["tokens"] = sum(entry.prompt_tokens + entry.completion_tokens for entry in entries)
    return counts
