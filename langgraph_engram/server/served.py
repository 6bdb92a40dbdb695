"""What is served, as `langgraph.json` of the repository says it too: for a server that is started without that file."""

from typing import Any

GRAPHS: dict[str, Any] = {
    "remember": {
        "path": "langgraph_engram.server:remember",
        "description": "Keep what was said: events, records, boundaries and syntheses, for one user.",
    },
    "recall": {
        "path": "langgraph_engram.server:recall",
        "description": "Answer a question from what one user's memory holds, with evidence.",
    },
    "agent": {
        "path": "langgraph_engram.server:agent",
        "description": "Chat with an agent that remembers one user from conversation to conversation.",
    },
}
STORE: dict[str, Any] = {"path": "langgraph_engram.store.open_store_for_server"}
AUTH: dict[str, Any] = {"path": "langgraph_engram.server.auth:auth", "disable_studio_auth": True}
HTTP: dict[str, Any] = {
    "app": "langgraph_engram.server.app:app",
    "enable_custom_route_auth": True,
    "disable_mcp": True,
    "disable_a2a": True,
}
ENVIRONMENT = {"LANGSMITH_TRACING": "false", "LANGGRAPH_NO_VERSION_CHECK": "true"}
"""What keeps the server from telling or asking anybody on the internet anything, unless it is told to."""


def configuration() -> dict[str, Any]:
    """Give what a server is configured with, as `langgraph.json` holds it."""
    return {"graphs": GRAPHS, "store": STORE, "auth": AUTH, "http": HTTP}
