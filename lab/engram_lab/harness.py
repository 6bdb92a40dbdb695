"""What the benchmarks share: the memory that is measured, one question put to it, averages and their intervals.

A line of `questions.jsonl` holds everything from which its figures are computed.
"""

import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from os import PathLike
from time import perf_counter
from typing import Self, TypeVar

import numpy as np
from scipy.stats import bootstrap

from engram_lab.evidence_scores import BUDGETS, SHOWN, Passage, fit_budget, quoted_turns, to_passage
from langgraph_engram.llm.base import Model
from langgraph_engram.memory import Memory
from langgraph_engram.prompts.parse_intent import SYSTEM
from langgraph_engram.prompts.rendering import CITATION
from langgraph_engram.results import Recollection, Usage, UsageEntry, count_tokens
from langgraph_engram.schema import Evidence, Frozen

MEDIAN, NEARLY_ALL = 50, 95
"""Percentiles."""
WRITTEN = ("stored_turns", "records", "quarantined", "pending")
"""Counts of the write that are reported beside its usage; pending turns mean that it was not finished."""
COSTS = ("calls", "prompt_tokens", "completion_tokens")
RESAMPLES = 10_000
CONFIDENCE = 0.95
RESAMPLES_AT_ONCE = 100

StrPath = str | PathLike[str]
Figures = dict[str, object]
"""Figures by name, nested, as plain JSON."""
Progress = Callable[[str, int, int], None] | None
"""Called with the current step, how much is done, and how much there is; None where nobody looks."""
MemoryOpener = Callable[[str], AbstractContextManager[Memory]]
"""Opens a memory in the folder it is given; leaving the context closes it."""


@dataclass(frozen=True)
class Setup:
    """What a benchmark writes and reads memories with, by its names."""

    open_writer: MemoryOpener
    open_reader: MemoryOpener
    preset: str = ""
    writer: str = ""
    reader: str = ""
    encoder: str = ""
    settings: Mapping[str, object] = field(default_factory=dict)
    """Everything else that decides what is written and answered, as JSON."""
    intent_model: Model | None = None
    """What parses queries under the settings; None for the rules."""
    intent_rules: str = SYSTEM
    """What it is told."""

    def names(self) -> dict[str, str]:
        """Return the names, under those of the command line's JSON."""
        return {"preset": self.preset, "writer": self.writer, "model": self.reader, "encoder": self.encoder}

    def described(self) -> Figures:
        """Return what a run that is continued must share with the one before it."""
        return {**self.names(), "settings": self.settings}


def cost(usages: Collection[Usage | UsageEntry]) -> dict[str, int]:
    """Return the calls of models and their tokens, of runs or of steps together."""
    return {name: sum(getattr(usage, name) for usage in usages) for name in COSTS}


def cost_by_node(usages: Sequence[Usage]) -> Figures:
    """Return what runs cost together, in all and by node."""
    entries = [entry for usage in usages for entry in usage.by_node]
    nodes = dict.fromkeys(entry.node for entry in entries)
    by_node = {node: cost([entry for entry in entries if entry.node == node]) for node in nodes}
    return {**cost(usages), "by_node": by_node}


class WriteFigures(Frozen):
    """What writing one memory took."""

    counts: dict[str, int]
    usage: Usage
    seconds: float
    processor_seconds: float = 0.0
    """Of all threads together."""
    peak_memory_mib: int = 0
    """Of the whole process, up to the end of the write."""


def peak_memory_mib() -> int:
    """Return the most memory that the process has held; 0 where the system does not say."""
    if sys.platform == "win32":
        return 0
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most // 2**20 if sys.platform == "darwin" else most // 2**10


class ShownFigures(Frozen):
    """What the reader of an answer was shown."""

    records: int = 0
    syntheses: int = 0
    raw_passages: int = 0
    """Events, units, or runs of turns, as they were said."""
    raw_turns: int = 0
    tokens: int = 0

    @classmethod
    def of(cls, evidence: Sequence[Evidence]) -> Self:
        """Count the passages of an answer."""
        raw = [passage for passage in evidence if not passage.record and not passage.synthesis_id]
        return cls(
            records=sum(passage.record is not None for passage in evidence),
            syntheses=sum(passage.synthesis_id is not None for passage in evidence),
            raw_passages=len(raw),
            raw_turns=sum(len(passage.turns) for passage in raw),
            tokens=sum(count_tokens(passage.text) for passage in evidence),
        )


class AnswerFigures(Frozen):
    """What was answered to one question, and what that took."""

    answer: str = ""
    verdict: str = ""
    """Empty where no memory was asked."""
    breadth: str = "narrow"
    went_deep: bool = False
    shown: ShownFigures = ShownFigures()
    """What the answer was written from."""
    read: Usage = Usage()
    """What the answer cost."""
    recall_seconds: float = 0.0
    step_seconds: dict[str, float] = {}


