"""`engram mcp`: serve the tools of the Model Context Protocol to a desktop client, for one user."""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from langgraph_engram.commands.opening import open_memory
from langgraph_engram.commands.options import Agent, Model, Preset, Store, Tenant, User
from langgraph_engram.errors import MissingExtra

if TYPE_CHECKING:
    from langgraph_engram.schema import Scope


def mcp(
    user: User,
    tenant: Tenant = "default",
    agent: Agent = None,
    store: Store = None,
    model: Model = None,
    preset: Preset = None,
) -> None:
    """Serve the tools remember, recall and search over standard input and output, for one user."""
    if find_spec("mcp") is None:
        raise MissingExtra("the Model Context Protocol is not installed: pip install 'langgraph-engram[mcp]'")
    from langgraph_engram.mcp_tools import build_mcp_server
    from langgraph_engram.runs.requests import make_scope

    scope = make_scope(user, tenant, agent)

    def whose(context: Any) -> "Scope":  # noqa: ARG001 - one user has the whole server
        return scope

    with open_memory(store, model, preset) as memory:
        build_mcp_server(lambda: memory, whose).run("stdio")
