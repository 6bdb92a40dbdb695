"""Request JSON from a chat model in the ways that servers support, and read what comes back: answers and errors.

Servers differ: some take a JSON schema, others nothing but a prompt. What they send back is read in one way, for the
parser of LangChain would complete an answer that was cut off. What they raise becomes a typed failure of one question,
by LangChain's `ModelError`s, by its HTTP status, or by the builtin that it refines.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any, Literal, TypeVar, get_origin

import httpx
from langchain_core import exceptions
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.runnables import Runnable
from pydantic import BaseModel, ValidationError

from langgraph_engram.llm.base import Failure, FailureKind

Method = Literal["json_schema", "json_prompt"]
Schema = dict[str, Any]
Shape = TypeVar("Shape", bound=BaseModel)

MAX_SHOWN_ANSWER, MAX_ERRORS = 6000, 8
"""Characters of an invalid answer, and of its validation errors, that are shown to the model for repair."""
REASONING = re.compile(r"\s*<(think|thinking|reasoning)>.*?(</\1>|\Z)", re.S)
END_OF_REASONING = re.compile(r"\A(?:(?!<(?:think|reasoning))[^{\[`])*</(think|thinking|reasoning)>", re.S)
"""The end of a reasoning block whose opening tag the server's chat template has swallowed."""
JSON_BEGINS = re.compile(r"""\{\s*["'}]|\[\s*[{\["']""")
QUOTED = re.compile(r'"(?:\\.|[^"\\])*"', re.S)
MAX_REASON = 300
"""Characters of a server's message that are kept. Some servers send the whole prompt back."""
CONNECTION_ERRORS = (exceptions.ModelAPIError, exceptions.ModelConnectionError, httpx.TransportError, OSError)
TOO_LONG = re.compile(
    r"context[ _](length|window|size)|maximum context|(prompt|input) is too long|too many (input )?tokens", re.I
)
NO_QUOTA = "insufficient_quota"
NOT_IMPLEMENTED = 501
"""The status of what a chat model cannot send."""
MALFORMED_REPLIES = (ValueError, TypeError, AttributeError, LookupError, RecursionError)
"""Errors that chat models raise when the reply is no chat completion: a web page, or an error with status 200."""


@dataclass(frozen=True)
class JsonRequest:
    """How an answer of a schema is requested."""

    schema: Schema
    method: Method = "json_prompt"

    def bind(self, chat: BaseChatModel) -> Runnable[Any, AIMessage]:
        """Return the chat model with this request bound to it, which does not stream; raise what it raises."""
        silent = chat.model_copy(update={"disable_streaming": True})
        if self.method == "json_prompt":
            return silent
        takes_strict = "strict" in signature(silent.with_structured_output).parameters
        strict = {"strict": True} if takes_strict else {}
        structured = silent.with_structured_output(self.schema, method="json_schema", include_raw=True, **strict)
        return structured.pick("raw")

    def prompt(self, messages: list[BaseMessage]) -> list[BaseMessage]:
        """Return the messages, with the schema in their fixed part if the method does not send it."""
        if self.method != "json_prompt":
            return messages
        if isinstance(messages[0], SystemMessage):
            return [SystemMessage(f"{messages[0].text}\n\n{self._instruction()}"), *messages[1:]]
        return [SystemMessage(self._instruction()), *messages]

    def repair_prompt(self, messages: Sequence[BaseMessage], reply: "Reply", mistake: "Mistake") -> list[BaseMessage]:
        """Return the messages that ask for the repair of an invalid answer: the answer, the mistake and the schema."""
        request = f"That answer cannot be used: {mistake}. Answer the question again."
        return [
            *messages,
            AIMessage(reply.text[:MAX_SHOWN_ANSWER] or "(no answer)"),
            HumanMessage(f"{request}\n{self._instruction()}"),
        ]

    def _instruction(self) -> str:
        text = json.dumps(self.schema, ensure_ascii=False, separators=(",", ":"))
        return f"Answer with one JSON object and nothing else. It must fit this JSON schema:\n{text}"


