"""`engram serve`: serve both graphs, and the tools of the Model Context Protocol, with LangGraph's own server."""

import os
from importlib.util import find_spec
from typing import Annotated

import typer

from langgraph_engram.commands.options import Model, Preset, Store
from langgraph_engram.errors import InvalidInput, MissingExtra


def serve(
    host: Annotated[str, typer.Option("--host", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=1, max=65535, help="The port to listen on.")] = 2024,
    jobs: Annotated[int, typer.Option("--jobs", min=1, help="Runs that are done at once.")] = 10,
    store: Store = None,
    model: Model = None,
    preset: Preset = None,
) -> None:
    """Serve the graphs to LangGraph's SDK and Studio, and tools at /mcp. See the README for tokens."""
    from langgraph_engram.server.credentials import read_credentials
    from langgraph_engram.server.loopback import is_loopback
    from langgraph_engram.server.served import ENVIRONMENT, configuration

    if not read_credentials(os.environ).configured and not is_loopback(host):
        raise InvalidInput(
            f"no tokens are configured, so everybody who reaches {host!r} could read every memory: set ENGRAM_TOKENS, "
            "ENGRAM_TOKENS_FILE, ENGRAM_JWT_SECRET or ENGRAM_JWT_PUBLIC_KEY, or listen on 127.0.0.1"
        )
    if find_spec("langgraph_api") is None:
        raise MissingExtra("the server is not installed: pip install 'langgraph-engram[server]'")
    named = {"ENGRAM_STORE": store, "ENGRAM_MODEL": model, "ENGRAM_PRESET": preset}
    quiet = {name: value for name, value in ENVIRONMENT.items() if name not in os.environ}
    _run(host, port, jobs, {**configuration(), "env": quiet | {name: value for name, value in named.items() if value}})


def _run(host: str, port: int, jobs: int, served: dict[str, object]) -> None:
    from langgraph_api.cli import run_server

    run_server(host, port, reload=False, n_jobs_per_worker=jobs, open_browser=False, **served)
