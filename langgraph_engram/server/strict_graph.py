"""Keep a served graph's checkpoints readable where `LANGGRAPH_STRICT_MSGPACK` is set.

Then LangGraph restores only the types that the annotations of a graph name, and everything else as plain dicts. It
works the list out when a graph is compiled, and loses it when the graph is copied, which is what its server does for
every run: a run that is resumed would find dicts where it left records (langgraph 1.2).
"""

from typing import Any, Self, TypeVar, cast

from langgraph.graph.state import CompiledStateGraph

Graph = TypeVar("Graph", bound=CompiledStateGraph[Any, Any, Any, Any])
ALLOWED = "_serde_allowlist"
"""Where LangGraph keeps the list; it exports no name for it."""


class StrictGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """A compiled graph whose copies restore the same types as it does."""

    def copy(self, update: dict[str, Any] | None = None) -> Self:
        """Give a copy, with some attributes changed."""
        copied = super().copy(update)
        setattr(copied, ALLOWED, getattr(self, ALLOWED, None))
        return copied


def strict(graph: Graph) -> Graph:
    """Give a graph whose copies restore the types that its annotations name."""
    kept = StrictGraph(**{name: value for name, value in vars(graph).items() if name != "__orig_class__"})
    setattr(kept, ALLOWED, getattr(graph, ALLOWED, None))
    return cast(Graph, kept)
