"""Average what was measured: means of what applies, percentiles, and a figure at each budget.

This module does not know what is measured.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

import numpy as np

from langgraph_engram.benchmarks.pieces import BUDGETS, Piece

MEDIAN, NEARLY_ALL = 50, 95


class WithPieces(Protocol):
    """A line of a run: what was shown at each budget."""

    @property
    def pieces(self) -> Mapping[str, Sequence[Piece]]:
        """Give the pieces that fit each budget, best first."""


Line = TypeVar("Line", bound=WithPieces)


def mean(values: Iterable[float | None]) -> float | None:
    """Average what applies; None is left out, and nothing at all has no mean."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def percentile(values: Sequence[float], percent: float) -> float | None:
    """Give the percentile by linear interpolation; None of no values."""
    return float(np.percentile(values, percent)) if values else None


def at_budgets(
    lines: Sequence[Line], measure: Callable[[Sequence[Piece], Line], float | None]
) -> dict[str, float | None]:
    """Average a measure of the pieces over lines, at each budget."""
    return {str(budget): mean(measure(line.pieces[str(budget)], line) for line in lines) for budget in BUDGETS}
