"""What the benchmarks share: the memory that is measured, one question put to it, `questions.jsonl`, and averages.

A line of `questions.jsonl` holds everything from which its figures are computed.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from os import PathLike
from pathlib import Path
from time import perf_counter
from typing import Protocol, Self, TextIO, TypeVar

import numpy as np
from filelock import FileLock, Timeout
from pydantic import ValidationError

from langgraph_engram.benchmarks.evidence_scores import BUDGETS, Passage, fit_budgets, quoted_turns, to_passage
from langgraph_engram.errors import InvalidInput, UnreadableFile
from langgraph_engram.formats.messages import Session
from langgraph_engram.prompts.rendering import CITATION
from langgraph_engram.results import Receipt, Recollection, Status, Usage, UsageEntry
from langgraph_engram.schema import Frozen

QUESTIONS_FILE = "questions.jsonl"
LOCK_FILE = ".engram-bench.lock"
MEDIAN, NEARLY_ALL = 50, 95
"""Percentiles."""
WRITTEN = ("stored_turns", "records", "quarantined", "pending")
"""Counts of the write that are reported beside its usage; pending turns mean that it was not finished."""

Progress = Callable[[str, int, int], None]
"""Called with the current step, how much is done, and how much there is."""
Line = TypeVar("Line", bound=Frozen)


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
        """Return the preset and the model that the memory works with, among others."""


MemoryOpener = Callable[[str], AbstractContextManager[MemoryProtocol]]
"""Opens a memory in the folder it is given; leaving the context closes it."""


class TokenUsage(Frozen):
    """Physical calls of a model, and their tokens."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    @classmethod
    def of(cls, usage: Usage | UsageEntry) -> Self:
        """Return the calls and tokens of a run, or of one of its steps."""
        return cls(calls=usage.calls, prompt_tokens=usage.prompt_tokens, completion_tokens=usage.completion_tokens)

    def __add__(self, other: "TokenUsage") -> "TokenUsage":
        """Return the sum of both."""
        return TokenUsage(
            calls=self.calls + other.calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
        )


class RecallFigures(Frozen):
    """What a memory found and answered for one question."""

    answer: str
    passages: dict[str, list[Passage]]
    """The passages that fit each budget, best first."""
    quotes: list[list[str]] | None = None
    """The turns that each quote is from; absent where a language model answered."""
    verdict: str
    went_deep: bool
    read_seconds: float
    """Seconds of the search."""
    read: TokenUsage
    """What the answer cost."""


Recalled = TypeVar("Recalled", bound=RecallFigures)


def measure_recall(memory: MemoryProtocol, user_id: str, query: str, now: datetime | None = None) -> RecallFigures:
    """Search for evidence within the largest budget, then have the question answered.

    Args:
        memory: The memory.
        user_id: Whose memory is asked.
        query: The question.
        now: When it is asked; by default the newest turn's time.
    """
    started = perf_counter()
    found = memory.search(query, user_id=user_id, budget=max(BUDGETS), now=now)
    seconds = perf_counter() - started
    recollection = memory.recall(query, user_id=user_id, now=now)
    return RecallFigures(
        answer=plain_answer(recollection.answer),
        passages=fit_budgets([to_passage(evidence) for evidence in found.evidence]),
        quotes=None if recollection.usage.calls else quoted_turns(recollection),
        verdict=recollection.verdict,
        went_deep=recollection.went_deep,
        read_seconds=seconds,
        read=TokenUsage.of(recollection.usage),
    )


def plain_answer(answer: str | None) -> str:
    """Return an answer without its citations."""
    return CITATION.sub("", answer or "").strip()


def write_usage(receipts: Sequence[Receipt]) -> TokenUsage:
    """Return what writing cost."""
    return sum((TokenUsage.of(receipt.usage) for receipt in receipts), TokenUsage())


def write_counts(receipts: Sequence[Receipt]) -> dict[str, int]:
    """Return what was written, under the names of the command line's JSON."""
    return {name: sum(getattr(receipt, name) for receipt in receipts) for name in WRITTEN}


def mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of the values that are known; None where none is."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def percentile(values: Sequence[float], percent: float) -> float | None:
    """Return the percentile by linear interpolation; None of no values."""
    return float(np.percentile(values, percent)) if values else None


def mean_at_budgets(
    lines: Sequence[Recalled], measure: Callable[[Sequence[Passage], Recalled], float | None]
) -> dict[str, float | None]:
    """Return the mean of a measure of the passages over lines, at each budget."""
    return {str(budget): mean(measure(line.passages[str(budget)], line) for line in lines) for budget in BUDGETS}


def split_by_answer(lines: Sequence[Recalled]) -> tuple[Sequence[Recalled], Sequence[Recalled]]:
    """Return the lines of a run that are quotes, and those of a language model: all are one or the other."""
    quoted = all(line.quotes is not None for line in lines)
    return (lines, ()) if quoted else ((), lines)


def open_lines(out: str | PathLike[str]) -> TextIO:
    """Open an empty `questions.jsonl` in a folder, which is made where there is none."""
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    return (folder / QUESTIONS_FILE).open("w", encoding="utf-8")


@contextmanager
def resume_lines(out: str | PathLike[str], kind: type[Line]) -> Iterator[tuple[list[Line], TextIO]]:
    """Yield the lines in the `questions.jsonl` of a folder, and the file to append to.

    A last line that was cut off while it was written is removed from the file.

    Raises:
        InvalidInput: Another run appends to it: both would ask the same.
        UnreadableFile: The file holds lines of another kind.
    """
    path = Path(out) / QUESTIONS_FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    with _locked(path.parent):
        whole, end, _ = (path.read_bytes() if path.exists() else b"").rpartition(b"\n")
        try:
            lines = [kind.model_validate_json(line) for line in whole.split(b"\n") if line]
        except ValidationError as error:
            raise UnreadableFile(f"{path} holds lines of another benchmark: give another folder") from error
        with path.open("a", encoding="utf-8") as file:
            file.truncate(len(whole + end))
            yield lines, file


def write_lines(lines: Iterator[Line], file: TextIO | None) -> Iterator[Line]:
    """Yield lines, each once it is written to the file, if there is one."""
    for line in lines:
        if file:
            file.write(line.model_dump_json() + "\n")
            file.flush()
        yield line


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock a folder, at once or not at all; the lock of a run that died is released."""
    try:
        lock = FileLock(folder / LOCK_FILE).acquire(blocking=False)
    except Timeout as error:
        raise InvalidInput(f"another run writes to {str(folder)!r}: wait for it, or give another folder") from error
    with lock:
        yield
