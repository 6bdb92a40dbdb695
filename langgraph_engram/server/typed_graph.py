"""Keep the state of a served graph typed: what clients write into it, what checkpoints restore, what clients see.

- Clients edit or fork the state of a thread with JSON. It is validated against the annotations of the state, as the
  input of a graph is.
- With `LANGGRAPH_STRICT_MSGPACK` set, LangGraph restores from checkpoints only the types that the annotations name, and
  everything else as plain dicts. It builds that list when a graph is compiled, and loses it when the graph is copied,
  which its server does for every run (langgraph 1.2). Copies of a `TypedGraph` keep it.
- The server returns of a run what the output schema names, and cuts the updates of each step down to it as well. Here
  they stay whole, so that a run can be watched.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Self, TypeVar, cast, get_type_hints

from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import StateUpdate
from pydantic import TypeAdapter, ValidationError

from langgraph_engram.errors import InvalidInput, problems_in

Graph = TypeVar("Graph", bound=CompiledStateGraph[Any, Any, Any, Any])
INTERRUPT = "__interrupt__"
ALLOWLIST = "_serde_allowlist"
"""The attribute with LangGraph's list, which has no public name."""


class TypedGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """A compiled graph whose state stays typed, whoever writes it."""

    def copy(self, update: dict[str, Any] | None = None) -> Self:
        """Return a copy that restores the same types."""
        copied = super().copy(update)
        setattr(copied, ALLOWLIST, getattr(self, ALLOWLIST, None))
        return copied

    async def astream(self, *arguments: Any, output_keys: Any = None, **options: Any) -> AsyncIterator[Any]:
        """Stream a run: values as far as they are output, and all of what each step changes."""
        kept = {*self.output_channels, INTERRUPT} if output_keys == self.output_channels else None
        async for event in super().astream(*arguments, output_keys=None if kept else output_keys, **options):
            if kept and isinstance(event, tuple) and event[-2] == "values" and isinstance(event[-1], dict):
                yield (*event[:-1], {key: value for key, value in event[-1].items() if key in kept})
            else:
                yield event

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
        raise InvalidInput(
            f"what is written into the state is invalid ({problems_in(error, key)}): see the graph's schemas"
        ) from error


def _to_update(update: StateUpdate | Sequence[Any]) -> StateUpdate:
    """Return an update with named fields: a server passes plain tuples too."""
    return update if isinstance(update, StateUpdate) else StateUpdate(*update)
