"""Tell of a recall as it happens: what each step did, and the words of an answer as a model writes them, or at once."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from langchain_core.messages import BaseMessage

from langgraph_engram.nodes.answering.cite import is_unknown
from langgraph_engram.prompts.write_answer import UNKNOWN
from langgraph_engram.results import RecallUpdate

TRYING = "judge_sufficiency"
"""The step whose words are the answer unless they say that light memory does not suffice."""
ANSWERING = "write_answer"
"""The step whose words are the answer."""


def tell(parts: Iterable[Any]) -> Iterator[RecallUpdate]:
    """Tell of the updates and messages that a read graph streams, in order.

    An answer that no model wrote word by word is told whole, just before the result.
    """
    words, written = AnswerWords(), False
    for part in parts:
        mode, update = cast(tuple[str, Any], part)
        if mode == "messages":
            for piece in words.tell(*update):
                written = True
                yield piece
            continue
        words = AnswerWords()
        for done in _steps(update):
            if done.recollection and done.recollection.answer and not written:
                yield RecallUpdate(step=done.step, text=done.recollection.answer)
            yield done


class AnswerWords:
    """The words of one answer. Those that may yet say "I don't know" of light memory are held back."""

    def __init__(self) -> None:
        """Begin with none."""
        self._held = ""
        self._certain = False

    def tell(self, message: BaseMessage, about: Mapping[str, Any]) -> Iterator[RecallUpdate]:
        """Give the words that are certain to be of an answer."""
        step = about.get("langgraph_node")
        if step not in (TRYING, ANSWERING) or not message.text:
            return
        self._held += str(message.text)
        self._certain = self._certain or step == ANSWERING or not may_be_unknown(self._held)
        if self._certain:
            yield RecallUpdate(step=step, text=self._held)
            self._held = ""


def may_be_unknown(begun: str) -> bool:
    """Say whether a text, as far as it is written, says that something is unknown, or may go on to."""
    said = begun.strip().casefold()
    return UNKNOWN.casefold().startswith(said) or is_unknown(said)


def _steps(part: Mapping[str, Mapping[str, Any]]) -> Iterator[RecallUpdate]:
    for step, update in part.items():
        yield RecallUpdate(step=step, recollection=(update or {}).get("recollection"))
