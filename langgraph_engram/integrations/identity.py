"""Say whose memory a run is about: the one place where tools, middleware and retriever look, and whoever serves them.

In this order: the user that a server vouches for, what the developer default, the context of the run, `configurable` of
its config. What comes later never overrides what came before, and a model is never asked. Whoever names the user names
the tenant too, so that nobody reaches into another organisation by sending its name beside their own. `agent_id` parts
a user's own memory and may come from anywhere but the model.
"""

from collections.abc import Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config
from langgraph.prebuilt import ToolRuntime
from langgraph.runtime import Runtime, get_runtime

from langgraph_engram.errors import MissingUser
from langgraph_engram.formats.requests import make_scope
from langgraph_engram.schema import Frozen, Scope

NOBODY = (
    "nobody said whose memory this is: send user_id in the context of the run (context={'user_id': ...}) or in its "
    "config (config={'configurable': {'user_id': ...}}), or settle it for all runs with user_id=... where memory is "
    "given to the agent; a server with authentication says it by itself"
)
Run = Runtime[Any] | ToolRuntime[Any, Any]


class ScopeOverrides(Frozen):
    """Whose memory it is, as far as one source says so. What it leaves open is absent."""

    user_id: Any = None
    tenant: Any = None
    agent_id: Any = None


def resolve_scope(
    run: Run | None = None, config: RunnableConfig | None = None, default: ScopeOverrides | None = None
) -> Scope:
    """Say whose memory a run is about.

    Args:
        run: The `Runtime` or `ToolRuntime` that was handed over; the run under way counts as well.
        config: The config that was handed over; that of the run under way counts as well.
        default: What the developer settled for all runs.

    Raises:
        MissingUser: Nobody said it. Nothing may be read then.
        InvalidInput: What was said is no name.
    """
    runs = [one for one in (run, _running()) if one is not None]
    server = next((owner for one in runs if (owner := _server_owner(one))), ScopeOverrides())
    default = default or ScopeOverrides()
    sent = [read_overrides(one.context) for one in runs]
    sent += [read_overrides(one.get("configurable")) for one in (config, _running_config()) if one]
    named = next((one for one in (server, default, *sent) if one.user_id is not None), None)
    if named is None:
        raise MissingUser(NOBODY)
    return make_scope(
        named.user_id,
        _first(server.tenant, default.tenant, named.tenant, "default"),
        _first(default.agent_id, *(one.agent_id for one in sent)),
    )


def overrides_of_user(user: object) -> ScopeOverrides | None:
    """Say who an authenticated user of a LangGraph server is; None for one whom nobody has authenticated.

    The user is the `identity`, unless the handler that let them in gave a `user_id`; the tenant is the one it gave.
    """
    if user is None or not getattr(user, "is_authenticated", True):
        return None
    given = read_overrides(user)
    user_id = _first(given.user_id, getattr(user, "identity", None))
    return None if user_id is None else ScopeOverrides(user_id=user_id, tenant=given.tenant)


def read_overrides(source: object) -> ScopeOverrides:
    """Read what a mapping or an object (a pydantic model, a dataclass) says of whose memory it is; empty is absent."""
    return ScopeOverrides(**{name: _first(_field(source, name)) for name in ScopeOverrides.model_fields})


def thread_of(run: Run | None = None, config: RunnableConfig | None = None) -> str | None:
    """Give the id of the thread that a run is on: it is the session of what is said there. None without a thread."""
    runs = [one for one in (run, _running()) if one is not None]
    known = (one.execution_info.thread_id for one in runs if one.execution_info)
    configs = ((one or {}).get("configurable", {}).get("thread_id") for one in (config, _running_config()))
    found = _first(*known, *configs)
    return None if found is None else str(found)


def _server_owner(run: Run) -> ScopeOverrides | None:
    return overrides_of_user(run.server_info.user) if run.server_info else None


def _running() -> Runtime[Any] | None:
    """Give the runtime of the run under way; None outside of a graph."""
    try:
        return get_runtime()
    except (RuntimeError, KeyError):
        return None


def _running_config() -> RunnableConfig | None:
    try:
        return get_config()
    except RuntimeError:
        return None


def _field(source: object, name: str) -> object:
    return source.get(name) if isinstance(source, Mapping) else getattr(source, name, None)


def _first(*values: object) -> Any:
    """Give the first value that is not empty."""
    return next((value for value in values if value is not None and value != ""), None)
