"""Keep the state of a served graph typed: what clients write into it, and what its checkpoints restore.

- Clients edit or fork the state of a thread with JSON. It is validated against the annotations of the state, as the
  input of a graph is.
- With `LANGGRAPH_STRICT_MSGPACK` set, LangGraph restores from checkpoints only the types that the annotations name, and
  everything else as plain dicts. It builds that list when a graph is compiled, and loses it when the graph is copied,
  which its server does for every run (langgraph 1.2). Copies of a `TypedGraph` keep it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Self, TypeVar, cast, get_type_hints

from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import StateUpdate
from pydantic import TypeAdapter, ValidationError

from langgraph_engram.errors import InvalidInput

Graph = TypeVar("Graph", bound=CompiledStateGraph[Any, Any, Any, Any])
ALLOWLIST = "_serde_allowlist"
"""The attribute with LangGraph's list, which has no public name."""


class TypedGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """A compiled graph whose state stays typed, whoever writes it."""

    def copy(self, update: dict[str, Any] | None = None) -> Self:
        """Return a copy that restores the same types."""
        copied = super().copy(update)
        setattr(copied, ALLOWLIST, getattr(self, ALLOWLIST, None))
        return copied

    def bulk_update_state(self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]) -> RunnableConfig:
        """Write into the state of a thread.

        Raises:
            InvalidInput: A value does not fit the state.
        """
        return super().bulk_update_state(config, self._typed(supersteps))

    async def abulk_update_state(
        self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]
    ) -> RunnableConfig:
        """Write into the state of a thread, as `bulk_update_state`."""
        return await super().abulk_update_state(config, self._typed(supersteps))

    def _typed(self, supersteps: Sequence[Sequence[StateUpdate]]) -> list[list[StateUpdate]]:
        hints = get_type_hints(self.builder.state_schema)
        return [
            [update._replace(values=_validate(update.values, hints)) for update in map(_to_update, step)]
            for step in supersteps
        ]


def with_typed_state(graph: Graph) -> Graph:
    """Return the graph as a `TypedGraph`."""
    typed = TypedGraph(**{name: value for name, value in vars(graph).items() if name != "__orig_class__"})
    setattr(typed, ALLOWLIST, getattr(graph, ALLOWLIST, None))
    return cast(Graph, typed)


def _validate(values: Any, hints: Mapping[str, Any]) -> Any:
    """Return values of the types that the annotations of a state name.

    Raises:
        InvalidInput: A value does not fit its annotation.
    """
    if not isinstance(values, Mapping):
        return values
    return {key: _validate_key(key, value, hints[key]) if key in hints else value for key, value in values.items()}


def _validate_key(key: str, value: Any, annotation: Any) -> Any:
    try:
        return TypeAdapter(annotation).validate_python(value)
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, (key, *detail['loc'])))}: {detail['msg']}" for detail in error.errors()
        )
        raise InvalidInput(
            f"what is written into the state is invalid ({problems}): see the graph's schemas"
        ) from error


def _to_update(update: StateUpdate | Sequence[Any]) -> StateUpdate:
    """Return an update with named fields: a server passes plain tuples too."""
    return update if isinstance(update, StateUpdate) else StateUpdate(*update)
