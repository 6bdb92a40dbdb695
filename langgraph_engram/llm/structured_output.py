"""Request JSON from a chat model in the ways that servers support, and read it from what the model writes.

Servers differ: OpenAI takes a strict JSON schema, llama-cpp-python refuses it with status 500 but takes the schema
beside `json_object`, others support only tools, and some nothing but a prompt. `Methods` remembers which one works.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, Literal, TypeVar, cast, get_origin

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from pydantic import BaseModel, ValidationError

from langgraph_engram.llm.retries import Send

Method = Literal["json_schema", "function_calling", "json_object_schema", "json_prompt"]
Schema = dict[str, Any]
Shape = TypeVar("Shape", bound=BaseModel)

NOT_STREAMED: RunnableConfig = {"tags": ["nostream"]}
"""Keeps JSON out of LangGraph's stream of messages, which people read."""
OMITTED_KEYS = {"title", "default"}
"""Keys of a JSON schema that cost tokens and tell a model nothing."""
MAX_REPAIRS = 2
"""Repaired answers after which an unproven method is given up."""
MAX_SHOWN_ANSWER = 6000
"""Characters of an invalid answer that are shown to the model for repair."""
MAX_ERRORS = 8
"""Validation errors that are shown to the model for repair."""
MAX_STARTS = 200
"""Brackets in an answer at which a JSON value is looked for."""
REASONING = re.compile(r"\s*<(think|thinking|reasoning)>.*?(</\1>|\Z)", re.S)
END_OF_REASONING = re.compile(r"\A(?:(?!<(?:think|reasoning))[^{\[`])*</(think|thinking|reasoning)>", re.S)
"""The end of a reasoning block whose opening tag the server's chat template has swallowed."""
JSON_BEGINS = re.compile(r"""\{\s*["'}]|\[\s*[{\["']""")
QUOTED = re.compile(r'"(?:\\.|[^"\\])*"', re.S)
TOKEN_LIMIT_REASONS = {"length", "max_tokens"}


class Methods:
    """Remember which way of requesting JSON works. Safe to share between threads."""

    def __init__(self, names: Sequence[Method]) -> None:
        """Start with the first of `names`, which are in order of preference."""
        self.names = list(names)
        self._current = self.names[0]
        self._refused: set[Method] = set()
        self._repairs = 0
        self._probing = True
        self._lock = Lock()

    @property
    def current(self) -> Method:
        """Return the method to use now."""
        return self._current

    @property
    def probing(self) -> bool:
        """Whether no method has worked yet, and others are still tried."""
        return self._probing

    def confirm(self, method: Method) -> None:
        """Keep a method whose first answer was valid."""
        with self._lock:
            if self._probing:
                self._current, self._probing = method, False

    def count_repair(self, method: Method) -> None:
        """Count an answer that had to be repaired; after a few, move on from the method."""
        with self._lock:
            if self._probing and method == self._current:
                self._repairs += 1
                if self._repairs >= MAX_REPAIRS:
                    self._move_on(stop_probing=True)

    def drop(self, method: Method, *, refused: bool, answered: bool) -> bool:
        """Move on from a method.

        Args:
            method: The method that did not work.
            refused: Whether the server does not support it.
            answered: Whether there was an answer, if an invalid one.

        Returns:
            Whether there is another method to try now.
        """
        with self._lock:
            if refused:
                self._refused.add(method)
            if method != self._current:
                return True
            return self._move_on(stop_probing=answered)

    def _move_on(self, *, stop_probing: bool) -> bool:
        """Go to the next method; after the last, back to the first that was not refused."""
        self._repairs = 0
        later = self.names[self.names.index(self._current) + 1 :]
        for name in later:
            if name not in self._refused:
                self._current = name
                return True
        self._current = next((name for name in self.names if name not in self._refused), self.names[-1])
        self._probing = self._probing and not stop_probing
        return False


def compact_schema(shape: type[BaseModel]) -> Schema:
    """Return the JSON schema of an answer without inner titles and defaults, which only cost tokens."""
    return {**_without_omitted(shape.model_json_schema()), "title": shape.__name__}