@dataclass(frozen=True)
class Reply:
    """What a chat model wrote, without its reasoning."""

    text: str
    cut_off: bool = False
    """Whether it reached the token limit."""
    declined: bool = False


class Mistake(str):
    """Why an answer is invalid, in words that a model can act on. Contains nothing of the answer."""


def compact_schema(shape: type[BaseModel]) -> Schema:
    """Return the JSON schema of an answer without inner titles and defaults, which only cost tokens."""
    return {**_without_omitted(shape.model_json_schema()), "title": shape.__name__}


def read_reply(message: AIMessage) -> Reply:
    """Read a chat model's message."""
    metadata = message.response_metadata
    finish = metadata.get("finish_reason") or metadata.get("stop_reason") or metadata.get("done_reason")
    text = strip_reasoning(str(message.text))
    return Reply(
        text=text.encode("utf-8", "replace").decode(),  # a lone surrogate cannot be stored, nor sent back for repair
        cut_off=str(finish).lower() in {"length", "max_tokens"},
        declined=bool(message.additional_kwargs.get("refusal")),
    )


def strip_reasoning(text: str) -> str:
    """Remove the block with which a reasoning model begins, and white space at both ends."""
    visible = REASONING.sub("", text, count=1) if REASONING.match(text) else text
    return END_OF_REASONING.sub("", visible, count=1).strip()


def read_answer(reply: Reply, shape: type[Shape]) -> Shape | Mistake:
    """Read an answer of the given shape, or a near miss: one in a wrapper, or the bare list or item of its one list."""
    values = json_values(reply.text, mend=not reply.cut_off)
    if not values:
        return Mistake("there is no whole JSON value in it")
    if len(values) > 1:
        return Mistake("there are several answers where one is needed")
    try:
        storable = json.dumps(_as_object(values[0], shape), ensure_ascii=False).encode("utf-8", "replace")
        answer = shape.model_validate(json.loads(storable))  # no store can encode a lone surrogate
        return shape.model_validate(answer.model_dump())  # what it leaves out is as empty as if it had said so
    except ValidationError as error:
        errors = error.errors(include_url=False, include_input=False)
        lines = [f"{'.'.join(map(str, each['loc'])) or 'answer'}: {each['msg']}" for each in errors[:MAX_ERRORS]]
        more = [f"and {len(errors) - MAX_ERRORS} more"] if len(errors) > MAX_ERRORS else []
        return Mistake("; ".join([*lines, *more]))


def json_values(text: str, *, mend: bool = True) -> list[object]:
    """Return the JSON objects and lists in a text, in order; where one has a slip, the value that was meant if any."""
    decoder = json.JSONDecoder(strict=False)
    values: list[object] = []
    end = 0
    while begun := JSON_BEGINS.search(text, end):
        try:
            value, end = decoder.raw_decode(text, begun.start())
        except (ValueError, RecursionError):
            first = JSON_BEGINS.search(text)
            return _mended_values(text[first.start() :]) if mend and first else []
        values.append(value)
    return values


def _mended_values(text: str) -> list[object]:
    """Return the JSON value that a text was meant to be; none if it leaves a bracket open, as what was cut off does."""
    from json_repair import repair_json

    unquoted = QUOTED.sub("", text)
    if any(unquoted.count(opening) != unquoted.count(closing) for opening, closing in ("{}", "[]")):
        return []
    written = text[: max(text.rfind("}"), text.rfind("]")) + 1]
    value = repair_json(written, return_objects=True, skip_json_loads=True)
    return [value] if isinstance(value, dict | list) and value else []


