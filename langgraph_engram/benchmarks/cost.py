"""Count what writing conversations costs: physical calls and tokens, by node (`engram bench cost`).

Every answer is the rules', so that counts are those of a model that answers well, and the same each time. This module
knows a memory by its door alone.
"""

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from os import PathLike
from tempfile import TemporaryDirectory
from threading import Lock
from time import perf_counter
from typing import TypeVar

from pydantic import BaseModel

from langgraph_engram.benchmarks.questions import MemoryProtocol, Progress, read_samples
from langgraph_engram.llm.base import LLMResult, Model, Question
from langgraph_engram.results import count_tokens
from langgraph_engram.rule_model.model import RuleModel
from langgraph_engram.runner import add_receipts, comparisons_of

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

    def ask(self, question: Question[Answer]) -> LLMResult[Answer]:
        """Answer one question at the cost of one call."""
        asked = self._rules.ask(question)
        written = self._write(asked.answer)
        cost = {
            "model": self.name,
            "calls": 1,
            "prompt_tokens": sum(count_tokens(message.text) for message in question.render()),
            "completion_tokens": count_tokens(written),
        }
        return LLMResult(self._read(question, written), asked.usage.model_copy(update=cost), asked.failure)

    def ask_all(self, questions: Sequence[Question[Answer]]) -> list[LLMResult[Answer]]:
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


OpenWith = Callable[[str, Model], AbstractContextManager[MemoryProtocol]]
"""Opens a memory that asks a model, in the folder it is given."""
SPENT = ("calls", "prompt_tokens", "completion_tokens")
COUNTED = ("records", "quarantined", "events", "boundaries", "decisions", "syntheses", "pending")


def run_cost(path: str | PathLike[str], open_memory: OpenWith, progress: Progress | None = None) -> dict[str, object]:
    """Write every conversation of a LoCoMo file, each as a user of its own, and count.

    Args:
        path: The file; it is read, never copied.
        open_memory: Opens the memory to be measured.
        progress: Told what is being done.

    Returns:
        Counts as plain JSON; `usage.write` has calls and tokens in all and by node, `schema_tokens` what the answers'
        schemas would add to the prompts, `comparisons` the pairs of records whose vectors were compared against all.

    Raises:
        UnreadableFile: The file is missing or is not LoCoMo's.
    """
    samples = read_samples(path)
    model = CountingModel()
    started = perf_counter()
    with TemporaryDirectory(prefix="engram-bench-") as folder, open_memory(folder, model) as memory:
        receipts = [
            memory.remember_sessions(sample.sessions, user_id=sample.sample_id, progress=progress) for sample in samples
        ]
        preset = memory.status(samples[0].sample_id).preset if samples else ""
    told = add_receipts(receipts)
    usage = told.usage
    nodes = {entry.node: {name: getattr(entry, name) for name in SPENT} for entry in usage.by_node}
    spent = {name: getattr(usage, name) for name in SPENT}
    written = {**spent, "schema_tokens": model.schema_tokens, "by_node": nodes}
    return {
        "preset": preset,
        "turns": told.stored_turns,
        "sessions": sum(len(sample.sessions) for sample in samples),
        **{name: getattr(told, name) for name in COUNTED},
        "comparisons": comparisons_of(told).model_dump(),
        "usage": {"write": written},
        "seconds": {"write": perf_counter() - started},
    }
