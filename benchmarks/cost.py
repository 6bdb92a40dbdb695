"""Count what writing conversations costs: physical calls and tokens, by node (`engram bench cost`).

Every answer is the rules', so that counts are those of a model that answers well, and the same each time. This module
knows a memory by its door alone.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from os import PathLike
from tempfile import TemporaryDirectory
from time import perf_counter

from langgraph_engram.benchmarks.counting_model import CountingModel
from langgraph_engram.benchmarks.data import read_samples
from langgraph_engram.benchmarks.door import MemoryDoor, Progress
from langgraph_engram.model import Model
from langgraph_engram.runs.receipts import add_receipts, comparisons_of

OpenWith = Callable[[str, Model], AbstractContextManager[MemoryDoor]]
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
