"""Bring in what the extra `agents` installs, or say that it is missing: the one place that imports `langchain`."""

from langgraph_engram.errors import MissingExtra

try:
    from langchain.agents import create_agent
    from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
    from langchain.agents.middleware.types import OmitFromInput, PrivateStateAttr
except ModuleNotFoundError as error:
    raise MissingExtra(
        f"the package {error.name} is not installed, which middleware and agents need: "
        "pip install 'langgraph-engram[agents]'"
    ) from error

__all__ = [
    "AgentMiddleware",
    "AgentState",
    "ModelRequest",
    "ModelResponse",
    "OmitFromInput",
    "PrivateStateAttr",
    "create_agent",
]
