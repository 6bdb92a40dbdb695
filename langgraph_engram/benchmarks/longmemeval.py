"""Run LongMemEval (Wu et al., ICLR 2025) on a memory: write each haystack, ask its question, compute the figures.

Each question has a haystack and a user of its own in one temporary store, and is asked at its own date. Evidence comes
from `search`, answers from `recall`. This module knows a memory by its door alone.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from os import PathLike
from tempfile import TemporaryDirectory
from time import perf_counter

from langgraph_engram.benchmarks.locomo import COUNTED
from langgraph_engram.benchmarks.longmemeval_figures import (
    LongMemEvalLine,
    LongMemEvalQuestion,
    QuestionIntent,
    ask_question,
    compute,
    read_intent,
    read_questions,
    trigger,
)
from langgraph_engram.benchmarks.questions import MemoryProtocol, OpenMemory, Progress, Spent, kept, open_lines, spent
from langgraph_engram.errors import InvalidInput
from langgraph_engram.results import Receipt
from langgraph_engram.rule_model.model import RuleModel


def run_longmemeval(
    path: str | PathLike[str],
    open_memory: OpenMemory,
    limit: int | None = None,
    out: str | PathLike[str] | None = None,
    progress: Progress | None = None,
) -> dict[str, object]:
    """Measure a memory on a LongMemEval file.

    Args:
        path: The file, gzipped or not; it is read, never copied. Items without a haystack count for
            `assistant_trigger` alone.
        open_memory: Opens the memory to be measured in the folder it is given.
        limit: The first questions up to this number; only their haystacks are written.
        out: A folder for `questions.jsonl`, one line a question, from which every figure can be recomputed.
        progress: Told what is being done.

    Returns:
        The figures as plain JSON: rates in [0, 1], times in seconds, None for what does not apply.

    Raises:
        InvalidInput: `limit` leaves no question.
        UnreadableFile: The file is missing or is not LongMemEval's.
    """
    questions = read_questions(path)[:limit]
    if not questions:
        raise InvalidInput(f"no question to ask: limit is {limit!r}, and must be at least 1")
    receipts: list[Receipt] = []
    seconds: list[float] = []
    with ExitStack() as stack:
        folder = stack.enter_context(TemporaryDirectory(prefix="engram-bench-"))
        memory = stack.enter_context(open_memory(folder))
        file = stack.enter_context(open_lines(out)) if out is not None else None
        intents = [read_intent(RuleModel(), question) for question in questions]
        lines = list(kept(_ask_all(memory, questions, intents, receipts, seconds, progress), file))
        status = memory.status(questions[0].question_id)
    told = {"preset": status.preset, "model": status.model}
    return {**told, **report(lines, receipts, seconds), "assistant_trigger": trigger(intents).model_dump()}


def _ask_all(
    memory: MemoryProtocol,
    questions: Sequence[LongMemEvalQuestion],
    intents: Sequence[QuestionIntent],
    receipts: list[Receipt],
    seconds: list[float],
    progress: Progress | None,
) -> Iterator[LongMemEvalLine]:
    """Write each haystack and ask its question, after a search that is not timed: it loads the user's index.

    What each writing did, and how long it took, is added to `receipts` and `seconds`.
    """
    for number, (question, intent) in enumerate(zip(questions, intents, strict=True)):
        if not question.sessions:
            continue
        if progress:
            progress(f"question {question.question_id}", number, len(questions))
        started = perf_counter()
        receipts.append(memory.remember_sessions(question.sessions, user_id=question.question_id))
        seconds.append(perf_counter() - started)
        memory.search(question.question, user_id=question.question_id)
        yield ask_question(memory, question, intent)


def report(
    lines: Sequence[LongMemEvalLine], receipts: Sequence[Receipt], seconds: Sequence[float]
) -> dict[str, object]:
    """Lay out a run's figures under the names of the command line's JSON."""
    figures = compute(lines)
    written = sum((spent(receipt.usage) for receipt in receipts), Spent())
    return {
        **figures.model_dump(exclude={"read", "read_p50", "read_p95"}),
        "evidence_recall": figures.turn_recall,
        "usage": {"write": written.model_dump(), "read": figures.read.model_dump()},
        "seconds": {
            "write": sum(seconds),
            "write_haystack": sum(seconds) / len(seconds) if seconds else None,
            "read_p50": figures.read_p50,
            "read_p95": figures.read_p95,
        },
        "written": {name: sum(getattr(receipt, name) for receipt in receipts) for name in COUNTED},
    }
