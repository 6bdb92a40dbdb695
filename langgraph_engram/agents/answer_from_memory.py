"""Be the chat model of an agent that has none: answer from memory by rules, with what the answer rests on.

A question is answered from what was said earlier; what is no question is taken note of. No model is asked, whatever
model the memory itself writes with.
"""

from datetime import UTC, datetime
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import PrivateAttr

from langgraph_engram.agents.identity import whose_memory
from langgraph_engram.agents.recalled import quoted
from langgraph_engram.agents.said import FROM_MEMORY, question_of, start_of_newest_turn
from langgraph_engram.graphs.read import ReadGraph, build_read_graph
from langgraph_engram.language.citations import cited_numbers
from langgraph_engram.language.speech_cues import read_cues
from langgraph_engram.memory import Memory
from langgraph_engram.results import Recollection
from langgraph_engram.rules.model import RuleModel
from langgraph_engram.runs.apart import apart
from langgraph_engram.runs.requests import recall_request

NOTED = "Noted. Ask me about it at any time."


class AnswerFromMemory(BaseChatModel):
    """Answer the user's newest turn from memory, by rules. Whose memory it is, the run says (see `identity`)."""

    memory: Memory
    """Where things are kept."""
    _graph: ReadGraph = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Build the graph that reads by rules."""
        super().model_post_init(context)
        quick = RuleModel()
        self._graph = build_read_graph(self.memory.store, quick, quick, self.memory.settings)

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
        question = question_of(messages[start_of_newest_turn(messages) :])
        reply = self._reply(question) if question else AIMessage(NOTED)
        reply.response_metadata |= {"model_name": "rules", FROM_MEMORY: True}
        return ChatResult(generations=[ChatGeneration(message=reply)])

    def _reply(self, question: str) -> AIMessage:
        cues = read_cues(question)
        if not (cues.asks or cues.asks_inside):
            return AIMessage(NOTED)
        request = recall_request(question, whose_memory(), "recall", now=datetime.now(UTC))
        told: Recollection = apart(self._graph.invoke)({"request": request})["recollection"]
        return AIMessage(with_sources(told), response_metadata={"engram_verdict": told.verdict})


def with_sources(told: Recollection) -> str:
    """Give an answer with the pieces that it cites, each on a line under its number."""
    cited = sorted(set(cited_numbers(told.answer or "")))
    lines = [f"[{number}] {quoted(told.evidence[number - 1].text)}" for number in cited]
    return "\n".join([told.answer or "", *lines])
