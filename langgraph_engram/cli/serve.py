"""`engram serve`, `inspect` and `mcp`: serve the graphs, pages to look at memories, and tools over standard streams."""

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlencode

import typer

from langgraph_engram.cli.options import Agent, Model, Preset, Store, Tenant, User, open_existing, open_memory
from langgraph_engram.cli.output import print_text
from langgraph_engram.errors import InvalidInput, MissingExtra

if TYPE_CHECKING:
    from langgraph_engram.schema import Scope
    from langgraph_engram.server.credentials import Credentials


Host = Annotated[str, typer.Option("--host", help="The address to listen on.")]
GRAPHS: dict[str, Any] = {
    "remember": {
        "path": "langgraph_engram.server:remember",
        "description": "Remember messages as events, records, boundaries and syntheses, for one user.",
    },
    "recall": {
        "path": "langgraph_engram.server:recall",
        "description": "Answer a question from one user's memory, with evidence.",
    },
    "agent": {
        "path": "langgraph_engram.server:agent",
        "description": "Chat with an agent that remembers one user from conversation to conversation.",
    },
}
STORE: dict[str, Any] = {"path": "langgraph_engram.integrations.store.open_store_for_server"}
AUTH: dict[str, Any] = {"path": "langgraph_engram.server.auth:auth", "disable_studio_auth": True}
HTTP: dict[str, Any] = {
    "app": "langgraph_engram.server.app:app",
    "enable_custom_route_auth": True,
    "disable_mcp": True,
    "disable_a2a": True,
}
WEBHOOKS: dict[str, Any] = {"url": {"disable_private_ips": True}}
"""What may be told of the end of a run: no address of the network that the server stands in."""
WEBHOOK_HOSTS = "ENGRAM_WEBHOOK_HOSTS"
CONFIGURATION: dict[str, Any] = {"graphs": GRAPHS, "store": STORE, "auth": AUTH, "http": HTTP, "webhooks": WEBHOOKS}
ENVIRONMENT = {"LANGSMITH_TRACING": "false", "LANGGRAPH_NO_VERSION_CHECK": "true"}
"""Keeps the server from sending anything to the internet; what is set in the environment wins."""


def serve(
    host: Host = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=1, max=65535, help="The port to listen on.")] = 2024,
    jobs: Annotated[int, typer.Option("--jobs", min=1, help="Runs at the same time.")] = 10,
    store: Store = None,
    model: Model = None,
    preset: Preset = None,
) -> None:
    """Serve the graphs to LangGraph's SDK and Studio, pages at /memory, tools at /mcp. See the README for tokens."""
    _require_tokens_beyond(host)
    if find_spec("langgraph_api") is None:
        raise MissingExtra("the server is not installed: pip install 'langgraph-engram[server]'")
    given = {"ENGRAM_STORE": store, "ENGRAM_MODEL": model, "ENGRAM_PRESET": preset}
    defaults = {name: value for name, value in ENVIRONMENT.items() if name not in os.environ}
    _run(
        host, port, jobs, {**configuration(), "env": defaults | {name: value for name, value in given.items() if value}}
    )


def inspect(
    host: Host = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=1, max=65535, help="The port to listen on.")] = 2025,
    user: Annotated[
        str | None,
        typer.Option(
            "--user",
            "-u",
            help="Whose memory the printed address shows.",
            envvar="ENGRAM_USER",
            show_default=False,
        ),
    ] = None,
    store: Store = None,
    model: Model = None,
    preset: Preset = None,
) -> None:
    """Serve pages to look at memories, ask them, correct them and forget: a timeline, records, answers, health."""
    credentials = _require_tokens_beyond(host)
    if missing := [name for name in ("jinja2", "starlette", "uvicorn") if find_spec(name) is None]:
        raise MissingExtra(f"{missing[0]} is not installed: pip install 'langgraph-engram[inspect]'")
    import uvicorn
    from starlette.applications import Starlette

    from langgraph_engram.server.inspector.app import inspector_routes
    from langgraph_engram.server.inspector.visit import BASE

    with open_existing(store, model, preset) as memory:
        if user:
            memory.status(user)  # reads the memory once, so that the first page need not wait for it
        print_text(f"http://{host}:{port}{BASE}" + (f"?{urlencode({'user': user})}" if user else ""))
        app = Starlette(routes=inspector_routes(lambda: memory, credentials))
        uvicorn.run(app, host=host, port=port, log_level="warning", server_header=False)


def _require_tokens_beyond(host: str) -> "Credentials":
    """Return the credentials of the environment.

    Raises:
        InvalidInput: None are configured, and others than this machine would be served.
    """
    from langgraph_engram.server.credentials import is_loopback, read_credentials

    credentials = read_credentials(os.environ)
    if not credentials.configured and not is_loopback(host):
        raise InvalidInput(
            f"no tokens are configured, so everybody who reaches {host!r} could read every memory: set ENGRAM_TOKENS, "
            "ENGRAM_TOKENS_FILE, ENGRAM_JWT_SECRET or ENGRAM_JWT_PUBLIC_KEY, or listen on 127.0.0.1"
        )
    return credentials


def _run(host: str, port: int, jobs: int, served: dict[str, object]) -> None:
    from langgraph_api.cli import run_server

    run_server(host, port, reload=False, n_jobs_per_worker=jobs, open_browser=False, **served)


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
    from langgraph_engram.formats.requests import make_scope
    from langgraph_engram.integrations.mcp import build_mcp_server

    scope = make_scope(user, tenant, agent)

    def scope_of(context: Any) -> "Scope":  # noqa: ARG001 - the whole server is one user's
        return scope

    with open_memory(store, model, preset) as memory:
        build_mcp_server(lambda: memory, scope_of).run("stdio")


def configuration() -> dict[str, Any]:
    """Return the configuration of a server, as `langgraph.json` holds it.

    `ENGRAM_WEBHOOK_HOSTS` names the only hosts that may be told of the end of a run, with commas between them.
    """
    if hosts := [host.strip() for host in os.environ.get(WEBHOOK_HOSTS, "").split(",") if host.strip()]:
        return {**CONFIGURATION, "webhooks": {"url": {"allowed_domains": hosts}}}
    return CONFIGURATION