def _as_object(value: object, shape: type[BaseModel]) -> object:
    """Return the object that a value is a near miss of; None if it has nothing of an answer, which has a default."""
    names = set(shape.model_fields) | {field.alias for field in shape.model_fields.values() if field.alias}
    if isinstance(value, dict) and (not value or value.keys() & names):
        return value
    if isinstance(value, dict) and len(value) == 1 and isinstance(inner := next(iter(value.values())), dict | list):
        return _as_object(inner, shape)
    field = _only_list(shape)
    return {field: value if isinstance(value, list) else [value]} if field else None


def _only_list(shape: type[BaseModel]) -> str | None:
    """Return the name of the one list that an answer is about: the required one, or the only one there is."""
    lists = [name for name, field in shape.model_fields.items() if get_origin(field.annotation) is list]
    candidates = [name for name in lists if shape.model_fields[name].is_required()] or lists
    return candidates[0] if len(candidates) == 1 else None


def _without_omitted(value: Any) -> Any:
    """Remove titles and defaults, which tell a model nothing, at any depth; keep the schema of a field called so."""
    if isinstance(value, dict):
        kept = {key: part for key, part in value.items() if key not in ("title", "default") or isinstance(part, dict)}
        return {key: _without_omitted(part) for key, part in kept.items()}
    return [_without_omitted(part) for part in value] if isinstance(value, list) else value


@dataclass(frozen=True)
class RequestFailure(Failure):
    """A failure of the server or of the connection to it."""

    status: int | None = None
    affects_all: bool = False
    """Whether every other question would fail the same way."""


def failure_of(error: BaseException) -> RequestFailure | None:
    """Classify an error that a chat model raised; None for one of neither the server nor the connection to it."""
    status = _status(error)
    reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
    if status is None and isinstance(error, MALFORMED_REPLIES):
        reason = f"the reply is not a chat completion: {reason}"
    kind = _kind(error, status, reason)
    if kind is None:
        return None
    affects_all = kind == "unreachable" or status in {401, 402, 403, 404} or NO_QUOTA in reason
    reason += _root_cause(error)
    shown = reason if len(reason) <= MAX_REASON else f"{reason[:MAX_REASON]}..."
    return RequestFailure(kind, shown, status, affects_all)


def cut_off_reply(error: BaseException) -> AIMessage | None:
    """Return the reply inside OpenAI's error for an answer that reached the token limit; None for another error."""
    completion = getattr(error, "completion", None)
    if completion is None or completion.usage is None:
        return None
    usage = UsageMetadata(
        input_tokens=completion.usage.prompt_tokens,
        output_tokens=completion.usage.completion_tokens,
        total_tokens=completion.usage.total_tokens,
    )
    text = completion.choices[0].message.content or ""
    return AIMessage(text, response_metadata={"finish_reason": "length"}, usage_metadata=usage)


def _kind(error: BaseException, status: int | None, reason: str) -> FailureKind | None:
    if isinstance(error, exceptions.ContextOverflowError) or status == 413 or (status and TOO_LONG.search(reason)):
        return "too_long"
    if isinstance(error, exceptions.ModelRateLimitError) or status == 429:
        return "refused" if NO_QUOTA in reason else "rate_limited"
    if isinstance(error, exceptions.ModelTimeoutError | httpx.TimeoutException | TimeoutError) or status in {408, 504}:
        return "timeout"
    if isinstance(error, CONNECTION_ERRORS) or (status and status >= 500 and status != NOT_IMPLEMENTED):
        return "unreachable"
    return "refused" if status or isinstance(error, (exceptions.ModelError, *MALFORMED_REPLIES)) else None


def _status(error: BaseException) -> int | None:
    if isinstance(error, NotImplementedError):
        return NOT_IMPLEMENTED
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) and status >= 400 else None


def _root_cause(error: BaseException) -> str:
    """Return what caused an error, in brackets: "Connection error." alone says little."""
    root = error
    while root.__cause__ is not None:
        root = root.__cause__
    return "" if root is error or str(root) in str(error) else f" ({root})"