class RecallFigures(AnswerFigures):
    """What a memory found and answered for one question."""

    passages: dict[str, list[Passage]]
    """The passages that fit each budget, best first, however weak; under `SHOWN` what a search shows by itself."""
    quotes: list[list[str]] | None = None
    """The turns that each quote is from; absent where a language model answered."""
    read_seconds: float
    """Seconds of the search."""


Recalled = TypeVar("Recalled", bound=RecallFigures)


def measure_answer(
    memory: Memory, user_id: str, query: str, now: datetime | None = None
) -> tuple[AnswerFigures, Recollection]:
    """Have a question answered; return what it took, and the answer as the memory gave it."""
    started = perf_counter()
    recollection = memory.recall(query, user_id=user_id, now=now)
    figures = AnswerFigures(
        answer=plain_answer(recollection.answer),
        verdict=recollection.verdict,
        breadth=recollection.breadth,
        went_deep=recollection.went_deep,
        shown=ShownFigures.of(recollection.evidence),
        read=recollection.usage,
        recall_seconds=perf_counter() - started,
        step_seconds=recollection.step_seconds,
    )
    return figures, recollection


def measure_recall(
    memory: Memory, user_id: str, query: str, now: datetime | None = None, budgets: Sequence[int] = BUDGETS
) -> RecallFigures:
    """Search as users do, then for all that fits the largest budget, and have the question answered."""
    started = perf_counter()
    found = memory.search(query, user_id=user_id, now=now)
    seconds = perf_counter() - started
    everything = memory.search(query, user_id=user_id, budget=max(budgets), stop=0, now=now)
    ranked = [to_passage(evidence) for evidence in everything.evidence]
    figures, recollection = measure_answer(memory, user_id, query, now)
    return RecallFigures(
        **dict(figures),
        passages={
            **{str(budget): fit_budget(ranked, budget) for budget in budgets},
            SHOWN: [to_passage(evidence) for evidence in found.evidence],
        },
        quotes=None if recollection.usage.calls else quoted_turns(recollection),
        read_seconds=seconds,
    )


def plain_answer(answer: str | None) -> str:
    """Return an answer without its citations."""
    return CITATION.sub("", answer or "").strip()


def recall_times(lines: Sequence[AnswerFigures]) -> Figures:
    """Return the percentiles of the seconds of an answer, and of each step over the answers that took it."""
    steps = dict.fromkeys(step for line in lines for step in line.step_seconds)
    by_step = {step: [line.step_seconds[step] for line in lines if step in line.step_seconds] for step in steps}
    taken = percentiles([line.recall_seconds for line in lines], "recall_")
    return {**taken, "recall_by_step": {step: percentiles(seconds) for step, seconds in by_step.items()}}


def percentiles(seconds: Sequence[float], prefix: str = "") -> dict[str, float | None]:
    """Return the median and the 95th percentile."""
    return {f"{prefix}p50": percentile(seconds, MEDIAN), f"{prefix}p95": percentile(seconds, NEARLY_ALL)}


def shown_means(lines: Sequence[AnswerFigures]) -> dict[str, float | None]:
    """Return the mean of each count of what readers were shown."""
    return {name: mean(getattr(line.shown, name) for line in lines) for name in ShownFigures.model_fields}


def mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of the values that are known; None where none is."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def percentile(values: Sequence[float], percent: float) -> float | None:
    """Return the percentile by linear interpolation; None of no values."""
    return float(np.percentile(values, percent)) if values else None


def mean_at_budgets(
    lines: Sequence[Recalled],
    measure: Callable[[Sequence[Passage], Recalled], float | None],
    budgets: Sequence[int] = BUDGETS,
) -> dict[str, float | None]:
    """Return the mean of a measure of the passages over lines, at each budget and as shown."""
    named = (*map(str, budgets), SHOWN)
    return {name: mean(measure(line.passages[name], line) for line in lines if name in line.passages) for name in named}


def split_by_answer(lines: Sequence[Recalled]) -> tuple[Sequence[Recalled], Sequence[Recalled]]:
    """Return the lines of a run that are quotes, and those of a language model: all are one or the other."""
    quoted = all(line.quotes is not None for line in lines)
    return (lines, ()) if quoted else ((), lines)


def bootstrap_interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % percentile interval of the mean of values (bootstrap)."""
    if len(values) == 1:
        return values[0], values[0]
    options = {"n_resamples": RESAMPLES, "confidence_level": CONFIDENCE, "batch": RESAMPLES_AT_ONCE}
    drawn = np.random.default_rng(0)  # the same interval each time
    found = bootstrap((values,), np.mean, method="percentile", rng=drawn, **options).confidence_interval
    return float(found.low), float(found.high)