def bind_method(chat: BaseChatModel, method: Method, schema: Schema) -> Send:
    """Return a function that sends messages and requests JSON by `method`.

    Raises:
        NotImplementedError: This chat model does not support the method; some raise TypeError or ValueError instead.
    """
    silent = chat.model_copy(update={"disable_streaming": True})
    if method == "json_prompt":
        return lambda messages: silent.invoke(messages, config=NOT_STREAMED)
    if method == "json_object_schema":
        if not _is_openai_compatible(chat):
            raise NotImplementedError(f"{type(chat).__name__} has no response_format")
        bound = silent.bind(response_format={"type": "json_object", "schema": schema})
        return lambda messages: bound.invoke(messages, config=NOT_STREAMED)
    strict = {"strict": True} if method == "json_schema" and _is_openai_compatible(chat) else {}
    chain = silent.with_structured_output(schema, method=method, include_raw=True, **strict)
    return lambda messages: cast(AIMessage, cast(dict[str, Any], chain.invoke(messages, config=NOT_STREAMED))["raw"])


def add_schema(messages: Sequence[BaseMessage], method: Method, schema: Schema) -> list[BaseMessage]:
    """Add the schema to the fixed part of a prompt, for methods that do not send it or whose servers may ignore it."""
    if method in ("json_schema", "function_calling"):
        return list(messages)
    instruction = _schema_instruction(schema)
    if messages and isinstance(messages[0], SystemMessage):
        return [SystemMessage(f"{messages[0].text}\n\n{instruction}"), *messages[1:]]
    return [SystemMessage(instruction), *messages]


@dataclass(frozen=True)
class Reply:
    """What a chat model wrote, without its reasoning."""

    text: str
    arguments: tuple[dict[str, Any], ...] = ()
    """The arguments of each function call."""
    cut_off: bool = False
    """Whether it reached the token limit."""
    declined: str = ""
    """The refusal of a model that declined to answer."""


@dataclass(frozen=True)
class Mistake:
    """Why an answer is invalid, in words that a model can act on. Contains nothing of the answer."""

    reason: str


def repair_messages(reply: Reply, mistake: Mistake, schema: Schema) -> list[BaseMessage]:
    """Return the messages that ask for the repair of an invalid answer: the answer, the mistake and the schema."""
    invalid = "\n".join(json.dumps(arguments, ensure_ascii=False) for arguments in reply.arguments) or reply.text
    request = f"That answer cannot be used: {mistake.reason}. Answer the question again."
    return [
        AIMessage(invalid[:MAX_SHOWN_ANSWER] or "(no answer)"),
        HumanMessage(f"{request}\n{_schema_instruction(schema)}"),
    ]


def read_reply(message: AIMessage) -> Reply:
    """Read a chat model's message."""
    metadata = message.response_metadata
    finish = metadata.get("finish_reason") or metadata.get("stop_reason") or metadata.get("done_reason")
    text = strip_reasoning(str(message.text))
    if not text and message.invalid_tool_calls:
        text = message.invalid_tool_calls[0]["args"] or ""
    return Reply(
        text=text.encode("utf-8", "replace").decode(),  # a lone surrogate cannot be stored, nor sent back for repair
        arguments=tuple(call["args"] for call in message.tool_calls),
        cut_off=str(finish).lower() in TOKEN_LIMIT_REASONS,
        declined=str(message.additional_kwargs.get("refusal") or ""),
    )


def strip_reasoning(text: str) -> str:
    """Remove the block with which a reasoning model begins, and white space at both ends."""
    visible = REASONING.sub("", text, count=1) if REASONING.match(text) else text
    return END_OF_REASONING.sub("", visible, count=1).strip()


def read_answer(reply: Reply, shape: type[Shape]) -> Shape | Mistake:
    """Read an answer of the given shape.

    Returns:
        The answer; or the mistake of the likeliest candidate where none is valid.
    """
    values = [_without_surrogates(arguments) for arguments in reply.arguments]
    values = values or json_values(reply.text) or ([] if reply.cut_off else repaired_values(reply.text))
    items = [value for value in values if isinstance(value, dict)]
    if len(items) > 1 and not any(item.keys() & _keys(shape) for item in items):
        values = [items]  # the items of a list, without their list
    elif len(reply.arguments) > 1:
        return Mistake("there are several answers where one holds everything")
    first: Mistake | None = None
    for value in sorted(values, key=_likelihood):
        answer = _validate(value, shape)
        if not isinstance(answer, Mistake):
            return answer
        first = first or answer
    return first or Mistake("there is no whole JSON value in it")


