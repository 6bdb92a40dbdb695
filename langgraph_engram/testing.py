"""Test without a network: `FakeModel` answers questions, `ScriptedChat` chats.

model = FakeModel([BoundaryVerdict(...), Failure("timeout", "it took too long")])
"""

from collections.abc import Sequence
from threading import Lock
from typing import Any, Self

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from pydantic import BaseModel

from langgraph_engram.llm.base import Answer, Capability, Failure, LLMResult, Question
from langgraph_engram.results import UsageEntry, count_tokens


class FakeModel:
    """Answer questions from a queue, and record them in `asked`."""

    by_rules = False

    def __init__(self, answers: Sequence[object] = (), name: str = "fake") -> None:
        """Create a model of answers in order: each an answer, a `Failure`, or a function of the question."""
        self.name = name
        self.capability = Capability()
        self.answers: list[object] = list(answers)
        self.asked: list[Question[Any]] = []
        self._lock = Lock()

    def ask(self, question: Question[Answer]) -> LLMResult[Answer]:
        """Answer with the next item of the queue; an empty queue fails the question, a misfit is a TypeError."""
        with self._lock:
            self.asked.append(question)
            item = self.answers.pop(0) if self.answers else Failure("refused", "this FakeModel has no answer left")
        outcome = item(question) if callable(item) else item
        if isinstance(outcome, Failure):
            return LLMResult(answer=None, usage=self._usage(question, ""), failure=outcome)
        if not isinstance(outcome, question.answer_type()):
            raise TypeError(f"{question.name} takes a {question.answer_type().__name__}, not {outcome!r}")
        text = outcome.model_dump_json() if isinstance(outcome, BaseModel) else str(outcome)
        return LLMResult(answer=outcome, usage=self._usage(question, text))

    def ask_all(self, questions: Sequence[Question[Answer]]) -> list[LLMResult[Answer]]:
        """Answer questions in order."""
        return [self.ask(question) for question in questions]

    def _usage(self, question: Question[Any], answer: str) -> UsageEntry:
        prompt = sum(count_tokens(str(message.text)) for message in question.render())
        tokens = {"prompt_tokens": prompt, "completion_tokens": count_tokens(answer)}
        return UsageEntry(node="", model=self.name, calls=1, asked=1, **tokens)


class ScriptedChat(GenericFakeChatModel):
    """A chat model that needs no key: it gives its `replies` in order, texts or messages, and accepts any tools.

    agent = create_agent(ScriptedChat.of("Noted.", AIMessage("", tool_calls=[...])), tools)
    """

    @classmethod
    def of(cls, *replies: str | AIMessage) -> Self:
        """Return a model with these replies."""
        return cls(messages=iter([AIMessage(reply) if isinstance(reply, str) else reply for reply in replies]))

    def bind_tools(
        self,
        tools: Sequence[Any],  # noqa: ARG002 - a script has chosen already
        **options: Any,  # noqa: ARG002 - LangChain hands them over
    ) -> Self:
        """Return the model itself, which follows its script."""
        return self
