"""Adapt any LangChain chat model to the `Model` port: structured answers, one repair, retries, a count of all calls.

A question never raises for what a server or a model does wrong: it ends in a typed failure of that one question.
"""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from threading import Lock
from typing import Literal, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from pydantic import BaseModel, Field

from langgraph_engram.errors import ModelUnavailable
from langgraph_engram.llm.base import Answer, Failure, LLMResult, Question
from langgraph_engram.llm.retries import METHOD_STATUSES, RequestFailure, Sender, Tally
from langgraph_engram.llm.structured_output import (
    Method,
    Methods,
    Mistake,
    Reply,
    add_schema,
    bind_method,
    compact_schema,
    read_answer,
    read_reply,
    repair_messages,
)
from langgraph_engram.results import UsageEntry
from langgraph_engram.settings import SettingsGroup


class ChatSettings(SettingsGroup):
    """How a chat model is called."""

    structured_methods: list[Literal["json_schema", "function_calling", "json_object_schema", "json_prompt"]] = [
        "json_schema", "function_calling", "json_object_schema", "json_prompt",
    ]  # fmt: skip
    """Ways to ask for JSON, tried in this order; the first that works is used from then on."""
    temperature: float = Field(0.0, ge=0, le=2)
    timeout_seconds: float = Field(60.0, gt=0)
    """Seconds to wait for one answer."""
    max_completion_tokens: int = Field(4096, ge=16)
    retries: int = Field(4, ge=0)
    """Further attempts after a rate limit, a timeout or a server error, with exponential backoff."""
    concurrency: int = Field(4, ge=1)
    """Questions in flight at once."""


