"""Ask a memory one question, and keep all that its figures are computed from as one line of `questions.jsonl`.

This module does not know how a line is scored.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import datetime
from os import PathLike, fspath
from pathlib import Path
from time import perf_counter
from typing import Protocol, TextIO, TypeVar

from filelock import FileLock, Timeout
from pydantic import ValidationError

from langgraph_engram.benchmarks.quotes import quoted_turns
from langgraph_engram.benchmarks.scores import BUDGETS, CATEGORIES, Passage, fit_budgets, statements_of, to_passage
from langgraph_engram.errors import InvalidInput, UnreadableFile
from langgraph_engram.formats.datasets import listed, sample_sessions
from langgraph_engram.formats.files import parse_json, read_file
from langgraph_engram.formats.messages import Session, shown
from langgraph_engram.prompts.rendering import CITATION
from langgraph_engram.results import Receipt, Recollection, Status, Usage
from langgraph_engram.schema import Frozen

TURN_ID = re.compile(r"D(\d+):(\d+)")


@dataclass(frozen=True)
class LocomoQuestion:
    """One question of categories 1 to 4."""

    index: int
    """Its place among all questions of the sample, from 0."""
    category: int
    question: str
    gold: str
    evidence: dict[str, list[str]]
    """The turns that support the answer, by id: what each states."""


@dataclass(frozen=True)
class LocomoSample:
    """One conversation and what is asked about it."""

    sample_id: str
    sessions: list[Session]
    questions: list[LocomoQuestion]


def read_samples(path: str | PathLike[str], limit: int | None = None) -> list[LocomoSample]:
    """Read a file's samples, in order.

    Args:
        path: A LoCoMo file: one sample or a list.
        limit: Keep the first questions up to this number, and only the samples they are about.

    Raises:
        UnreadableFile: The file is missing or is not LoCoMo's.
        InvalidMessages: A turn of it cannot be kept.
    """
    name = fspath(path)
    data = parse_json(read_file(name), name)
    try:
        samples = [_read_sample(sample, number) for number, sample in enumerate(listed(data))]
    except InvalidInput as error:
        raise type(error)(f"{name}: {error}") from error
    return samples if limit is None else first_questions(samples, limit)


def first_questions(samples: Sequence[LocomoSample], limit: int) -> list[LocomoSample]:
    """Keep the first `limit` questions, and only the samples they are about."""
    kept = []
    for sample in samples:
        questions = sample.questions[: max(0, limit)]
        limit -= len(questions)
        if questions:
            kept.append(LocomoSample(sample.sample_id, sample.sessions, questions))
    return kept


def normalise_ids(evidence: Sequence[object]) -> list[str]:
    """Give the turn ids named in an evidence field, in order, without repeats: "D8:06; D9:17" is D8:6 and D9:17."""
    found = [match for text in evidence for match in TURN_ID.finditer(str(text))]
    return list(dict.fromkeys(f"D{int(match[1])}:{int(match[2])}" for match in found))


def _read_sample(sample: Mapping[str, object], number: int) -> LocomoSample:
    sessions = sample_sessions(sample)
    stated = {
        message.external_id: statements_of(message.text, message.captions)
        for session in sessions
        for message in session.messages
        if message.external_id
    }
    asked = sample.get("qa")
    if not isinstance(asked, list):
        raise UnreadableFile(f"expected a list of questions at qa of sample {number}, not {shown(asked)}")
    questions = [_read_question(one, index, stated) for index, one in enumerate(asked)]
    return LocomoSample(str(sample.get("sample_id", number)), sessions, [one for one in questions if one])


def _read_question(asked: object, index: int, stated: Mapping[str, list[str]]) -> LocomoQuestion | None:
    if not isinstance(asked, Mapping) or not isinstance(asked.get("question"), str):
        raise UnreadableFile(f"expected a question with its category, answer and evidence at qa[{index}]")
    if asked.get("category") not in CATEGORIES:
        return None
    evidence = asked.get("evidence") or []
    return LocomoQuestion(
        index=index,
        category=asked["category"],
        question=asked["question"],
        gold=str(asked.get("answer", "")),
        evidence={turn_id: stated[turn_id] for turn_id in normalise_ids(evidence) if turn_id in stated},
    )


Progress = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and how much there is."""


class MemoryProtocol(Protocol):
    """The part of `Memory` that is measured."""

    def remember_sessions(
        self, sessions: Sequence[Session], *, user_id: str, progress: Progress | None = None
    ) -> Receipt:
        """Write sessions into a user's memory."""

    def search(
        self, query: str, *, user_id: str, budget: int | None = None, now: datetime | None = None
    ) -> Recollection:
        """Find evidence, best first, within a budget of tokens."""

    def recall(self, query: str, *, user_id: str, now: datetime | None = None) -> Recollection:
        """Answer a question, citing evidence as [n]."""

    def status(self, user_id: str) -> Status:
        """Tell under which preset and with which model the memory works."""


