"""Import `langchain`, which the extra `agents` installs, or raise `MissingExtra`; nothing else imports it."""

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
