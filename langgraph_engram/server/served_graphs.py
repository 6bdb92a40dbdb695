"""State what the served graphs take and whose memory they reach, and keep their state typed.

- Clients may leave the user out of a request: the server knows who asks, or else the request or the context says it.
  A run whose input does not fit is refused before it is made.
- Clients edit or fork the state of a thread with JSON. It is validated against the annotations of the state, as the
  input of a graph is.
- With `LANGGRAPH_STRICT_MSGPACK` set, LangGraph restores from checkpoints only the types that the annotations name. It
  loses that list when its server copies a graph for a run (langgraph 1.2). Copies of a `TypedGraph` keep it.
- The server returns of a run what the output schema names, and cuts the updates of each step down to it as well. Here
  they stay whole, so that a run can be watched.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self, cast
from uuid import UUID, uuid5

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import get_runtime
from langgraph.types import StateUpdate
from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypedDict

from langgraph_engram.embeddings.base import Encoder
from langgraph_engram.errors import InvalidInput, InvalidSetting, NotAllowed, problems_in
from langgraph_engram.graphs.checkpoints import Graph, checkpointed_types
from langgraph_engram.integrations.identity import Principal, ScopeOverrides, principal_of, resolve_sent
from langgraph_engram.schema import Scope
from langgraph_engram.state import ServedRecallRequest, ServedRememberRequest
from langgraph_engram.stores.base import Store


class ServedWriteInput(TypedDict):
    """What the served write graph is called with."""

    request: ServedRememberRequest


class ServedReadInput(TypedDict):
    """What the served read graph is called with."""

    request: ServedRecallRequest


DEFAULT_ASSISTANTS = UUID("6ba7b821-9dad-11d1-80b4-00c04fd430c8")
"""The namespace in which LangGraph's server names the assistant of each graph."""
INPUTS: Mapping[str, TypeAdapter[Any]] = {
    str(uuid5(DEFAULT_ASSISTANTS, "remember")): TypeAdapter(ServedWriteInput),
    str(uuid5(DEFAULT_ASSISTANTS, "recall")): TypeAdapter(ServedReadInput),
}
NAMED_BY_RUN = {str(uuid5(DEFAULT_ASSISTANTS, name)) for name in ("agent", "improve")}
"""The default assistants of the graphs of which each run names whose memory it is about."""


def problem_of_run(run: Mapping[str, Any], principal: Principal | None) -> str:
    """Return what is wrong with the input of a run that a client wants to create; empty where nothing is.

    Runs of assistants that somebody made are looked at when they begin, and know what was made with them.
    """
    assistant, sent = str(run.get("assistant_id")), run.get("kwargs") or {}
    inputs, context = INPUTS.get(assistant), sent.get("context")
    server = None if principal is None else ScopeOverrides(**dict(principal))
    try:
        if assistant in NAMED_BY_RUN and principal is None:
            resolve_sent(context, (sent.get("config") or {}).get("configurable"))
        if inputs is not None and not sent.get("command") and sent.get("input") is not None:
            request = inputs.validate_python(sent["input"])["request"]
            resolve_sent(request, context, server=server)
    except ValidationError as error:
        return f"the input does not fit ({problems_in(error)}): see the graph's input schema"
    except InvalidInput as error:
        return str(error)
    return ""


class TypedGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """A compiled graph whose state stays typed, whoever writes it."""

    def copy(self, update: dict[str, Any] | None = None) -> Self:
        """Return a copy that restores the same types, whichever checkpointer it is given."""
        changes = dict(update or {})
        if isinstance(saver := changes.get("checkpointer"), BaseCheckpointSaver):
            try:
                changes["checkpointer"] = saver.with_allowlist(checkpointed_types())
            except RecursionError as error:  # what the server wraps a checkpointer of a user's in cannot be copied
                raise InvalidSetting(
                    "the server's checkpointer would restore our types as plain mappings: open it with "
                    "serde=langgraph_engram.checkpoint_serializer()"
                ) from error
        return super().copy(changes)

    async def astream(self, *arguments: Any, output_keys: Any = None, **options: Any) -> AsyncIterator[Any]:
        """Stream a run: values as far as they are output, and all of what each step changes."""
        kept = {*self.output_channels, "__interrupt__"} if output_keys == self.output_channels else None
        async for event in super().astream(*arguments, output_keys=None if kept else output_keys, **options):
            if kept and isinstance(event, tuple) and event[-2] == "values" and isinstance(event[-1], dict):
                yield (*event[:-1], {key: value for key, value in event[-1].items() if key in kept})
            else:
                yield event

    async def abulk_update_state(
        self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]
    ) -> RunnableConfig:
        """Write into the state of a thread, if every value fits it; a server passes plain tuples too."""
        state = TypeAdapter(self.builder.state_schema)
        typed = [[_typed(StateUpdate(*update), state) for update in step] for step in supersteps]
        return await super().abulk_update_state(config, typed)


def with_typed_state(graph: Graph) -> Graph:
    """Return the graph as a `TypedGraph`."""
    return cast(Graph, TypedGraph(**{name: value for name, value in vars(graph).items() if name != "__orig_class__"}))


def _typed(update: StateUpdate, state: TypeAdapter[Any]) -> StateUpdate:
    if not isinstance(update.values, Mapping):
        return update
    try:
        return update._replace(values=state.validate_python(update.values))
    except ValidationError as error:
        raise InvalidInput(
            f"what is written into the state is invalid ({problems_in(error)}): see the graph's schemas"
        ) from error


@dataclass(frozen=True, eq=False)
class ScopedStore:
    """A `Store` in which each run reaches only the memories of its principal.

    Every method raises `NotAllowed` for the scope of another user, and where it takes no scope and so may reach every
    memory. Without authentication every scope is allowed.
    """

    inner: Store

    @property
    def encoder(self) -> Encoder:
        """Return the encoder of this store's vectors."""
        return self.inner.encoder

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return a method of the store, behind the check of the scope that it is called with."""
        return partial(_call_in_own_scope, getattr(self.inner, name))


def require_own_scope(scope: Scope) -> Scope:
    """Return the scope if the current run may access it."""
    server = get_runtime().server_info
    principal = principal_of(server.user) if server else None
    if principal is not None and not principal.owns(scope):
        raise NotAllowed("this memory belongs to somebody else: leave user_id and tenant out, the server knows yours")
    return scope


def _call_in_own_scope(method: Callable[..., Any], scope: object, *arguments: Any) -> Any:
    if not isinstance(scope, Scope):
        raise NotAllowed("a served graph searches the memory of its own user alone")
    return method(require_own_scope(scope), *arguments)
