"""Compute the figures of `engram bench reading` from its lines: how well each reader answers, and against plain turns.

A comparison is made on the questions that both readers were asked.
"""

from collections.abc import Callable, Sequence
from functools import partial
from statistics import fmean

from langgraph_engram.benchmarks.answer_scores import bleu1_amem, f1_amem, f1_locomo
from langgraph_engram.benchmarks.harness import (
    MEDIAN,
    RESAMPLES,
    AnswerFigures,
    RunUsage,
    add_usage,
    bootstrap_interval,
    mean,
    percentile,
    recall_times,
    shown_means,
)
from langgraph_engram.benchmarks.locomo_data import CATEGORIES
from langgraph_engram.benchmarks.resume import KeyedLine, LineKey
from langgraph_engram.schema import Frozen

TURNS = "turns"
"""The reader who is shown plain turns."""
GOLD = "gold"
"""The reader who is shown the turns that hold the answer."""
FULL = "full"
"""The reader who is shown every turn (HyMem Figure 5)."""
COMPRESSED = "compressed"
"""Begins the name of a reader who is shown the turns that hold the answer, shortened (HyMem Figure 6)."""
LIGHT_CALLS = 2
"""Calls that a question may take which light memory answers (HyMem: light answer and reflection)."""


class ReadingLine(AnswerFigures, KeyedLine):
    """One question, put to one reader."""

    model: str
    reader: str
    """A preset's name, or `turns`, `gold`, `full`, or `compressed-` with the share of the words that is kept."""
    sample: str
    index: int
    category: int
    question: str
    gold: str

    @property
    def key(self) -> LineKey:
        """Return the reader, the conversation and the question's index in it."""
        return self.reader, self.sample, self.index


class Difference(Frozen):
    """How much higher the second run scores, on average, and its confidence interval."""

    mean: float
    low: float
    high: float
    pairs: int


class ReaderFigures(Frozen):
    """How well one reader answers; rates in [0, 1], medians of a question."""

    questions: int
    f1_locomo: float | None
    f1_amem: float | None
    bleu1_amem: float | None
    f1_by_category: dict[str, float | None]
    calls_mean: float | None
    calls_p50: float | None
    prompt_tokens_p50: float | None
    completion_tokens_p50: float | None
    usage: RunUsage
    """Calls and tokens of all questions, in all and by step."""
    seconds: dict[str, object]
    """Percentiles of an answer and of its steps."""
    shown: dict[str, float | None]
    """What was shown to the reader, in the mean."""
    deep_ratio: float | None
    light_within_two_calls: float | None
    """Share of the questions that did not go deep which took two calls at most."""
    over_turns: Difference | None
    """f1_locomo above that of plain turns."""
    over_gold: Difference | None
    """f1_locomo above that of the turns that hold the answer."""
    over_half_way: Difference | None
    """f1_locomo above the middle between the two."""


class Comparison(Frozen):
    """All readers."""

    readers: dict[str, ReaderFigures]


def compare(lines: Sequence[ReadingLine]) -> Comparison:
    """Compute every figure of a run's lines."""
    readers = dict.fromkeys(line.reader for line in lines)
    scores = {reader: _scores(lines, reader) for reader in readers}
    return Comparison(readers={reader: _figures(lines, reader, scores) for reader in readers})


def paired_difference(
    first: Sequence[float], second: Sequence[float], resamples: int = RESAMPLES, seed: int = 0
) -> Difference:
    """Return the mean of `second - first` over the same questions, and its 95 % percentile interval (bootstrap).

    Args:
        first: One run's scores, one a question.
        second: The other run's, in the same order.
        resamples: How often the questions are drawn anew, with replacement.
        seed: The same seed gives the same interval.

    Raises:
        ValueError: The runs have no questions, or not the same number of them.
    """
    if len(first) != len(second) or not first:
        raise ValueError(f"paired scores must be as many and at least one, not {len(first)} and {len(second)}")
    differences = [after - before for before, after in zip(first, second, strict=True)]
    low, high = bootstrap_interval(differences, resamples, seed)
    return Difference(mean=fmean(differences), low=low, high=high, pairs=len(differences))


def _scores(lines: Sequence[ReadingLine], reader: str) -> dict[int, float]:
    return {line.index: _score(line) for line in lines if line.reader == reader}


def _score(line: ReadingLine) -> float:
    return f1_locomo(line.answer, line.gold, line.category)


def _figures(lines: Sequence[ReadingLine], reader: str, scores: dict[str, dict[int, float]]) -> ReaderFigures:
    own = [line for line in lines if line.reader == reader]
    light = [line for line in own if not line.went_deep]
    turns, gold = scores.get(TURNS, {}), scores.get(GOLD, {})
    half_way = {index: (turns[index] + gold[index]) / 2 for index in turns.keys() & gold.keys()}
    over = partial(_difference, scores[reader])
    return ReaderFigures(
        questions=len(own),
        f1_locomo=mean(map(_score, own)),
        f1_amem=mean(f1_amem(line.answer, line.gold) for line in own),
        bleu1_amem=mean(bleu1_amem(line.answer, line.gold) for line in own),
        f1_by_category={
            str(category): mean(_score(line) for line in own if line.category == category) for category in CATEGORIES
        },
        calls_mean=mean(line.read.calls for line in own),
        calls_p50=_median(own, lambda line: line.read.calls),
        prompt_tokens_p50=_median(own, lambda line: line.read.prompt_tokens),
        completion_tokens_p50=_median(own, lambda line: line.read.completion_tokens),
        usage=add_usage(line.read for line in own),
        seconds=recall_times(own),
        shown=shown_means(own),
        deep_ratio=mean(line.went_deep for line in own),
        light_within_two_calls=mean(line.read.calls <= LIGHT_CALLS for line in light),
        over_turns=over(turns) if reader != TURNS else None,
        over_gold=over(gold) if reader != GOLD else None,
        over_half_way=over(half_way) if reader not in (TURNS, GOLD) else None,
    )


def _median(lines: Sequence[ReadingLine], value: Callable[[ReadingLine], float]) -> float | None:
    return percentile([value(line) for line in lines], MEDIAN)


def _difference(own: dict[int, float], baseline: dict[int, float]) -> Difference | None:
    """Compare two readers on the questions that both were asked; None where there are none."""
    shared = sorted(own.keys() & baseline.keys())
    if not shared:
        return None
    return paired_difference([baseline[index] for index in shared], [own[index] for index in shared])
