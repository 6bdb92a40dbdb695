"""Build the chat agent that is served: it recalls, answers, and remembers the conversation.

agent = build_agent(memory)
agent.invoke({"messages": [("user", "Where did I camp?")]}, context={"user_id": "ana"})

Needs the extra `agents`. The chat model is built at the first call, so that a server starts without a key; without a
model the agent answers by quoting from memory. It is compiled without a checkpointer: a server brings its own.
"""

import asyncio
import os
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables.config import set_config_context
from langgraph.graph.state import CompiledStateGraph
from pydantic import Field

from langgraph_engram.config import resolve_chat
from langgraph_engram.graphs.read import ReadGraph, build_read_graph
from langgraph_engram.integrations.identity import RunContext, resolve_scope
from langgraph_engram.integrations.middleware import (
    AgentMiddleware,
    AgentState,
    AsyncHandler,
    EngramMiddleware,
    Handler,
    ModelRequest,
    ModelResponse,
    create_agent,
)
from langgraph_engram.integrations.transcripts import FROM_MEMORY, question_of, start_of_newest_turn
from langgraph_engram.llm.chat import open_chat
from langgraph_engram.memory import Memory
from langgraph_engram.requests import recall_request
from langgraph_engram.results import Recollection
from langgraph_engram.rule_model.model import RuleModel
from langgraph_engram.text.questions import read_cues
from langgraph_engram.tracing import handlers_around

NOTED = "Noted. Ask me about it at any time."


class AnswerFromMemory(BaseChatModel):
    """Answer the user's newest turn from memory, by rules. The scope comes from the run (see `identity`)."""

    memory: Memory

    @cached_property
    def _graph(self) -> ReadGraph:
        rules = RuleModel()
        return build_read_graph(self.memory.store, rules, rules, self.memory.settings)

    @property
    def _llm_type(self) -> str:
        return "answer-from-memory"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002 - LangChain hands it over
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002 - LangChain hands it over
        **kwargs: Any,  # noqa: ARG002 - LangChain hands it over
    ) -> ChatResult:
        reply = self._reply(question_of(messages[start_of_newest_turn(messages) :]))
        reply.response_metadata |= {"model_name": "rules", FROM_MEMORY: True}
        return ChatResult(generations=[ChatGeneration(message=reply)])

    def _reply(self, question: str) -> AIMessage:
        cues = read_cues(question)
        if not (cues.asks or cues.asks_inside):
            return AIMessage(NOTED)
        request = recall_request(question, resolve_scope(), "recall", now=datetime.now(UTC))
        with set_config_context({"callbacks": handlers_around()}) as context:
            recollection: Recollection = context.run(lambda: self._graph.invoke({"request": request}))["recollection"]
        return AIMessage(recollection.answer or "", response_metadata={"engram_verdict": recollection.verdict})


RULES = "rules"
PROMPT = (
    "You are a helpful assistant who remembers earlier conversations with this user. Use what was recalled where it "
    "helps, say so where you are not sure, and never make up memories."
)


class Context(RunContext):
    """The context of a run: whose memory it is, the chat model and its prompt."""

    model: str = Field(
        default="",
        description='The chat model: "openai:NAME", "PROVIDER:NAME", or "rules" for none. Empty for ENGRAM_MODEL.',
        json_schema_extra={"langgraph_nodes": ["model"], "langgraph_type": "model"},
    )
    system_prompt: str = Field(
        default=PROMPT,
        description="The system prompt of the chat model.",
        json_schema_extra={"langgraph_nodes": ["model"], "langgraph_type": "prompt"},
    )


Agent = CompiledStateGraph[Any, Context, Any, Any]


class ChooseModel(AgentMiddleware[AgentState[Any], Context, Any]):
    """Override the chat model and the prompt that the agent was built with by those of the run."""

    def __init__(self, model: str | BaseChatModel | None) -> None:
        super().__init__()
        self._model = model
        self._open = lru_cache(maxsize=8)(lambda name: open_chat(name, resolve_chat(None)))

    def wrap_model_call(self, request: ModelRequest[Context], handler: Handler) -> ModelResponse[Any]:
        """Call the model of the run."""
        return handler(self._with_model(request))

    async def awrap_model_call(self, request: ModelRequest[Context], handler: AsyncHandler) -> ModelResponse[Any]:
        """Call the model of the run; it is built in a thread, because that reads files."""
        return await handler(await asyncio.to_thread(self._with_model, request))

    def _with_model(self, request: ModelRequest[Context]) -> ModelRequest[Context]:
        context = request.runtime.context or Context()
        chosen = context.model or self._model or os.environ.get("ENGRAM_MODEL") or RULES
        if chosen == RULES:
            return request
        model = chosen if isinstance(chosen, BaseChatModel) else self._open(chosen)
        return request.override(model=model, system_message=SystemMessage(context.system_prompt))


def build_agent(memory: Memory, model: str | BaseChatModel | None = None) -> Agent:
    """Build a chat agent with a memory.

    Args:
        memory: The memory that the agent reads and writes.
        model: The chat model where the context of a run names none: a name, a chat model, or "rules" for none at all.
            Else `ENGRAM_MODEL`, read at each call. One that is named is called as `ENGRAM_CHAT` says.

    Returns:
        A graph over `messages`, called with `Context`, named "agent". For the scope, see `identity`.
    """
    middleware: list[AgentMiddleware[Any, Any, Any]] = [ChooseModel(model), EngramMiddleware(memory)]
    return create_agent(AnswerFromMemory(memory=memory), middleware=middleware, context_schema=Context, name="agent")
