"""Ask a chat model for JSON in the ways that servers understand, and remember which of them works.

Servers differ: OpenAI takes a strict JSON schema, llama-cpp-python refuses it with status 500 but takes the schema
beside `json_object`, others know tools only, and some nothing but a prompt. This module does not send or read answers.
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

from langgraph_engram.llm.sending import Send

Shape = TypeVar("Shape", bound=BaseModel)

THOUGHT = re.compile(r"\s*<(think|thinking|reasoning)>.*?(</\1>|\Z)", re.S)
END_OF_THOUGHT = re.compile(r"\A(?:(?!<(?:think|reasoning))[^{\[`])*</(think|thinking|reasoning)>", re.S)
"""The end of a thought whose beginning the server's chat template has swallowed."""
JSON_BEGINS = re.compile(r"""\{\s*["'}]|\[\s*[{\["']""")
CUT_OFF = {"length", "max_tokens"}
MOST_STARTS = 200
"""Brackets in an answer at which a JSON value is looked for."""
MOST_MISTAKES = 8


@dataclass(frozen=True)
class Reply:
    """What a chat model wrote, without its thoughts."""

    text: str
    arguments: tuple[dict[str, Any], ...] = ()
    """The arguments of each call of the function, where it called it."""
    cut_off: bool = False
    """Whether it reached the limit of tokens."""
    declined: str = ""
    """Its words where it declined to answer."""


@dataclass(frozen=True)
class Mistake:
    """Why an answer cannot be read, in words that a model can act on. Holds nothing of the answer."""

    reason: str


def read_reply(message: AIMessage) -> Reply:
    """Read a chat model's message."""
    metadata = message.response_metadata
    finish = metadata.get("finish_reason") or metadata.get("stop_reason") or metadata.get("done_reason")
    text = without_thoughts(str(message.text))
    if not text and message.invalid_tool_calls:
        text = message.invalid_tool_calls[0]["args"] or ""
    return Reply(
        text=text.encode("utf-8", "replace").decode(),  # half a character cannot be kept, nor sent back for repair
        arguments=tuple(call["args"] for call in message.tool_calls),
        cut_off=str(finish).lower() in CUT_OFF,
        declined=str(message.additional_kwargs.get("refusal") or ""),
    )


def without_thoughts(text: str) -> str:
    """Take away the thoughts with which a reasoning model begins, and space at both ends."""
    return END_OF_THOUGHT.sub("", THOUGHT.sub("", text, count=1) if THOUGHT.match(text) else text, count=1).strip()


def read_answer(reply: Reply, shape: type[Shape]) -> Shape | Mistake:
    """Read an answer of the given shape.

    Returns:
        The answer; or the mistake of the likeliest candidate where none fits.
    """
    values = [_without_surrogates(one) for one in reply.arguments] or json_values(reply.text)
    items = [value for value in values if isinstance(value, dict)]
    if len(items) > 1 and not any(item.keys() & _keys(shape) for item in items):
        values = [items]  # the items of a list, without their list
    elif len(reply.arguments) > 1:
        return Mistake("there are several answers where one holds everything")
    first: Mistake | None = None
    for value in sorted(values, key=_likelihood):
        answer = fit(value, shape)
        if not isinstance(answer, Mistake):
            return answer
        first = first or answer
    return first or Mistake("there is no whole JSON value in it")


def fit(value: object, shape: type[Shape]) -> Shape | Mistake:
    """Validate a JSON value, or a near miss of it: a bare list or item of its one list, or the answer in a wrapper."""
    first: Mistake | None = None
    for candidate in _near_misses(value, shape):
        try:
            return shape.model_validate(candidate)
        except ValidationError as error:
            first = first or Mistake(_describe(error))
    return first or Mistake(f"it is not an object with the keys {', '.join(shape.model_fields)}")


def json_values(text: str) -> list[object]:
    """Find the JSON objects and lists in a text, in order.

    Where one begins and is not whole, none is given: its parts would pass for an answer.
    """
    decoder = json.JSONDecoder(strict=False, parse_constant=_refuse_constant)
    found: list[object] = []
    end = 0
    for start in [match.start() for match in re.finditer(r"[{\[]", text)][:MOST_STARTS]:
        if start < end:
            continue
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            if JSON_BEGINS.match(text, start):
                return []
            continue
        found.append(_without_surrogates(value))
    return found


def _likelihood(value: object) -> tuple[bool, int]:
    """Order objects before lists, and the longest first."""
    return isinstance(value, list), -len(json.dumps(value))


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
    """Name the one list that an answer is about: the required one, or the only one there is."""
    lists = [name for name, field in shape.model_fields.items() if get_origin(field.annotation) is list]
    required = [name for name in lists if shape.model_fields[name].is_required()]
    wanted = required or lists
    return wanted[0] if len(wanted) == 1 else None


def _describe(error: ValidationError) -> str:
    mistakes = error.errors(include_url=False, include_input=False)
    told = [f"{'.'.join(map(str, one['loc'])) or 'answer'}: {one['msg']}" for one in mistakes[:MOST_MISTAKES]]
    return "; ".join([*told, f"and {len(mistakes) - MOST_MISTAKES} more"] if len(mistakes) > MOST_MISTAKES else told)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _without_surrogates(value: object) -> object:
    """Replace half characters, which no store can encode, by question marks."""
    return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


