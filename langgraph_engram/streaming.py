"""Turn what a read graph streams into updates: its steps, and the text of its answer as it is written."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from langchain_core.messages import BaseMessage

from langgraph_engram.prompts.list_items import ANSWER
from langgraph_engram.prompts.write_answer import MORE, UNKNOWN
from langgraph_engram.results import RecallUpdate, Recollection
from langgraph_engram.retrieval.pool import is_unknown
from langgraph_engram.state import needs_whole

LIGHT_ANSWER = "judge_sufficiency"
"""The step whose text is the answer, unless it says that light memory does not suffice."""
DEEP_ANSWER = "write_answer"


def stream_updates(parts: Iterable[tuple[str, Any]]) -> Iterator[RecallUpdate]:
    """Yield an update for each step and each chunk of the answer; one that no model wrote in chunks comes whole."""
    answer, streamed, whole = AnswerStream(), False, False
    for mode, content in parts:
        if mode == "messages":
            for update in answer.add(*content):
                streamed = True
                yield update
            continue
        for step, state in content.items():
            whole = needs_whole(state) if state and "intent" in state else whole
            recollection: Recollection | None = (state or {}).get("recollection")
            if recollection and recollection.answer and not streamed:
                yield RecallUpdate(step=step, text=recollection.answer)
            yield RecallUpdate(step=step, recollection=recollection)
        answer = AnswerStream(is_listed=whole)


class AnswerStream:
    """The text of one answer.

    What may be the "I don't know" of light memory is held back, and so is the list before an answer of the whole.
    """

    def __init__(self, *, is_listed: bool = False) -> None:
        self._held = ""
        self._is_answer, self._is_listed = False, is_listed

    def add(self, message: BaseMessage, metadata: Mapping[str, Any]) -> Iterator[RecallUpdate]:
        """Add the text of `message`, and yield all text that certainly belongs to the answer."""
        step = metadata.get("langgraph_node")
        if step not in (LIGHT_ANSWER, DEEP_ANSWER) or not message.text:
            return
        self._held += str(message.text)
        if self._is_listed and step == DEEP_ANSWER:
            if ANSWER not in self._held:
                return
            self._held, self._is_listed = self._held.rpartition(ANSWER)[2].lstrip(), False
        self._is_answer = self._is_answer or step == DEEP_ANSWER or not _may_be_unknown(self._held)
        if self._is_answer:
            text, self._held = _split_before_mark(self._held)
            if text:
                yield RecallUpdate(step=step, text=text)


def _split_before_mark(text: str) -> tuple[str, str]:
    """Return text without `MORE`, and apart from it an end that may turn out to begin another."""
    text = text.replace(MORE, "")
    begun = next((size for size in range(len(MORE) - 1, 0, -1) if text.endswith(MORE[:size])), 0)
    return text[: len(text) - begun], text[len(text) - begun :]


def _may_be_unknown(prefix: str) -> bool:
    """Return whether the beginning of an answer says that it is unknown, or may continue to say so."""
    text = prefix.strip().casefold()
    return UNKNOWN.casefold().startswith(text) or is_unknown(text)
