"""Run LoCoMo (Maharana et al., ACL 2024) on a memory: write each conversation, ask its questions, compute the figures.

Each sample is a user of its own in one temporary store. Evidence comes from `search`, answers from `recall`. This
module knows a memory by its door alone.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from os import PathLike
from tempfile import TemporaryDirectory
from time import perf_counter

from langgraph_engram.benchmarks.asking import QuestionLine, Spent, ask, spent
from langgraph_engram.benchmarks.data import LocomoSample, read_samples
from langgraph_engram.benchmarks.door import MemoryDoor, OpenMemory, Progress
from langgraph_engram.benchmarks.figures import compute
from langgraph_engram.benchmarks.lines import kept, open_lines
from langgraph_engram.errors import InvalidInput
from langgraph_engram.results import Receipt

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
    memory: MemoryDoor, samples: Sequence[LocomoSample], progress: Progress | None = None
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
    memory: MemoryDoor, samples: Sequence[LocomoSample], progress: Progress | None = None
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
