"""Serve routes beside LangGraph's own: `/memory` to look at it, and `/mcp` for the Model Context Protocol.

LangGraph's development server also has unauthenticated routes for internal tests: one shows any thread, one deletes all
threads, and one deploys. `RouteGuardMiddleware` blocks them.
"""

from typing import Any

from mcp.server.mcpserver import Context
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from langgraph_engram.errors import NotAllowed
from langgraph_engram.integrations.identity import principal_of
from langgraph_engram.integrations.mcp import build_mcp_server
from langgraph_engram.schema import Scope as MemoryScope
from langgraph_engram.server import factory
from langgraph_engram.server.auth import CREDENTIALS
from langgraph_engram.server.inspector.pages import inspector_routes

NO_HOST_CHECK = TransportSecuritySettings(enable_dns_rebinding_protection=False)
"""`auth` checks the caller and the host before a request gets here."""


def scope_of_caller(context: Context[Any, Any]) -> MemoryScope:
    """Return the scope of a tool call: that of the authenticated user."""
    request = context.request_context.request
    principal = principal_of(request.user) if request else None
    if principal is None:
        raise NotAllowed("the server does not know who asks: send a token")
    return MemoryScope(tenant=principal.tenant, user_id=principal.user_id)


MCP = build_mcp_server(factory.memory, scope_of_caller if CREDENTIALS.configured else None)
MCP.streamable_http_app(json_response=True, stateless_http=True, transport_security=NO_HOST_CHECK)
MCP_ENDPOINT = StreamableHTTPASGIApp(MCP.session_manager)

PRIVATE_NETWORK = b"access-control-request-private-network"
"""Newer Starlette refuses a preflight with this header, which LangGraph means to allow. `auth` checks the origin."""


class RouteGuardMiddleware:
    """Block internal routes of the whole server, and let preflights of Studio's page pass."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or block it."""
        path = str(scope.get("path", "")).removeprefix(str(scope.get("root_path", "")))
        if scope["type"] == "http" and f"{path}/".startswith(("/internal/", "/deploy/")):
            await PlainTextResponse("Not Found", 404)(scope, receive, send)
            return
        if scope.get("method") == "OPTIONS":
            headers = [header for header in scope["headers"] if header[0].lower() != PRIVATE_NETWORK]
            scope = {**scope, "headers": headers}
        await self.app(scope, receive, send)


app = Starlette(
    routes=[Route("/mcp", MCP_ENDPOINT), Route("/mcp/", MCP_ENDPOINT), *inspector_routes(factory.memory, CREDENTIALS)],
    middleware=[Middleware(RouteGuardMiddleware)],
    lifespan=lambda app: MCP.session_manager.run(),  # noqa: ARG005 - calls of tools are accepted while it runs
)
