"""Run LoCoMo (Maharana et al., ACL 2024) on a memory: write each conversation, ask its questions, compute the figures.

Each sample is a user of its own in one temporary store. Evidence comes from `search`, answers from `recall`. This
module knows a memory by its door alone.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from langgraph_engram.benchmarks.questions import (
    LocomoSample,
    MemoryProtocol,
    OpenMemory,
    Progress,
    QuestionLine,
    Spent,
    ask,
    kept,
    open_lines,
    read_samples,
    spent,
)
from langgraph_engram.benchmarks.quotes import quote_recall, split_by_answer
from langgraph_engram.benchmarks.scores import (
    CATEGORIES,
    TEMPORAL,
    all_evidence_recall,
    answer_token_recall,
    bleu1_amem,
    evidence_recall,
    f1_amem,
    f1_locomo,
    scored_gold,
    temporal_interval,
)
from langgraph_engram.benchmarks.statistics import MEDIAN, NEARLY_ALL, at_budgets, mean, percentile
from langgraph_engram.errors import InvalidInput
from langgraph_engram.results import Receipt
from langgraph_engram.schema import Frozen


class Scores(Frozen):
    """How well some questions were served; every rate is in [0, 1]."""

    questions: int
    evidence_recall: dict[str, float | None]
    all_evidence_recall: dict[str, float | None]
    answer_token_recall: dict[str, float | None]
    quote_1: float | None
    """Share of questions whose first quote is from an evidence turn; absent where a language model answered."""
    quote_3: float | None
    """The same of the first three."""
    f1_locomo: float | None
    f1_amem: float | None
    bleu1_amem: float | None
    temporal_interval: float | None


class Figures(Scores):
    """All that a run's lines tell."""

    by_category: dict[str, Scores]
    deep_ratio: float | None
    """Share of answers that went past the light retrieval."""
    read: Spent
    read_p50: float | None
    read_p95: float | None
    """Seconds of a search."""


def recompute(path: str | PathLike[str]) -> Figures:
    """Compute every figure from a `questions.jsonl`."""
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    return compute(QuestionLine.model_validate_json(line) for line in lines)


def compute(questions: Iterable[QuestionLine]) -> Figures:
    """Compute every figure from a run's lines."""
    lines = list(questions)
    seconds = [line.read_seconds for line in lines]
    by_category = {
        str(category): score([line for line in lines if line.category == category]) for category in CATEGORIES
    }
    return Figures(
        **dict(score(lines)),
        by_category=by_category,
        deep_ratio=mean(line.went_deep for line in lines),
        read=sum((line.read for line in lines), Spent()),
        read_p50=percentile(seconds, MEDIAN),
        read_p95=percentile(seconds, NEARLY_ALL),
    )


def score(lines: Sequence[QuestionLine]) -> Scores:
    """Score some questions together: answers of a language model by their words, quotes by the turns they are from."""
    quoted, answered = split_by_answer(lines)
    return Scores(
        questions=len(lines),
        evidence_recall=at_budgets(lines, lambda pieces, line: evidence_recall(pieces, line.evidence)),
        all_evidence_recall=at_budgets(lines, lambda pieces, line: all_evidence_recall(pieces, line.evidence)),
        answer_token_recall=at_budgets(
            lines, lambda pieces, line: answer_token_recall(pieces, scored_gold(line.gold, line.category))
        ),
        quote_1=mean(quote_recall(line.quotes, line.evidence, 1) for line in quoted),
        quote_3=mean(quote_recall(line.quotes, line.evidence, 3) for line in quoted),
        f1_locomo=mean(f1_locomo(line.answer, line.gold, line.category) for line in answered),
        f1_amem=mean(f1_amem(line.answer, line.gold) for line in answered),
        bleu1_amem=mean(bleu1_amem(line.answer, line.gold) for line in answered),
        temporal_interval=mean(
            temporal_interval(line.answer, line.gold) for line in answered if line.category == TEMPORAL
        ),
    )


COUNTED = ("stored_turns", "records", "quarantined", "pending")
"""What is told of the write beside its cost; pending turns mean that it was not finished."""


def run_locomo(
    path: str | PathLike[str],
    open_memory: OpenMemory,
    limit: int | None = None,
    out: str | PathLike[str] | None = None,
    progress: Progress | None = None,
) -> dict[str, object]:
    """Measure a memory on a LoCoMo file.

    Args:
        path: The file; it is read, never copied.
        open_memory: Opens the memory to be measured in the folder it is given.
        limit: The first questions of categories 1 to 4 up to this number; only the samples they need are written.
        out: A folder for `questions.jsonl`, one line a question, from which every figure can be recomputed.
        progress: Told what is being done.

    Returns:
        The figures as plain JSON: rates in [0, 1], times in seconds, None for what does not apply.

    Raises:
        InvalidInput: `limit` leaves no question.
        UnreadableFile: The file is missing or is not LoCoMo's.
    """
    samples = read_samples(path, limit)
    if not any(sample.questions for sample in samples):
        raise InvalidInput(
            f"no question to ask: the file needs some of categories 1 to 4, and limit {limit!r} at least 1"
        )
    with ExitStack() as stack:
        folder = stack.enter_context(TemporaryDirectory(prefix="engram-bench-"))
        memory = stack.enter_context(open_memory(folder))
        file = stack.enter_context(open_lines(out)) if out is not None else None
        receipts, seconds = write_samples(memory, samples, progress)
        lines = list(kept(ask_samples(memory, samples, progress), file))
        status = memory.status(samples[0].sample_id)
    return {"preset": status.preset, "model": status.model, **report(lines, receipts, seconds)}


def write_samples(
    memory: MemoryProtocol, samples: Sequence[LocomoSample], progress: Progress | None = None
) -> tuple[list[Receipt], float]:
    """Write each sample as the memory of a user of its name.

    Returns:
        A receipt for each sample, and the seconds they took together.
    """
    started = perf_counter()
    receipts = [
        memory.remember_sessions(sample.sessions, user_id=sample.sample_id, progress=progress) for sample in samples
    ]
    return receipts, perf_counter() - started


def ask_samples(
    memory: MemoryProtocol, samples: Sequence[LocomoSample], progress: Progress | None = None
) -> Iterator[QuestionLine]:
    """Ask all questions, each sample's after one search that is not timed: the first one loads the user's index."""
    total, asked = sum(len(sample.questions) for sample in samples), 0
    for sample in samples:
        for number, question in enumerate(sample.questions):
            if number == 0:
                memory.search(question.question, user_id=sample.sample_id)
            if progress:
                progress("asking", asked, total)
            yield ask(memory, sample.sample_id, question)
            asked += 1


def report(lines: Sequence[QuestionLine], receipts: Sequence[Receipt], write_seconds: float) -> dict[str, object]:
    """Lay out a run's figures under the names of the command line's JSON."""
    figures = compute(lines)
    written = sum((spent(receipt.usage) for receipt in receipts), Spent())
    return {
        **figures.model_dump(exclude={"read", "read_p50", "read_p95"}),
        "usage": {"write": written.model_dump(), "read": figures.read.model_dump()},
        "seconds": {"write": write_seconds, "read_p50": figures.read_p50, "read_p95": figures.read_p95},
        "written": {name: sum(getattr(receipt, name) for receipt in receipts) for name in COUNTED},
    }
