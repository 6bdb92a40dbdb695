"""Adapt any LangChain chat model to the `Model` port: structured answers, one repair, a count of all calls.

A question never raises for what a server or a model does wrong: it ends in a typed failure of that one question. What
is transient (rate limits, time-outs, broken connections, server errors) the chat model tries again itself, as often as
its `max_retries` says. A chat model is opened by its name too; "rules" is resolved by `config`.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from threading import BoundedSemaphore
from time import perf_counter
from typing import Any, cast
from urllib.parse import urlsplit

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import get_executor_for_config
from pydantic import BaseModel, Field

from langgraph_engram.errors import ModelUnavailable, UnknownModel
from langgraph_engram.llm.base import Answer, Capability, Failure, LLMResult, Model, Question
from langgraph_engram.llm.replies import (
    NOT_IMPLEMENTED,
    JsonRequest,
    Method,
    Mistake,
    Reply,
    RequestFailure,
    compact_schema,
    cut_off_reply,
    failure_of,
    read_answer,
    read_reply,
)
from langgraph_engram.results import UsageEntry, count_tokens
from langgraph_engram.schema import Frozen

NOT_STREAMED: RunnableConfig = {"tags": ["nostream"]}
"""Keeps JSON out of LangGraph's stream of messages, which people read."""
METHOD_STATUSES = {400, 404, 422, 500, 501}
"""HTTP statuses with which servers reject the way in which JSON was requested."""
CHOICES = '"rules", "openai:NAME" (OpenAI, or any server at OPENAI_BASE_URL), a LangChain chat model, or a Model'
MAX_CONNECT_SECONDS = 10.0
"""Seconds to wait for a connection; the answer itself may take `timeout_seconds`."""


class ChatSettings(Frozen):
    """How a chat model is called."""

    structured_methods: list[Method] = Field(["json_schema", "json_prompt"], min_length=1)
    """Ways to request JSON, tried in this order; the first that works is used from then on."""
    temperature: float = Field(0.0, ge=0, le=2)
    timeout_seconds: float = Field(60.0, gt=0)
    """Seconds to wait for one answer."""
    max_completion_tokens: int = Field(4096, ge=16)
    retries: int = Field(2, ge=0)
    """Further attempts of a named model after a rate limit, a timeout or a server error."""
    concurrency: int = Field(4, ge=1)
    """Questions in flight at once."""


