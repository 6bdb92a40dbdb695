"""Read an answer out of what a chat model wrote: past its thoughts, prose, code fences and near misses of the shape.

Everything is validated by the answer's own pydantic model; tolerance ends there. This module does not know what was
asked, nor how a wrong answer is repaired.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar, get_origin

from langchain_core.messages import AIMessage
from pydantic import BaseModel, ValidationError

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