def json_values(text: str) -> list[object]:
    """Return the JSON objects and lists in a text, in order.

    None if one begins and is not whole: its parts would pass for an answer.
    """
    decoder = json.JSONDecoder(strict=False, parse_constant=_refuse_constant)
    values: list[object] = []
    end = 0
    for start in [match.start() for match in re.finditer(r"[{\[]", text)][:MAX_STARTS]:
        if start < end:
            continue
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            if JSON_BEGINS.match(text, start):
                return []
            continue
        values.append(_without_surrogates(value))
    return values


def repaired_values(text: str) -> list[object]:
    """Return the JSON value that a text was meant to be: with other quotes, without a comma, with a comment.

    None if a bracket in it is left open: not every server says that an answer was cut off.
    """
    begun = JSON_BEGINS.search(text)
    rest = text[begun.start() :] if begun else ""
    unquoted = QUOTED.sub("", rest)
    if not rest or any(unquoted.count(opening) != unquoted.count(closing) for opening, closing in ("{}", "[]")):
        return []
    from json_repair import repair_json

    value = repair_json(rest[: max(rest.rfind("}"), rest.rfind("]")) + 1], return_objects=True, skip_json_loads=True)
    return [_without_surrogates(value)] if isinstance(value, dict | list) and value else []


def _validate(value: object, shape: type[Shape]) -> Shape | Mistake:
    """Validate a JSON value, or a near miss of it: a bare list or item of its one list, or the answer in a wrapper."""
    first: Mistake | None = None
    for candidate in _near_misses(value, shape):
        try:
            return shape.model_validate(candidate)
        except ValidationError as error:
            first = first or Mistake(_describe(error))
    return first or Mistake(f"it is not an object with the keys {', '.join(shape.model_fields)}")


def _near_misses(value: object, shape: type[BaseModel]) -> Iterator[object]:
    names = _keys(shape)
    if isinstance(value, dict) and (not value or value.keys() & names):
        yield value
    elif isinstance(value, dict) and len(value) == 1:
        yield from _near_misses(next(iter(value.values())), shape)
    field = _only_list(shape)
    if field and isinstance(value, list):
        yield {field: value}
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
        yield from _near_misses(value[0], shape)
    elif field and isinstance(value, dict) and value and not value.keys() & names:
        yield {field: [value]}


def _keys(shape: type[BaseModel]) -> set[str]:
    return set(shape.model_fields) | {field.alias for field in shape.model_fields.values() if field.alias}


def _only_list(shape: type[BaseModel]) -> str | None:
    """Return the name of the one list that an answer is about: the required one, or the only one there is."""
    lists = [name for name, field in shape.model_fields.items() if get_origin(field.annotation) is list]
    required = [name for name in lists if shape.model_fields[name].is_required()]
    candidates = required or lists
    return candidates[0] if len(candidates) == 1 else None


def _describe(error: ValidationError) -> str:
    errors = error.errors(include_url=False, include_input=False)
    lines = [f"{'.'.join(map(str, detail['loc'])) or 'answer'}: {detail['msg']}" for detail in errors[:MAX_ERRORS]]
    return "; ".join([*lines, f"and {len(errors) - MAX_ERRORS} more"] if len(errors) > MAX_ERRORS else lines)


def _likelihood(value: object) -> tuple[bool, int]:
    """Order objects before lists, and the longest first."""
    return isinstance(value, list), -len(json.dumps(value))


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _without_surrogates(value: object) -> object:
    """Replace lone surrogates, which no store can encode, by question marks."""
    return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


def _schema_instruction(schema: Schema) -> str:
    text = json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
    return f"Answer with one JSON object and nothing else. It must fit this JSON schema:\n{text}"


def _without_omitted(schema: Schema) -> Schema:
    compact: Schema = {}
    for key, value in schema.items():
        if key in OMITTED_KEYS:
            continue
        if key in ("properties", "$defs"):
            compact[key] = {name: _without_omitted(part) for name, part in value.items()}
        elif isinstance(value, dict):
            compact[key] = _without_omitted(value)
        elif isinstance(value, list):
            compact[key] = [_without_omitted(part) if isinstance(part, dict) else part for part in value]
        else:
            compact[key] = value
    return compact


def _is_openai_compatible(chat: BaseChatModel) -> bool:
    return any(kind.__name__ == "BaseChatOpenAI" for kind in type(chat).__mro__)
