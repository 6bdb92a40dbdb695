"""The routes that stand beside LangGraph's own: what is served here.

A development server of LangGraph also has routes for its makers' tests, open to everybody: one shows any thread, one
wipes them all, and one deploys. `FrontDoor` shuts them.
"""

import asyncio
from importlib.metadata import version

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from langgraph_engram.server import opening
from langgraph_engram.server.tools_door import ToolsDoor

BACK_DOORS = ("/internal", "/deploy")
PRIVATE_NETWORK = b"access-control-request-private-network"
"""With this header in it, newer Starlette refuses a preflight that LangGraph means to allow. Whether a page may come in
is decided by `auth`."""


class FrontDoor:
    """Stand before the whole server: shut its back doors, and let Studio's page ask whether it may call."""

    def __init__(self, app: ASGIApp) -> None:
        """Stand before an application."""
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or answer it."""
        path = str(scope.get("path", "")).removeprefix(str(scope.get("root_path", "")))
        if scope["type"] == "http" and any(path == one or path.startswith(f"{one}/") for one in BACK_DOORS):
            await PlainTextResponse("Not Found", 404)(scope, receive, send)
            return
        if scope.get("method") == "OPTIONS":
            scope = {**scope, "headers": [one for one in scope["headers"] if one[0].lower() != PRIVATE_NETWORK]}
        await self.app(scope, receive, send)


async def tell(request: Request) -> JSONResponse:  # noqa: ARG001 - a route takes it
    """Tell what is served: the version, the preset, the model, and the kind of store."""
    memory = await asyncio.to_thread(opening.memory)
    return JSONResponse(
        {
            "version": version("langgraph-engram"),
            "preset": memory.settings.preset,
            "model": memory.model.name,
            "store": kind_of(memory.location),
        }
    )


def kind_of(location: str) -> str:
    """Say what kind of store a location is: where exactly it lies is not for clients."""
    if location == "memory:":
        return "memory"
    return "server" if "://" in location else "folder"


TOOLS = ToolsDoor()

app = Starlette(
    routes=[Route("/engram", tell), Route("/mcp", TOOLS), Route("/mcp/", TOOLS)],
    middleware=[Middleware(FrontDoor)],
    lifespan=TOOLS.open,
)
