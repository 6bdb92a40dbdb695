"""Resolve whose memory a run is about, for tools, middleware, the retriever and the server.

The sources, in order: the user that a server has authenticated, the developer's default, the context of the run, and
`configurable` of its config. A later source never overrides an earlier one, and the model is never asked. The source of
the user also determines the tenant, so that nobody reaches another organisation by sending its name. `agent_id` divides
a user's own memory and may come from any source but the model. Of the graphs that a server runs, the request names the
user before the context does (`Identify`).
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config
from langgraph.prebuilt import ToolRuntime
from langgraph.runtime import Runtime, get_runtime
from pydantic import BaseModel, Field, ValidationError

from langgraph_engram.errors import InvalidInput, MissingUser, problems_in
from langgraph_engram.requests import make_scope
from langgraph_engram.schema import Frozen, Scope
from langgraph_engram.state import ScopedRequest

UNNAMED = (
    "nobody said whose memory this is: send user_id in the context of the run (context={'user_id': ...}), in its "
    "config (config={'configurable': {'user_id': ...}}) or in the request of a served graph, or set a default for all "
    "runs with user_id=... where memory is given to the agent; a server with authentication knows it"
)
KNOWN_IN_PART = (
    "this run was scheduled, and of who did so the server knows the name {!r} alone: let its handler of crons keep the "
    "user in the schedule (docs/guides/agents.md), or give memory tenant='default' where users have no tenants"
)
USER_KEYS = ("user_id", "langgraph_user_id", "langgraph_auth_user_id")
"""The keys under which a run may name the user: ours, that of langmem's namespaces, and that of LangGraph's server."""
Run = Runtime[Any] | ToolRuntime[Any, Any]


class Principal(Frozen):
    """An authenticated user, and the tenant that the user belongs to."""

    tenant: str = Field(default="default", min_length=1)
    user_id: str = Field(min_length=1)

    def owns(self, scope: Scope) -> bool:
        """Return whether a scope is this principal's; agents' memories of a user are the user's."""
        return (scope.tenant, scope.user_id) == (self.tenant, self.user_id)


class RunContext(BaseModel):
    """The context of a run, which LangGraph Studio shows as a form: whose memory it is."""

    user_id: str | None = Field(default=None, description="Whose memory it is, unless the server knows.")
    tenant: str | None = Field(default=None, description="The organisation of the user.")
    agent_id: str | None = Field(default=None, description="The agent whose memory of the user it is.")


class ScopeOverrides(Frozen):
    """What one source says of the scope of a run; None for what it leaves open."""

    user_id: Any = None
    tenant: Any = None
    agent_id: Any = None


def resolve_scope(
    run: Run | None = None, config: RunnableConfig | None = None, default: ScopeOverrides | None = None
) -> Scope:
    """Return the scope of the run and config that were passed and of the current ones, after the developer's default.

    Raises:
        MissingUser: No source names the user.
        InvalidInput: A name is invalid.
    """
    runs = _runs(run)
    server = next((user for runtime in runs if (user := _server_user(runtime, default))), None)
    sent = (*(runtime.context for runtime in runs), *_configured(config))
    return resolve_sent(*sent, server=server, default=default)


def resolve_sent(
    *sources: object, server: ScopeOverrides | None = None, default: ScopeOverrides | None = None
) -> Scope:
    """Return the scope of a run from what was sent: its contexts, then what its configs hold as `configurable`."""
    server, default = server or ScopeOverrides(), default or ScopeOverrides()
    sent = [read_overrides(source) for source in sources]
    named = next((source for source in (server, default, *sent) if source.user_id is not None), None)
    if named is None:
        raise MissingUser(UNNAMED)
    return make_scope(
        named.user_id,
        _first(server.tenant, default.tenant, named.tenant, "default"),
        _first(default.agent_id, *(source.agent_id for source in sent)),
    )


@dataclass(frozen=True, slots=True)
class Identify:
    """The entry of a served graph: set whose memory a request is about. Reads and sets `request`, also as JSON."""

    kind: type[ScopedRequest]

    def __call__(self, state: Any) -> Any:
        """Return the request with its scope."""
        runtime: Runtime[Any] = get_runtime()
        sent = state.get("request") or {}
        fields = sent.model_dump(exclude_unset=True) if isinstance(sent, BaseModel) else dict(sent)
        scope = resolve_sent(fields, runtime.context, server=_server_user(runtime))
        try:
            return {"request": self.kind.model_validate({**fields, **dict(scope)})}
        except ValidationError as error:
            raise InvalidInput(f"the request does not fit: {problems_in(error, 'request')}") from error


def principal_of(user: object) -> Principal | None:
    """Return the principal that a LangGraph server's user is; None for one who is not authenticated."""
    named = overrides_of_user(user)
    return Principal(tenant=named.tenant or "default", user_id=named.user_id) if named else None


def overrides_of_user(user: object) -> ScopeOverrides | None:
    """Return what a LangGraph server's user says of the scope; None for one who is not authenticated.

    The user id is the `identity`, unless the authentication handler set a `user_id`; the tenant is the one it set.
    """
    if user is None or not getattr(user, "is_authenticated", True):
        return None
    fields = read_overrides(user)
    user_id = _first(fields.user_id, getattr(user, "identity", None))
    return None if user_id is None else ScopeOverrides(user_id=user_id, tenant=fields.tenant)


def read_overrides(source: object) -> ScopeOverrides:
    """Read overrides from a mapping or an object (a pydantic model, a dataclass); empty values count as None."""
    return ScopeOverrides(
        user_id=_first(*(_field(source, key) for key in USER_KEYS)),
        tenant=_first(_field(source, "tenant")),
        agent_id=_first(_field(source, "agent_id")),
    )


def thread_of(run: Run | None = None, config: RunnableConfig | None = None) -> str | None:
    """Return the id of a run's thread, which is the session of its messages; None without a thread."""
    known = (runtime.execution_info.thread_id for runtime in _runs(run) if runtime.execution_info)
    thread_id = _first(*known, *(configurable.get("thread_id") for configurable in _configured(config)))
    return None if thread_id is None else str(thread_id)


def _runs(run: Run | None) -> list[Run]:
    """Return the run that was passed and the current one, as far as there are such."""
    runs: list[Run | None] = [run]
    with suppress(RuntimeError, KeyError):  # outside of a graph
        runs.append(get_runtime())
    return [known for known in runs if known is not None]


def _configured(config: RunnableConfig | None) -> list[Mapping[str, Any]]:
    """Return what is `configurable` in the config that was passed and in the current one, as far as there are such."""
    configs = [config]
    with suppress(RuntimeError):  # outside of a runnable
        configs.append(get_config())
    return [known.get("configurable") or {} for known in configs if known]


def _server_user(run: Run, default: ScopeOverrides | None = None) -> ScopeOverrides | None:
    """Return the user of a server; an error for one of whom a schedule kept a name that two tenants may have."""
    user = overrides_of_user(run.server_info.user) if run.server_info else None
    tenant = user and (user.tenant or (default and default.tenant))
    if user and not tenant and any("cron_id" in sent for sent in _configured(None)):
        raise MissingUser(KNOWN_IN_PART.format(user.user_id))
    return user


def _field(source: object, name: str) -> object:
    return source.get(name) if isinstance(source, Mapping) else getattr(source, name, None)


def _first(*values: object) -> Any:
    """Return the first value that is not empty."""
    return next((value for value in values if value is not None and value != ""), None)
