"""Average measurements: means of what applies, percentiles, and the paired difference of two runs."""

from collections.abc import Iterable, Sequence

import numpy as np

from langgraph_engram.schema import Frozen

MEDIAN, NEARLY_ALL = 50, 95
RESAMPLES = 10_000
CONFIDENCE = 0.95
BATCH = 100
"""Resamples drawn at once, which bounds memory."""


def mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of the values that are known; None where none is."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def percentile(values: Sequence[float], percent: float) -> float | None:
    """Return the percentile by linear interpolation; None of no values."""
    return float(np.percentile(values, percent)) if values else None


class Difference(Frozen):
    """How much higher the second run scores, on average, and its confidence interval."""

    mean: float
    low: float
    high: float
    pairs: int


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
    differences = np.asarray(second, dtype=np.float64) - np.asarray(first, dtype=np.float64)
    generator = np.random.default_rng(seed)
    means: list[float] = []
    while len(means) < resamples:
        drawn = generator.integers(0, len(differences), (min(BATCH, resamples - len(means)), len(differences)))
        means.extend(differences[drawn].mean(axis=1).tolist())
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return Difference(mean=float(differences.mean()), low=float(low), high=float(high), pairs=len(first))