class ChatModel:
    """Answer questions with a chat model. Safe to share between threads; the chat model is built at the first call."""

    def __init__(
        self,
        chat: BaseChatModel | Callable[[], BaseChatModel],
        name: str,
        settings: ChatSettings,
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Create the adapter.

        Args:
            chat: A chat model, or a function that builds one and raises `ModelUnavailable` if it cannot. A chat
                model's own retries cannot be counted: set its `max_retries` to 0.
            name: The name for usage entries and receipts.
            settings: Methods, retries and concurrent requests. Time-outs and temperature are the chat model's own.
            sleep: Waits between attempts, in seconds.
        """
        self.name = name
        self._source = chat
        self._chat = chat if isinstance(chat, BaseChatModel) else None
        self._lock = Lock()
        self._concurrency = settings.concurrency
        self._sender = Sender(settings.retries, settings.concurrency, sleep)
        self._methods = Methods(settings.structured_methods)
        self._answered = False

    def check(self) -> None:
        """Build the chat model, without a call.

        Raises:
            ModelUnavailable: A key or a package is missing.
        """
        self._chat_model()

    def ask(self, question: Question[Answer]) -> LLMResult[Answer]:
        """Answer one question; a failure is part of the result, never raised."""
        tally = Tally()
        outcome = self._ask(question, tally)
        if isinstance(outcome, Failure):
            return LLMResult(answer=None, usage=tally.entry(self.name), failure=outcome)
        self._answered = True
        return LLMResult(answer=outcome, usage=tally.entry(self.name))

    def ask_all(self, questions: Sequence[Question[Answer]]) -> list[LLMResult[Answer]]:
        """Answer questions concurrently, in order, with the caller's callbacks and stream writers in each thread.

        The first goes alone until this model has given an answer. A failure that affects every question (no server,
        no access) is met once: questions not yet sent get the same failure and cost nothing.
        """
        shared: list[RequestFailure] = []

        def ask(question: Question[Answer]) -> LLMResult[Answer]:
            if shared:
                return LLMResult(answer=None, usage=UsageEntry(node="", model=self.name, asked=1), failure=shared[0])
            result = self.ask(question)
            if isinstance(result.failure, RequestFailure) and result.failure.affects_all:
                shared.append(result.failure)
            return result

        alone = 0 if self._has_answered(questions) else 1
        return [ask(question) for question in questions[:alone]] + self._ask_concurrently(ask, questions[alone:])

    def _has_answered(self, questions: Sequence[Question[Answer]]) -> bool:
        if any(question.answer_type() is not str for question in questions):
            return not self._methods.probing
        return self._answered

    def _ask_concurrently(
        self, ask: Callable[[Question[Answer]], LLMResult[Answer]], questions: Sequence[Question[Answer]]
    ) -> list[LLMResult[Answer]]:
        if len(questions) < 2:
            return [ask(question) for question in questions]
        with ThreadPoolExecutor(min(self._concurrency, len(questions)), "engram-ask") as pool:
            futures = [pool.submit(copy_context().run, ask, question) for question in questions]
            try:
                return [future.result() for future in futures]
            finally:
                pool.shutdown(wait=False, cancel_futures=True)

    def _ask(self, question: Question[Answer], tally: Tally) -> Answer | Failure:
        try:
            outcome = self._answer(question, tally)
            if self._drop_temperature(outcome):
                outcome = self._answer(question, tally)
        except ModelUnavailable as error:
            return RequestFailure("refused", str(error), affects_all=True)
        return outcome

    def _answer(self, question: Question[Answer], tally: Tally) -> Answer | Failure:
        if question.answer_type() is str:
            return cast(Answer | Failure, self._answer_text(question.render(), tally))
        shape = cast(type[BaseModel], question.answer_type())
        return cast(Answer | Failure, self._answer_schema(question.render(), shape, tally))

    def _answer_text(self, messages: list[BaseMessage], tally: Tally) -> str | Failure:
        """Answer a text question, so that LangGraph can stream its tokens."""
        message = self._sender.send(self._chat_model().invoke, messages, tally)
        if isinstance(message, RequestFailure):
            return message
        reply = read_reply(message)
        return reply.text or _invalid(reply, Mistake("it is empty"), tally)

    def _answer_schema(self, messages: list[BaseMessage], shape: type[BaseModel], tally: Tally) -> BaseModel | Failure:
        """Answer a schema question by the method that works, trying others if none is known to."""
        for _ in self._methods.names:
            method = self._methods.current
            outcome = self._answer_by(method, messages, shape, tally)
            if not isinstance(outcome, Failure) or not self._try_next_method(method, outcome):
                break
        tally.invalid = int(isinstance(outcome, Failure) and not isinstance(outcome, RequestFailure))
        tally.repaired = int(tally.repaired and not isinstance(outcome, Failure))
        return outcome

    def _answer_by(
        self, method: Method, messages: list[BaseMessage], shape: type[BaseModel], tally: Tally
    ) -> BaseModel | Failure:
        schema = compact_schema(shape)
        try:
            send = bind_method(self._chat_model(), method, schema)
        except (NotImplementedError, TypeError, ValueError) as error:
            return RequestFailure("refused", f"{method}: {error}", unsupported_method=True)
        prompt = add_schema(messages, method, schema)
        first = self._sender.send(send, prompt, tally, probing=self._methods.probing)
        if isinstance(first, RequestFailure):
            return first
        reply = read_reply(first)
        answer = read_answer(reply, shape)
        if not isinstance(answer, Mistake):
            self._methods.confirm(method)
            return answer
        if reply.cut_off or reply.declined:
            return _invalid(reply, answer, tally)
        second = self._sender.send(send, [*prompt, *repair_messages(reply, answer, schema)], tally)
        return self._read_repaired(method, second, shape, tally)

    def _read_repaired(
        self, method: Method, message: AIMessage | RequestFailure, shape: type[BaseModel], tally: Tally
    ) -> BaseModel | Failure:
        if isinstance(message, RequestFailure):
            return message
        reply = read_reply(message)
        answer = read_answer(reply, shape)
        tally.repaired = 1
        if isinstance(answer, Mistake):
            return _invalid(reply, answer, tally)
        self._methods.count_repair(method)
        return answer

    def _try_next_method(self, method: Method, failure: Failure) -> bool:
        """Return whether another method may do better, and make it the current one."""
        if not isinstance(failure, RequestFailure):
            unproven = self._methods.probing and failure.kind == "invalid"
            return unproven and self._methods.drop(method, refused=False, answered=True)
        if failure.unsupported_method:
            return self._methods.drop(method, refused=True, answered=False)
        ambiguous = failure.status in METHOD_STATUSES - {404} and failure.kind != "too_long"
        return self._methods.probing and ambiguous and self._methods.drop(method, refused=False, answered=False)

    def _drop_temperature(self, outcome: object) -> bool:
        """Stop sending a temperature if the model refused one (OpenAI's reasoning models do); return whether it did."""
        chat = self._chat_model()
        refused = isinstance(outcome, RequestFailure) and outcome.status == 400 and "temperature" in outcome.reason
        if not refused or getattr(chat, "temperature", None) is None:
            return False
        self._chat = chat.model_copy(update={"temperature": None})
        return True

    def _chat_model(self) -> BaseChatModel:
        with self._lock:
            if self._chat is None:
                self._chat = cast(Callable[[], BaseChatModel], self._source)()
            return self._chat


def _invalid(reply: Reply, mistake: Mistake, tally: Tally) -> Failure:
    tally.invalid = 1
    if reply.cut_off:
        return Failure("too_long", f"the answer was cut off at the token limit: {mistake.reason}")
    if reply.declined:
        return Failure("refused", "the model declined to answer")
    return Failure("invalid", f"the answer cannot be used: {mistake.reason}")
