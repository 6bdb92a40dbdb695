"""Build the chat agent that is served: it recalls, answers, and keeps what was said.

agent = build_agent(memory)
agent.invoke({"messages": [("user", "Where did I camp?")]}, context={"user_id": "ana"})

Needs the extra `agents`. The chat model is built at the first call, so that a server starts without a key; without a
model the agent answers from memory by rules. It is compiled without a checkpointer: a server brings its own.
"""

import asyncio
import os
from functools import lru_cache
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import SystemMessage
from langgraph.graph.state import CompiledStateGraph
from pydantic import BaseModel, Field

from langgraph_engram.agents.answer_from_memory import AnswerFromMemory
from langgraph_engram.agents.langchain_agents import (
    AgentMiddleware,
    AgentState,
    ModelRequest,
    ModelResponse,
    create_agent,
)
from langgraph_engram.configuration import choose_chat
from langgraph_engram.memory import Memory
from langgraph_engram.middleware import AsyncHandler, EngramMiddleware, Handler
from langgraph_engram.models.opening import open_chat

RULES = "rules"
MOST_MODELS = 8
"""Chat models that are kept open at once."""
PROMPT = (
    "You are a helpful assistant who remembers earlier conversations with this user. Use what was recalled where it "
    "helps, say so where you are not sure, and never make up memories."
)


class Context(BaseModel):
    """What a caller says of a run, and what LangGraph Studio offers to choose."""

    user_id: str | None = Field(default=None, description="Whose memory it is, unless the server knows.")
    tenant: str | None = Field(default=None, description="The organisation of the user.")
    agent_id: str | None = Field(default=None, description="The agent, where memories are kept apart by agent.")
    model: str = Field(
        default="",
        description='The chat model: "openai:NAME", "PROVIDER:NAME", or "rules" for none. Empty for ENGRAM_MODEL.',
        json_schema_extra={"langgraph_nodes": ["model"], "langgraph_type": "model"},
    )
    system_prompt: str = Field(
        default=PROMPT,
        description="What the chat model is told to be.",
        json_schema_extra={"langgraph_nodes": ["model"], "langgraph_type": "prompt"},
    )


Agent = CompiledStateGraph[Any, Context, Any, Any]


class ChooseModel(AgentMiddleware[AgentState[Any], Context, Any]):
    """Put the chat model and the prompt of the run in place of those that the agent was built with."""

    def __init__(self, model: str | BaseChatModel | None) -> None:
        """Make the middleware.

        Args:
            model: The chat model where the context of a run names none; else `ENGRAM_MODEL`; else none.
        """
        super().__init__()
        self._model = model

    def wrap_model_call(self, request: ModelRequest[Context], handler: Handler) -> ModelResponse[Any]:
        """Call the model of the run.

        Raises:
            UnknownModel: Nothing of that name.
            ModelUnavailable: A key or a package is missing.
        """
        return handler(self._with_model(request))

    async def awrap_model_call(self, request: ModelRequest[Context], handler: AsyncHandler) -> ModelResponse[Any]:
        """Call the model of the run; it is built in a thread, for that reads files. Errors as for the other."""
        return await handler(await asyncio.to_thread(self._with_model, request))

    def _with_model(self, request: ModelRequest[Context]) -> ModelRequest[Context]:
        context = request.runtime.context or Context()
        chosen = context.model or self._model or os.environ.get("ENGRAM_MODEL") or RULES
        if chosen == RULES:
            return request
        model = chosen if isinstance(chosen, BaseChatModel) else opened(chosen)
        return request.override(model=model, system_message=SystemMessage(context.system_prompt))


def build_agent(memory: Memory, model: str | BaseChatModel | None = None) -> Agent:
    """Build a chat agent with a memory.

    Args:
        memory: Where things are kept.
        model: The chat model where the context of a run names none: a name, a chat model, or "rules" for none at all.
            Else `ENGRAM_MODEL`, read at each call.

    Returns:
        A graph over `messages`, called with `Context`, named "agent". Whose memory it is, see `identity`.
    """
    middleware: list[AgentMiddleware[Any, Any, Any]] = [ChooseModel(model), EngramMiddleware(memory)]
    return create_agent(AnswerFromMemory(memory=memory), middleware=middleware, context_schema=Context, name="agent")


@lru_cache(maxsize=MOST_MODELS)
def opened(name: str) -> BaseChatModel:
    """Open a chat model by name, once.

    Raises:
        UnknownModel: Nothing of that name.
        ModelUnavailable: A key or a package is missing.
        InvalidSetting: `ENGRAM_CHAT` does not fit.
    """
    settings = choose_chat()
    return open_chat(name, settings, retries=settings.retries)
