"""What tests of agents share: a memory without weights, and scripted chat models."""

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from pydantic import BaseModel

from langgraph_engram.memory import Memory


class ScriptedModel(BaseChatModel):
    """A chat model whose replies are known beforehand, or made of what it sees; it remembers what it saw."""

    replies: list[Any]
    """Texts, messages, functions of the messages that give one, or errors, in order; the last one stays."""
    seen: list[list[BaseMessage]] = []

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools, **options):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **options):
        self.seen.append(list(messages))
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        made = reply(messages) if isinstance(reply, Callable) else reply
        if isinstance(made, Exception):
            raise made
        message = made if isinstance(made, AIMessage) else AIMessage(made)
        return ChatResult(generations=[ChatGeneration(message=message.model_copy())])

    def shown(self, call=-1):
        """Return the system message of a call."""
        return "\n".join(str(message.text) for message in self.seen[call] if isinstance(message, SystemMessage))


class Context(BaseModel):
    user_id: str | None = None
    tenant: str | None = None
    agent_id: str | None = None


@pytest.fixture
def memory():
    with Memory(store="memory:", encoder="hashing", model="rules") as opened:
        yield opened


@pytest.fixture
def scripted():
    """Make a chat model of its replies."""
    return lambda *replies: ScriptedModel(replies=list(replies))


@pytest.fixture
def context():
    """Make the context of a run."""
    return Context


def calls(name, **arguments):
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"call-{name}"}])


@tool
def weather() -> str:
    """Tell the weather."""
    return "The weather station at Brnik reports 21 degrees."


@pytest.fixture
def calling():
    """Make a reply that calls a tool."""
    return calls


@pytest.fixture
def on():
    """Make the config of a thread."""
    return lambda thread: {"configurable": {"thread_id": thread}}
