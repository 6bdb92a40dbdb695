"""`engram serve`, `inspect` and `mcp`: serve the graphs, pages to look at memories, and tools over standard streams."""

import os
import socket
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlencode

import typer

from langgraph_engram.cli.options import Defaults, Invocation, shared, variable_of
from langgraph_engram.cli.output import print_text
from langgraph_engram.errors import InvalidInput, MissingExtra

if TYPE_CHECKING:
    from langgraph_engram.server.credentials import Credentials

Host = Annotated[str, typer.Option(help="The address to listen on.")]
Port = Annotated[int, typer.Option(min=1, max=65535, help="The port to listen on.")]
GRAPHS = {
    "remember": "Remember messages as events, records, boundaries and syntheses, for one user.",
    "recall": "Answer a question from one user's memory, with evidence.",
    "agent": "Chat with an agent that remembers one user from conversation to conversation.",
    "improve": "Have the model read what was written without one, for a budget of tokens.",
}
"""What is served, by its name in `langgraph_engram.server`."""
CONFIGURATION: dict[str, Any] = {
    "graphs": {name: {"path": f"langgraph_engram.server:{name}", "description": text} for name, text in GRAPHS.items()},
    "store": {"path": "langgraph_engram.integrations.store.open_store_for_server"},
    "auth": {"path": "langgraph_engram.server.auth:auth", "disable_studio_auth": True},
    "http": {
        "app": "langgraph_engram.server.app:app",
        "enable_custom_route_auth": True,
        "disable_mcp": True,
        "disable_a2a": True,
    },
    "webhooks": {"url": {"disable_private_ips": True}},
}
"""As `langgraph.json` holds it. No address of the network that the server stands in is told of the end of a run."""
ENVIRONMENT = {"LANGSMITH_TRACING": "false", "LANGGRAPH_NO_VERSION_CHECK": "true"}
"""Keeps the server from sending anything to the internet; what is set in the environment wins."""


@shared("store", "model", "preset")
def serve(
    command: Invocation,
    host: Host = "127.0.0.1",
    port: Port = 2024,
    jobs: Annotated[int, typer.Option(min=1, help="Runs at the same time.")] = 10,
    graph: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=PATH:ATTRIBUTE",
            help="A graph of your own, of a module or a file, served beside: mine=app.agent:graph. Repeat it for more.",
        ),
    ] = None,
) -> None:
    """Serve the graphs to LangGraph's SDK and Studio, pages at /memory, tools at /mcp. See the README for tokens.

    LOG_LEVEL=INFO shows every run.
    """
    _require_tokens_beyond(host)
    if find_spec("langgraph_api") is None:
        raise MissingExtra("the server is not installed: pip install 'langgraph-engram[server]'")
    graphs = {**own_graphs(graph or []), **CONFIGURATION["graphs"]}
    _require_free(host, port)
    given = {"store": command.store, "model": command.model, "preset": command.preset}
    url = f"http://{host}:{port}"
    print_text(f"API       {url}  (graphs: {', '.join(graphs)})")
    print_text(f"API docs  {url}/docs")
    print_text(f"Studio    https://smith.langchain.com/studio/?baseUrl={url}")
    print_text(f"memories  {url}/memory")
    print_text(f"MCP       {url}/mcp")
    _run(host, port, jobs, {**CONFIGURATION, "graphs": graphs, "env": server_variables(command.defaults, given)})


@shared("store", "model", "preset")
def inspect(
    command: Invocation,
    host: Host = "127.0.0.1",
    port: Port = 2025,
    user: Annotated[
        str | None, typer.Option("--user", "-u", help="Whose memory the printed address shows.", envvar="ENGRAM_USER")
    ] = None,
) -> None:
    """Serve pages to look at memories, ask them, correct them and forget: a timeline, records, answers, health."""
    credentials = _require_tokens_beyond(host)
    if missing := [name for name in ("jinja2", "starlette", "uvicorn") if find_spec(name) is None]:
        raise MissingExtra(f"{missing[0]} is not installed: pip install 'langgraph-engram[inspect]'")
    import uvicorn
    from starlette.applications import Starlette

    from langgraph_engram.server.inspector.pages import inspector_routes
    from langgraph_engram.server.inspector.visit import BASE

    with command.open_existing() as memory:
        if user:
            memory.status(user)  # reads the memory once, so that the first page need not wait for it
        print_text(f"http://{host}:{port}{BASE}" + (f"?{urlencode({'user': user})}" if user else ""))
        app = Starlette(routes=inspector_routes(lambda: memory, credentials))
        uvicorn.run(app, host=host, port=port, log_level="warning", server_header=False)


