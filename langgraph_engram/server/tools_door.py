"""Serve the tools of the Model Context Protocol at `/mcp`, behind the server's own authentication.

LangGraph's server has a `/mcp` of its own, which shows whole graphs with their states as tools and answers in Python's
notation; ours takes its place (docs/decisions/0021-a-served-memory-and-whose-it-is.md).
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.mcpserver import Context
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.types import Receive, Scope, Send

from langgraph_engram.errors import NotAllowed
from langgraph_engram.mcp_tools import build_mcp_server
from langgraph_engram.schema import Scope as MemoryScope
from langgraph_engram.server import opening
from langgraph_engram.server.auth import CREDENTIALS
from langgraph_engram.server.owner import owner_of

CHECKED_BEFORE = TransportSecuritySettings(enable_dns_rebinding_protection=False)
"""Who calls, and under which name of this machine, is checked by `auth` before a request comes here."""


def whose(context: Context[Any, Any]) -> MemoryScope:
    """Say whose memory a call of a tool is about: that of whom the server let in.

    Raises:
        NotAllowed: The server let nobody in.
    """
    request = context.request_context.request
    owner = owner_of(request.user) if request else None
    if owner is None:
        raise NotAllowed("the server does not know who asks: send a token")
    return MemoryScope(tenant=owner.tenant, user_id=owner.user_id)


class ToolsDoor:
    """Answer clients of the Model Context Protocol over streamable HTTP, each request by itself."""

    def __init__(self) -> None:
        """Build the server; it answers once it is `open`."""
        server = build_mcp_server(opening.memory, whose if CREDENTIALS.configured else None)
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
