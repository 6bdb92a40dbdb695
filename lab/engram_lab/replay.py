"""Record a model's answers and replay them, so that a paid run can be repeated exactly and for free.

A recording is a file of JSON lines, each a prompt and its answer. An answer is found by its question, never by the
model's name. Failures are not recorded. A replayed answer reports no calls, the tokens of the recorded run, and a model
called "NAME (replayed)"; one that continues a run reports what the recorded one did.
"""

import hashlib
import json
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Lock
from time import perf_counter
from typing import cast

from langchain_core.messages import convert_to_openai_messages
from pydantic import BaseModel, JsonValue, ValidationError

from langgraph_engram.errors import UnreadableFile
from langgraph_engram.llm.base import Answer, Capability, Failure, LLMResult, Model, Question
from langgraph_engram.results import UsageEntry

LOG = logging.getLogger(__name__)


class RecordedAnswer(BaseModel):
    """One line of a recording."""

    key: str
    question: str
    prompt: list[dict[str, JsonValue]] = []
    """What was asked, as roles and contents; empty in recordings made before prompts were kept."""
    answer: JsonValue
    usage: UsageEntry


class ReplayModel:
    """Answer from a recording, or else by another model whose answers are recorded. Safe to share between threads."""

    by_rules = False

    def __init__(self, path: str | Path, model: Model | None = None, *, continues: bool = False) -> None:
        self.name = model.name if model else "replay"
        self.capability = Capability()
        self._path = Path(path)
        self._model = model
        self._continues = continues
        self._lock = Lock()
        self._recorded = {line.key: line for line in read_recording(self._path)}

    def ask(self, question: Question[Answer]) -> LLMResult[Answer]:
        """Answer one question."""
        return self.ask_all([question])[0]

    def ask_all(self, questions: Sequence[Question[Answer]]) -> list[LLMResult[Answer]]:
        """Answer questions, in order. Those not recorded are asked together, each distinct one once."""
        keys = [_key(question) for question in questions]
        new = {key: question for key, question in zip(keys, questions, strict=True) if key not in self._recorded}
        fresh = dict(zip(new, self._ask(list(new.values())), strict=True))
        for key, question in new.items():
            self._record(key, question, fresh[key])
        return [self._result(key, question, fresh) for key, question in zip(keys, questions, strict=True)]

    def _ask(self, questions: Sequence[Question[Answer]]) -> list[LLMResult[Answer]]:
        if self._model is not None:
            return self._model.ask_all(questions) if questions else []
        usage, advice = UsageEntry(node="", model=self.name, asked=1), "record it with a model"
        reasons = [f"{question.name} was not recorded in {self._path.name}: {advice}" for question in questions]
        return [LLMResult(answer=None, usage=usage, failure=Failure("refused", reason)) for reason in reasons]

    def _result(self, key: str, question: Question[Answer], fresh: dict[str, LLMResult[Answer]]) -> LLMResult[Answer]:
        """Return a fresh result, with its cost, the first time; else the recording."""
        if key in fresh and fresh[key].failure is None:
            return fresh.pop(key)
        return fresh[key] if key in fresh else self._replay(key, question)

    def _replay(self, key: str, question: Question[Answer]) -> LLMResult[Answer]:
        start = perf_counter()
        line = self._recorded[key]
        shape = question.answer_type()
        answer = shape.model_validate(line.answer) if issubclass(shape, BaseModel) else line.answer
        usage = {"model": f"{line.usage.model} (replayed)", "calls": 0, "seconds": perf_counter() - start}
        return LLMResult(
            answer=cast(Answer, answer), usage=line.usage if self._continues else line.usage.model_copy(update=usage)
        )

    def _record(self, key: str, question: Question[Answer], result: LLMResult[Answer]) -> None:
        if result.failure is not None or result.answer is None:
            return
        answer = result.answer.model_dump(mode="json") if isinstance(result.answer, BaseModel) else result.answer
        prompt, given = _prompt(question), cast(JsonValue, answer)
        line = RecordedAnswer(key=key, question=question.name, prompt=prompt, answer=given, usage=result.usage)
        with self._lock:
            self._recorded[key] = line
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a+b") as file:
                file.seek(max(0, file.tell() - 1))
                start = b"" if file.read() in (b"", b"\n") else b"\n"  # a last line that was cut off stands alone
                file.write(start + line.model_dump_json().encode() + b"\n")


def read_recording(path: Path) -> Iterator[RecordedAnswer]:
    """Yield the lines of a recording, in order; none where there is no file. Incomplete ones are skipped."""
    try:
        lines = path.read_bytes().splitlines() if path.exists() else []
    except OSError as error:
        raise UnreadableFile(f"cannot read the recording {str(path)!r}: {error}") from error
    for number, line in enumerate(lines, start=1):
        try:
            yield RecordedAnswer.model_validate_json(line)
        except ValidationError:
            LOG.warning("line %d of the recording %s is incomplete and is skipped", number, path.name)


def _prompt(question: Question[Answer]) -> list[dict[str, JsonValue]]:
    """Return a question's messages as roles and contents; half characters are replaced."""
    text = json.dumps(convert_to_openai_messages(question.render()), ensure_ascii=False)
    return cast(list[dict[str, JsonValue]], json.loads(text.encode("utf-8", "replace")))


def _key(question: Question[Answer]) -> str:
    """Derive the key of a question from its name, its rendered messages and the shape of its answer."""
    shape = question.answer_type()
    schema = shape.model_json_schema() if issubclass(shape, BaseModel) else shape.__name__
    messages = [[message.type, message.content] for message in question.render()]
    text = json.dumps([question.name, messages, schema], ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