Method = Literal["json_schema", "function_calling", "json_object_schema", "json_prompt"]
Schema = dict[str, Any]

QUIET: RunnableConfig = {"tags": ["nostream"]}
"""Keeps JSON out of LangGraph's stream of messages, which people read."""
MOST_DOUBTS = 2
"""First answers that are invalid before an unproven method is given up."""
LONGEST_BAD_ANSWER = 6000
"""Characters of a bad answer that are shown for repair."""
UNTOLD = {"title", "default"}


class Methods:
    """Remember which way of asking for JSON works. Safe to share between threads."""

    def __init__(self, names: Sequence[Method]) -> None:
        """Begin with the first of `names`, which stand in order of preference."""
        self.names = list(names)
        self._current = self.names[0]
        self._refused: set[Method] = set()
        self._doubts = 0
        self._hunting = True
        self._lock = Lock()

    @property
    def current(self) -> Method:
        """Give the method to use now."""
        return self._current

    @property
    def hunting(self) -> bool:
        """Say whether no method has worked yet, and others are still tried."""
        return self._hunting

    def prove(self, method: Method) -> None:
        """Keep a method that gave a valid answer at once."""
        with self._lock:
            if self._hunting:
                self._current, self._hunting = method, False

    def doubt(self, method: Method) -> None:
        """Note that a method's answer had to be repaired; after a few, move on from it."""
        with self._lock:
            if self._hunting and method == self._current:
                self._doubts += 1
                if self._doubts >= MOST_DOUBTS:
                    self._move_on(settle=True)

    def drop(self, method: Method, *, refused: bool, answered: bool) -> bool:
        """Move on from a method.

        Args:
            method: The one that did not work.
            refused: Whether the server said that it does not know it.
            answered: Whether it was answered, if badly.

        Returns:
            Whether there is another method to try now.
        """
        with self._lock:
            if refused:
                self._refused.add(method)
            if method != self._current:
                return True
            return self._move_on(settle=answered)

    def _move_on(self, *, settle: bool) -> bool:
        """Go to the next method; after the last, back to the first not refused, for good if `settle`."""
        self._doubts = 0
        later = self.names[self.names.index(self._current) + 1 :]
        for name in later:
            if name not in self._refused:
                self._current = name
                return True
        self._current = next((name for name in self.names if name not in self._refused), self.names[-1])
        self._hunting = self._hunting and not settle
        return False


def plain_schema(shape: type[BaseModel]) -> Schema:
    """Give the JSON schema of an answer without what only costs tokens: titles but its own, and defaults."""
    schema = shape.model_json_schema()
    return {**_plain(schema), "title": shape.__name__}


def prepare(chat: BaseChatModel, method: Method, schema: Schema) -> Send:
    """Make what sends messages and asks for JSON by `method`.

    Raises:
        NotImplementedError: This chat model does not know the method. So do TypeError and ValueError.
    """
    quiet = chat.model_copy(update={"disable_streaming": True})
    if method == "json_prompt":
        return lambda messages: quiet.invoke(messages, config=QUIET)
    if method == "json_object_schema":
        if not _speaks_openai(chat):
            raise NotImplementedError(f"{type(chat).__name__} knows no response_format")
        bound = quiet.bind(response_format={"type": "json_object", "schema": schema})
        return lambda messages: bound.invoke(messages, config=QUIET)
    strict = {"strict": True} if method == "json_schema" and _speaks_openai(chat) else {}
    chain = quiet.with_structured_output(schema, method=method, include_raw=True, **strict)
    return lambda messages: cast(AIMessage, cast(dict[str, Any], chain.invoke(messages, config=QUIET))["raw"])


def word(messages: Sequence[BaseMessage], method: Method, schema: Schema) -> list[BaseMessage]:
    """Add the schema to the fixed part of a prompt, for methods that do not send it or whose servers may ignore it."""
    if method in ("json_schema", "function_calling"):
        return list(messages)
    told = _told(schema)
    if messages and isinstance(messages[0], SystemMessage):
        return [SystemMessage(f"{messages[0].text}\n\n{told}"), *messages[1:]]
    return [SystemMessage(told), *messages]


def repair(reply: Reply, mistake: Mistake, schema: Schema) -> list[BaseMessage]:
    """Word the repair of a bad answer: the answer, what is wrong with it, and the schema."""
    bad = "\n".join(json.dumps(one, ensure_ascii=False) for one in reply.arguments) or reply.text
    return [
        AIMessage(bad[:LONGEST_BAD_ANSWER] or "(no answer)"),
        HumanMessage(f"That answer cannot be used: {mistake.reason}. Answer the question again.\n{_told(schema)}"),
    ]


def _told(schema: Schema) -> str:
    text = json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
    return f"Answer with one JSON object and nothing else. It must fit this JSON schema:\n{text}"


def _plain(schema: Schema) -> Schema:
    plain: Schema = {}
    for key, value in schema.items():
        if key in UNTOLD:
            continue
        if key in ("properties", "$defs"):
            plain[key] = {name: _plain(part) for name, part in value.items()}
        elif isinstance(value, dict):
            plain[key] = _plain(value)
        elif isinstance(value, list):
            plain[key] = [_plain(part) if isinstance(part, dict) else part for part in value]
        else:
            plain[key] = value
    return plain


def _speaks_openai(chat: BaseChatModel) -> bool:
    return any(kind.__name__ == "BaseChatOpenAI" for kind in type(chat).__mro__)