def _require_tokens_beyond(host: str) -> "Credentials":
    """Return the credentials of the environment, which are needed where others than this machine are served."""
    from langgraph_engram.server.credentials import is_loopback, read_credentials

    credentials = read_credentials(os.environ)
    if not credentials.configured and not is_loopback(host):
        raise InvalidInput(
            f"no tokens are configured, so everybody who reaches {host!r} could read every memory: set ENGRAM_TOKENS, "
            "ENGRAM_JWT_SECRET or ENGRAM_JWT_PUBLIC_KEY, or listen on 127.0.0.1"
        )
    return credentials


def own_graphs(options: list[str]) -> dict[str, Any]:
    """Return the graphs of a user, as `langgraph.json` holds them; paths of files are absolute."""
    graphs: dict[str, Any] = {}
    for option in options:
        name, _, path = option.partition("=")
        module, _, attribute = path.rpartition(":")
        if not name or not module or not attribute:
            raise InvalidInput(f"--graph {option!r}: say NAME=MODULE:ATTRIBUTE or NAME=FILE.py:ATTRIBUTE")
        if name in GRAPHS or name in graphs:
            raise InvalidInput(f"--graph: a graph named {name!r} is served already: choose another name")
        file = Path(module).resolve()
        if module.endswith(".py") and not file.is_file():
            raise InvalidInput(f"--graph: there is no file {module!r} for the graph {name!r}")
        graphs[name] = {"path": f"{file if module.endswith('.py') else module}:{attribute}"}
    if graphs:
        sys.path.insert(0, str(Path.cwd()))
    return graphs


def _require_free(host: str, port: int) -> None:
    """Check that nothing listens on a port: LangGraph's server would take another one."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        with socket.socket(family, socket.SOCK_STREAM) as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind((host, port))
    except OSError as error:
        reason = error.strerror or str(error)
        raise InvalidInput(f"cannot listen on {host}:{port} ({reason}): name another --port or --host") from error


def server_variables(defaults: Defaults, given: dict[str, str | None]) -> dict[str, str]:
    """Return the variables of a server: what options name, what holds without them, and what keeps it quiet."""
    quiet = {**ENVIRONMENT, "LOG_LEVEL": "WARNING"}
    if not sys.stdout.isatty() or defaults.variables.get("NO_COLOR"):
        quiet["LOG_COLOR"] = "false"
    unset = {name: value for name, value in quiet.items() if name not in defaults.variables}
    ours = {name: value for name, value in defaults.variables.items() if name.startswith(variable_of(""))}
    return {**unset, **ours, **{variable_of(name): value for name, value in given.items() if value}}


def _run(host: str, port: int, jobs: int, served: dict[str, object]) -> None:
    from langgraph_api.cli import run_server

    run_server(host, port, reload=False, n_jobs_per_worker=jobs, open_browser=False, **served)


@shared("user", "store", "model", "preset", "tenant", "agent")
def mcp(command: Invocation) -> None:
    """Serve the tools remember, recall and search over standard input and output, for one user."""
    if find_spec("mcp") is None:
        raise MissingExtra("the Model Context Protocol is not installed: pip install 'langgraph-engram[mcp]'")
    from langgraph_engram.integrations.mcp import build_mcp_server
    from langgraph_engram.requests import make_scope

    scope = make_scope(command.user, command.tenant, command.agent)
    with command.open() as memory:
        build_mcp_server(lambda: memory, lambda _: scope).run("stdio")
