"""Bring the scores of routes to one scale, spread them to neighbours, and rank."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]
Places = NDArray[np.intp]


def min_max(scores: Scores) -> Scores:
    """Stretch scores to [0, 1] from 0 or the lowest, whichever is lower, to the highest.

    A score of 0 stays the least where none is below, so that the worse of two good records is not worth nothing.
    """
    if scores.size == 0:
        return np.zeros_like(scores)
    low = min(float(scores.min()), 0.0)
    span = float(scores.max()) - low
    return np.asarray((scores - low) / span) if span > 0 else np.zeros_like(scores)


def with_neighbours(scores: Scores, before: Places, after: Places, weights: Sequence[float]) -> Scores:
    """Add to each score the mean of its neighbours' on both sides, at each distance with its weight.

    Searching for a sentence by what stands around it beats showing what stands around it (docs/decisions).

    Args:
        scores: n scores.
        before: The place of the neighbour before each, -1 for none.
        after: The place of the neighbour after each, -1 for none.
        weights: The weight at distance 1, 2 and so on.
    """
    total = scores.astype(np.float64)
    one, other = before, after
    for weight in weights:
        total = total + weight * (_at(scores, one) + _at(scores, other)) / 2
        one, other = _follow(before, one), _follow(after, other)
    return total


def ranks(scores: Scores, most: int) -> list[int]:
    """Give the places of the highest scores, best first; equal scores keep their order."""
    return [int(place) for place in np.argsort(-scores, kind="stable")[:most]]


def _at(scores: Scores, places: Places) -> Scores:
    return np.where(places >= 0, scores[places], 0.0)


def _follow(step: Places, places: Places) -> Places:
    return np.where(places >= 0, step[places], -1)