@dataclass
class Tally:
    """What one question has cost so far. Attempts that a chat model repeats by itself are one call."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    repaired: int = 0
    started: float = field(default_factory=perf_counter)

    def count(self, messages: Sequence[BaseMessage], reply: AIMessage) -> None:
        """Add a reply's tokens: the server's count, or an estimate where it reports none."""
        usage = reply.usage_metadata
        if usage is None:
            self.prompt_tokens += sum(count_tokens(str(message.text)) for message in messages)
            self.completion_tokens += count_tokens(str(reply.text))
        elif usage.get("total_cost") == 0:  # LangChain's mark of a reply from its cache
            self.calls -= 1
        else:
            self.prompt_tokens += usage["input_tokens"]
            self.completion_tokens += usage["output_tokens"]

    def entry(self, model: str, outcome: object) -> UsageEntry:
        """Return the usage entry of this question, which had this outcome."""
        failed = isinstance(outcome, Failure)
        return UsageEntry(
            node="",
            model=model,
            calls=self.calls,
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            seconds=perf_counter() - self.started,
            invalid=int(failed and not isinstance(outcome, RequestFailure)),
            repaired=0 if failed else self.repaired,
            asked=1,
        )


class ChatModel:
    """Answer questions with a chat model. Safe to share between threads."""

    by_rules = False

    def __init__(self, chat: BaseChatModel, name: str, settings: ChatSettings) -> None:
        """Create the adapter; of the settings it takes methods and concurrency, the others are the chat model's own."""
        self.name = name
        self.capability = Capability()
        self._chat = chat
        self._concurrency = settings.concurrency
        self._slots = BoundedSemaphore(settings.concurrency)
        self._methods = list(settings.structured_methods)
        self._working: Method | None = None
        """The method that has given a valid answer, once one has; no other needs to be tried then."""

    def ask(self, question: Question[Answer]) -> LLMResult[Answer]:
        """Answer one question; a failure is part of the result, never raised."""
        tally = Tally()
        outcome = self._answer(question.render(), question.answer_type(), tally)
        usage = tally.entry(self.name, outcome)
        if isinstance(outcome, Failure):
            return LLMResult(answer=None, usage=usage, failure=outcome)
        return LLMResult(answer=cast(Answer, outcome), usage=usage)

    def ask_all(self, questions: Sequence[Question[Answer]]) -> list[LLMResult[Answer]]:
        """Answer questions concurrently, in order, with the caller's callbacks and stream writers in each thread.

        After a failure that affects every question (no server, no access), questions not yet sent get the same failure
        and cost nothing.
        """
        shared: list[RequestFailure] = []

        def ask(question: Question[Answer]) -> LLMResult[Answer]:
            if shared:
                return LLMResult(answer=None, usage=UsageEntry(node="", model=self.name, asked=1), failure=shared[0])
            result = self.ask(question)
            if isinstance(result.failure, RequestFailure) and result.failure.affects_all:
                shared.append(result.failure)
            return result

        with get_executor_for_config({"max_concurrency": self._concurrency}) as pool:
            return list(pool.map(ask, questions))

    def _answer(self, messages: list[BaseMessage], shape: type[object], tally: Tally) -> object:
        """Answer a text question so that LangGraph can stream its tokens, one with a schema by `_answer_schema`."""
        if issubclass(shape, BaseModel):
            return self._answer_schema(messages, shape, tally)
        reply = self._send(messages, None, tally)
        if isinstance(reply, Failure):
            return reply
        return reply.text or _invalid(reply, Mistake("it is empty"))

    def _answer_schema(self, messages: list[BaseMessage], shape: type[BaseModel], tally: Tally) -> BaseModel | Failure:
        """Answer a schema question by the first method that the server takes, and repair an invalid answer once."""
        schema = compact_schema(shape)
        methods = self._methods
        for method in methods:
            request = JsonRequest(schema, method)
            reply = self._send(request.prompt(messages), request, tally)
            if not (isinstance(reply, RequestFailure) and self._may_reject(method, reply)):
                break
        if isinstance(reply, Failure):
            return reply
        answer = read_answer(reply, shape)
        self._learn(methods, method, is_valid=not isinstance(answer, Mistake))
        if not isinstance(answer, Mistake):
            return answer
        if reply.cut_off or reply.declined:
            return _invalid(reply, answer)
        return self._repair(messages, shape, reply, answer, tally)

    def _repair(
        self, messages: list[BaseMessage], shape: type[BaseModel], reply: Reply, mistake: Mistake, tally: Tally
    ) -> BaseModel | Failure:
        """Show the model its invalid answer, what is wrong with it and the schema, and read its second answer."""
        tally.repaired = 1
        request = JsonRequest(compact_schema(shape))
        second = self._send(request.repair_prompt(messages, reply, mistake), request, tally)
        if isinstance(second, Failure):
            return second
        answer = read_answer(second, shape)
        return _invalid(second, answer) if isinstance(answer, Mistake) else answer

    def _may_reject(self, method: Method, failure: RequestFailure) -> bool:
        """Return whether the server may not support the method; a bare server error says nothing of one that worked."""
        if failure.kind == "too_long" or (failure.status == 500 and method == self._working):
            return False
        return failure.status in METHOD_STATUSES

    def _learn(self, methods: list[Method], method: Method, *, is_valid: bool) -> None:
        """Keep a method whose first answer was valid, and leave one whose schema the server may have ignored."""
        if self._working is None:
            first = methods.index(method) + (0 if is_valid else 1)
            self._methods = methods[first:] or methods[-1:]
            self._working = method if is_valid else None

    def _send(self, messages: list[BaseMessage], request: JsonRequest | None, tally: Tally) -> Reply | RequestFailure:
        """Send messages once, and once more without a temperature if the model refuses one (reasoning models do)."""
        outcome = self._attempt(messages, request, tally)
        refused = isinstance(outcome, RequestFailure) and outcome.status == 400 and "temperature" in outcome.reason
        if not refused or getattr(self._chat, "temperature", None) is None:
            return outcome
        self._chat = self._chat.model_copy(update={"temperature": None})
        return self._attempt(messages, request, tally)

    def _attempt(
        self, messages: list[BaseMessage], request: JsonRequest | None, tally: Tally
    ) -> Reply | RequestFailure:
        try:
            sender: Runnable[Any, AIMessage] = request.bind(self._chat) if request else self._chat
        except (NotImplementedError, TypeError, ValueError) as error:
            return RequestFailure("refused", f"{self.name} cannot be asked so: {error}", NOT_IMPLEMENTED)
        with self._slots:
            tally.calls += 1
            [outcome] = sender.batch([messages], NOT_STREAMED if request else None, return_exceptions=True)
        message = outcome if isinstance(outcome, AIMessage) else cut_off_reply(outcome)
        if message:
            tally.count(messages, message)
            return read_reply(message)
        raised = cast(Exception, outcome)
        if failure := failure_of(raised):
            return failure
        raise raised  # from neither the server nor the connection to it


