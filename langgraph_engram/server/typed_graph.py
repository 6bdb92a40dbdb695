"""Keep the state of a served graph typed: what clients write into it, and what its checkpoints hold.

- Whoever edits the state of a thread, or forks one with changes, sends JSON. It becomes what the annotations of the
  state name, or is refused, as what is sent to the first step is.
- Where `LANGGRAPH_STRICT_MSGPACK` is set, LangGraph restores from checkpoints only the types that the annotations
  name, and everything else as plain dicts. It works the list out when a graph is compiled, and loses it when the graph
  is copied, which is what its server does for every run (langgraph 1.2). Here copies keep it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Self, TypeVar, cast, get_type_hints

from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import StateUpdate
from pydantic import TypeAdapter, ValidationError

from langgraph_engram.errors import InvalidInput

Graph = TypeVar("Graph", bound=CompiledStateGraph[Any, Any, Any, Any])
ALLOWED = "_serde_allowlist"
"""Where LangGraph keeps the list; it exports no name for it."""


class TypedGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """A compiled graph whose state stays typed, whoever writes it."""

    def copy(self, update: dict[str, Any] | None = None) -> Self:
        """Give a copy, with some attributes changed, that restores the same types."""
        copied = super().copy(update)
        setattr(copied, ALLOWED, getattr(self, ALLOWED, None))
        return copied

    def bulk_update_state(self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]) -> RunnableConfig:
        """Write into the state of a thread.

        Raises:
            InvalidInput: What is written is not what the state holds.
        """
        return super().bulk_update_state(config, self._typed(supersteps))

    async def abulk_update_state(
        self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]
    ) -> RunnableConfig:
        """Write into the state of a thread. Errors as for `bulk_update_state`."""
        return await super().abulk_update_state(config, self._typed(supersteps))

    def _typed(self, supersteps: Sequence[Sequence[StateUpdate]]) -> list[list[StateUpdate]]:
        hints = get_type_hints(self.builder.state_schema)
        return [[one._replace(values=typed(one.values, hints)) for one in map(_named, step)] for step in supersteps]


def with_typed_state(graph: Graph) -> Graph:
    """Give a graph whose state stays typed."""
    kept = TypedGraph(**{name: value for name, value in vars(graph).items() if name != "__orig_class__"})
    setattr(kept, ALLOWED, getattr(graph, ALLOWED, None))
    return cast(Graph, kept)


def typed(values: Any, hints: Mapping[str, Any]) -> Any:
    """Give values as the annotations of a state name them.

    Raises:
        InvalidInput: A value does not fit its annotation.
    """
    if not isinstance(values, Mapping):
        return values
    return {key: _fitted(key, value, hints[key]) if key in hints else value for key, value in values.items()}


def _fitted(key: str, value: Any, annotation: Any) -> Any:
    try:
        return TypeAdapter(annotation).validate_python(value)
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, (key, *one['loc'])))}: {one['msg']}" for one in error.errors())
        raise InvalidInput(f"what is written into the state does not fit ({wrong}): see the graph's schemas") from error


def _named(update: StateUpdate | Sequence[Any]) -> StateUpdate:
    """Give an update by its fields: a server hands over plain tuples too."""
    return update if isinstance(update, StateUpdate) else StateUpdate(*update)
