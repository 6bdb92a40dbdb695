"""The routes that stand beside LangGraph's own: what is served here.

A development server of LangGraph also has routes for its makers' tests, open to everybody: one shows any thread, one
wipes them all, and one deploys. `FrontDoor` shuts them.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

from mcp.server.mcpserver import Context
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from langgraph_engram.errors import NotAllowed
from langgraph_engram.integrations.mcp import build_mcp_server
from langgraph_engram.schema import Scope as MemoryScope
from langgraph_engram.server import factory as opening
from langgraph_engram.server.auth import CREDENTIALS
from langgraph_engram.server.identity import principal_of

CHECKED_BEFORE = TransportSecuritySettings(enable_dns_rebinding_protection=False)
"""Who calls, and under which name of this machine, is checked by `auth` before a request comes here."""


def scope_of_caller(context: Context[Any, Any]) -> MemoryScope:
    """Say whose memory a call of a tool is about: that of whom the server let in.

    Raises:
        NotAllowed: The server let nobody in.
    """
    request = context.request_context.request
    owner = principal_of(request.user) if request else None
    if owner is None:
        raise NotAllowed("the server does not know who asks: send a token")
    return MemoryScope(tenant=owner.tenant, user_id=owner.user_id)


class McpEndpoint:
    """Answer clients of the Model Context Protocol over streamable HTTP, each request by itself."""

    def __init__(self) -> None:
        """Build the server; it answers once it is `open`."""
        server = build_mcp_server(opening.memory, scope_of_caller if CREDENTIALS.configured else None)
        server.streamable_http_app(json_response=True, stateless_http=True, transport_security=CHECKED_BEFORE)
        self._manager = server.session_manager

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await self._manager.handle_request(scope, receive, send)

    @asynccontextmanager
    async def open(self, app: Starlette) -> AsyncIterator[None]:  # noqa: ARG002 - a lifespan takes it
        """Answer requests as long as the application lives."""
        async with self._manager.run():
            yield


BLOCKED_ROUTES = ("/internal", "/deploy")
PRIVATE_NETWORK = b"access-control-request-private-network"
"""With this header in it, newer Starlette refuses a preflight that LangGraph means to allow. Whether a page may come in
is decided by `auth`."""


class RouteGuardMiddleware:
    """Stand before the whole server: shut its back doors, and let Studio's page ask whether it may call."""

    def __init__(self, app: ASGIApp) -> None:
        """Stand before an application."""
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or answer it."""
        path = str(scope.get("path", "")).removeprefix(str(scope.get("root_path", "")))
        if scope["type"] == "http" and any(path == one or path.startswith(f"{one}/") for one in BLOCKED_ROUTES):
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


TOOLS = McpEndpoint()

app = Starlette(
    routes=[Route("/engram", tell), Route("/mcp", TOOLS), Route("/mcp/", TOOLS)],
    middleware=[Middleware(RouteGuardMiddleware)],
    lifespan=TOOLS.open,
)
