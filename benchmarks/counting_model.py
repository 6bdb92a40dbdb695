"""Count what a chat model would be asked, with the rules' answers: the cost of a model that answers well.

Each question is rendered and each answer is written out by its schema and read back, as with a chat model. Tokens are
four characters each. The schema itself travels with a question too; its tokens are counted apart.
"""

import json
from collections.abc import Sequence
from threading import Lock
from typing import TypeVar

from pydantic import BaseModel

from langgraph_engram.model import Asked, Question
from langgraph_engram.rules.model import RuleModel
from langgraph_engram.usage import count_tokens

Answer = TypeVar("Answer")


class CountingModel:
    """Answer by rules, and count as if a chat model had."""

    name = "rules, counted"

    def __init__(self) -> None:
        """Start at nothing."""
        self._rules = RuleModel()
        self._lock = Lock()
        self.schema_tokens = 0
        """Tokens of the schemas that would travel with the questions."""

    def ask(self, question: Question[Answer]) -> Asked[Answer]:
        """Answer one question at the cost of one call."""
        asked = self._rules.ask(question)
        written = self._write(asked.answer)
        cost = {
            "model": self.name,
            "calls": 1,
            "prompt_tokens": sum(count_tokens(message.text) for message in question.render()),
            "completion_tokens": count_tokens(written),
        }
        return Asked(self._read(question, written), asked.usage.model_copy(update=cost), asked.failure)

    def ask_all(self, questions: Sequence[Question[Answer]]) -> list[Asked[Answer]]:
        """Answer questions one after the other, in order."""
        return [self.ask(question) for question in questions]

    def _write(self, answer: object) -> str:
        if not isinstance(answer, BaseModel):
            return str(answer or "")
        schema = json.dumps(type(answer).model_json_schema(), separators=(",", ":"))
        with self._lock:
            self.schema_tokens += count_tokens(schema)
        return answer.model_dump_json(exclude_defaults=True)

    def _read(self, question: Question[Answer], written: str) -> Answer:
        kind = question.answer_type()
        if issubclass(kind, BaseModel):
            return kind.model_validate_json(written)
        return written  # type: ignore[return-value]  # a text question's answer is a string