def _invalid(reply: Reply, mistake: Mistake) -> Failure:
    if reply.cut_off:
        return Failure("too_long", f"the answer was cut off at the token limit: {mistake}")
    if reply.declined:
        return Failure("refused", "the model declined to answer")
    return Failure("invalid", f"the answer cannot be used: {mistake}")


def open_model(model: str | BaseChatModel | Model, settings: ChatSettings) -> Model:
    """Open "openai:NAME", "PROVIDER:NAME" where `langchain` is installed, a chat model, or a `Model` as it is.

    Raises:
        UnknownModel: No model of that name.
        ModelUnavailable: A key or a package is missing.
    """
    if isinstance(model, str):
        return ChatModel(open_chat(model, settings), model, settings)
    if isinstance(model, BaseChatModel):
        return ChatModel(model, _name_of(model), settings)
    if callable(getattr(model, "ask", None)) and callable(getattr(model, "ask_all", None)):
        return model
    raise UnknownModel(f"unknown model {model!r}: choose {CHOICES}")


def open_chat(model: str, settings: ChatSettings) -> BaseChatModel:
    """Build the chat model of a name; see `open_model`."""
    provider, _, name = model.partition(":")
    if not (provider and name):
        raise UnknownModel(f"unknown model {model!r}: choose {CHOICES}")
    return openai_chat(name, settings) if provider == "openai" else _by_langchain(model, settings)


def openai_chat(name: str, settings: ChatSettings) -> BaseChatModel:
    """Build a chat model of OpenAI, or of the OpenAI-compatible server at `OPENAI_BASE_URL`."""
    base_url = os.environ.get("OPENAI_BASE_URL") or os.environ.get("OPENAI_API_BASE") or ""
    self_hosted = bool(base_url) and urlsplit(base_url).hostname != "api.openai.com"
    key = os.environ.get("OPENAI_API_KEY") or ("not-needed" if self_hosted else "")
    if not key:
        raise ModelUnavailable(
            f"no key for the model 'openai:{name}': set OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own, "
            "or use the model 'rules', which needs neither"
        )
    from langchain_openai import ChatOpenAI
    from openai import Timeout
    from pydantic import SecretStr

    seconds = settings.timeout_seconds
    return ChatOpenAI(
        model=name,
        api_key=SecretStr(key),
        base_url=base_url or None,
        temperature=settings.temperature,
        timeout=Timeout(seconds, connect=min(seconds, MAX_CONNECT_SECONDS)),
        max_retries=settings.retries,
        # OpenAI wants the newer name of this limit; self-hosted servers often know only the older one.
        max_completion_tokens=None if self_hosted else settings.max_completion_tokens,
        extra_body={"max_tokens": settings.max_completion_tokens} if self_hosted else None,
    )


def _by_langchain(model: str, settings: ChatSettings) -> BaseChatModel:
    if find_spec("langchain") is None:
        raise UnknownModel(f"unknown model {model!r}: install langchain and its package, or choose {CHOICES}")
    from langchain.chat_models import init_chat_model

    try:
        return init_chat_model(
            model,
            temperature=settings.temperature,
            timeout=settings.timeout_seconds,
            max_tokens=settings.max_completion_tokens,
            max_retries=settings.retries,
        )
    except ImportError as error:
        raise ModelUnavailable(f"cannot open the model {model!r}: {error}") from error
    except ValueError as error:
        raise UnknownModel(f"unknown model {model!r}: choose {CHOICES} ({str(error).splitlines()[0]})") from error


def _name_of(chat: BaseChatModel) -> str:
    provider = chat.get_name().removeprefix("Chat").lower()
    name = getattr(chat, "model_name", None) or getattr(chat, "model", None)
    return f"{provider}:{name}" if isinstance(name, str) and name else provider