OpenMemory = Callable[[str], AbstractContextManager[MemoryProtocol]]
"""Opens a memory in the folder it is given; leaving the context closes it."""


class Spent(Frozen):
    """What a step cost: physical calls and tokens."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def __add__(self, other: "Spent") -> "Spent":
        """Add up two costs."""
        return Spent(
            calls=self.calls + other.calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
        )


class RecallFigures(Frozen):
    """What a memory found and answered, beside what it was asked."""

    answer: str
    pieces: dict[str, list[Passage]]
    """The pieces that fit each budget, best first."""
    quotes: list[list[str]] | None = None
    """The turns that each quote is from; absent where a language model answered."""
    verdict: str
    went_deep: bool
    read_seconds: float
    """How long the search took."""
    read: Spent
    """What the answer cost."""


class QuestionLine(RecallFigures):
    """One question of LoCoMo, what was found for it at each budget, and what was answered."""

    sample: str
    index: int
    category: int
    question: str
    gold: str
    evidence: dict[str, list[str]]
    """The turns that support the answer, by id: what each states."""


def spent(usage: Usage) -> Spent:
    """Take calls and tokens of a ledger."""
    return Spent(calls=usage.calls, prompt_tokens=usage.prompt_tokens, completion_tokens=usage.completion_tokens)


def ask(memory: MemoryProtocol, sample_id: str, question: LocomoQuestion) -> QuestionLine:
    """Ask a question of LoCoMo.

    Args:
        memory: The memory, which holds the sample under the sample's id as its user.
        sample_id: The sample.
        question: The question.
    """
    return QuestionLine(
        sample=sample_id,
        index=question.index,
        category=question.category,
        question=question.question,
        gold=question.gold,
        evidence=question.evidence,
        **dict(put(memory, sample_id, question.question)),
    )


def put(memory: MemoryProtocol, user_id: str, query: str, now: datetime | None = None) -> RecallFigures:
    """Search for evidence within the largest budget, then have the question answered.

    Args:
        memory: The memory.
        user_id: Who is asked about.
        query: The question.
        now: When it is asked; the newest turn's time unless told otherwise.
    """
    started = perf_counter()
    found = memory.search(query, user_id=user_id, budget=max(BUDGETS), now=now)
    seconds = perf_counter() - started
    told = memory.recall(query, user_id=user_id, now=now)
    return RecallFigures(
        answer=plain_answer(told.answer),
        pieces=fit_budgets([to_passage(one) for one in found.evidence]),
        quotes=None if told.usage.calls else quoted_turns(told),
        verdict=told.verdict,
        went_deep=told.went_deep,
        read_seconds=seconds,
        read=spent(told.usage),
    )


def plain_answer(answer: str | None) -> str:
    """Give an answer without its citations."""
    return CITATION.sub("", answer or "").strip()


QUESTIONS_FILE = "questions.jsonl"
LOCK_FILE = ".engram-bench.lock"

Line = TypeVar("Line", bound=Frozen)


def open_lines(out: str | PathLike[str]) -> TextIO:
    """Open the file in a folder, which is made where there is none."""
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    return (folder / QUESTIONS_FILE).open("w", encoding="utf-8")


@contextmanager
def continued(out: str | PathLike[str], kind: type[Line]) -> Iterator[tuple[list[Line], TextIO]]:
    """Give the lines that stand in the file of a folder, and the file to add to.

    A last line that was cut off while it was written is taken out of the file.

    Raises:
        InvalidInput: Another run adds to it: both would ask the same.
        UnreadableFile: The file holds lines of another kind.
    """
    path = Path(out) / QUESTIONS_FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    with _alone(path.parent):
        whole, end, _ = (path.read_bytes() if path.exists() else b"").rpartition(b"\n")
        try:
            lines = [kind.model_validate_json(line) for line in whole.split(b"\n") if line]
        except ValidationError as error:
            raise UnreadableFile(f"{path} holds lines of another benchmark: give another folder") from error
        with path.open("a", encoding="utf-8") as file:
            file.truncate(len(whole + end))
            yield lines, file


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold a folder, at once or not at all; a run that died lets go of it."""
    try:
        held = FileLock(folder / LOCK_FILE).acquire(blocking=False)
    except Timeout as error:
        raise InvalidInput(f"another run writes to {str(folder)!r}: wait for it, or give another folder") from error
    with held:
        yield


def kept(lines: Iterator[Line], file: TextIO | None) -> Iterator[Line]:
    """Give lines, each once it stands in the file; without a file, just give them."""
    for line in lines:
        if file:
            file.write(line.model_dump_json() + "\n")
            file.flush()
        yield line
