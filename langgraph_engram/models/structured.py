"""Ask a chat model for JSON in the ways that servers understand, and remember which of them works.

Servers differ: OpenAI takes a strict JSON schema, llama-cpp-python refuses it with status 500 but takes the schema
beside `json_object`, others know tools only, and some nothing but a prompt. This module does not send or read answers.
"""

import json
from collections.abc import Sequence
from threading import Lock
from typing import Any, Literal, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from pydantic import BaseModel

from langgraph_engram.models.reading import Mistake, Reply
from langgraph_engram.models.sending import Send

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
