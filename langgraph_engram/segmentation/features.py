"""Describe the gaps between turns in numbers: what is said, and how far what follows coheres with what came before."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from langgraph_engram.embeddings.base import Vectors
from langgraph_engram.text.dialogue_acts import TurnCues

Numbers = NDArray[np.float64]

FEATURES = (
    "asks", "asks_inside", "asked_before", "asked_inside_before", "ended_asking_before", "question_cue",
    "asks_in_reply", "greets", "greeted_before", "takes_leave", "took_leave_before", "points_back", "shared_stems",
    "length", "coherence_1", "coherence_2", "coherence_3", "relative_coherence", "relative_depth",
    "is_minimum_1", "is_minimum_2",
    "across_later", "across_earlier", "coherence_ahead",
)  # fmt: skip
"""The numbers of a gap, in the order of the columns."""
COHERENCE_FEATURES = (
    "shared_stems", "coherence_1", "coherence_2", "coherence_3", "relative_coherence", "relative_depth",
    "is_minimum_1", "is_minimum_2", "across_later", "across_earlier", "coherence_ahead",
)  # fmt: skip
"""The features that tell how a gap coheres, whatever the kind of its turns."""
PRIOR_GAPS = 6
"""Gaps that the prior counts for."""
MOST_STEMS = 8
"""Stems of a turn that can be expected to be said again."""
REACH = 3
"""Gaps on each side among which a peak of coherence is looked for."""
PRIOR_ACROSS = 0.25
PRIOR_AHEAD = 0.4
"""_Prior means of single similarities: across one turn, and with the turns that follow."""


@dataclass(frozen=True)
class _Prior:
    """The mean and the deviation that are usual in a dialogue."""

    mean: float
    deviation: float

    def relative(self, values: Numbers) -> Numbers:
        """Return values as deviations from their mean, both drawn towards the prior."""
        count = PRIOR_GAPS + len(values)
        mean = (PRIOR_GAPS * self.mean + values.sum()) / count
        variance = (PRIOR_GAPS * self.deviation**2 + ((values - mean) ** 2).sum()) / count
        return np.asarray((values - mean) / np.sqrt(variance))


COHERENCE = _Prior(0.5, 0.1)
DEPTH = _Prior(0.15, 0.14)
LENGTH = _Prior(2.3, 0.6)
"""Logarithms of words a turn."""


def boundary_features(cues: Sequence[TurnCues], vectors: Vectors) -> Numbers:
    """Return the numbers that describe the gaps between n turns.

    Args:
        cues: The dialogue acts of each turn.
        vectors: Their unit vectors, of shape (n, d).

    Returns:
        An array of shape (n - 1, len(FEATURES)); row i is the gap before turn i + 1. No gaps give (0, ...).
    """
    if len(cues) < 2:
        return np.zeros((0, len(FEATURES)))
    centred = vectors.astype(np.float64) - vectors.mean(axis=1, keepdims=True)
    return np.column_stack([*_dialogue_features(cues), *_coherence_features(centred @ centred.T)])


def coherence(products: Numbers, side: int) -> Numbers:
    """Compute the correlation between the means of `side` turns before and after each gap (rho of ES-Mem Eq. 1).

    Args:
        products: Inner products of the turns' centred vectors, of shape (n, n).
        side: L, turns a side, fewer where a dialogue begins or ends.

    Returns:
        n - 1 correlations in [-1, 1]; a constant vector correlates with nothing.
    """
    sums = np.pad(products, ((1, 0), (1, 0))).cumsum(axis=0).cumsum(axis=1)
    gaps = np.arange(1, len(products))
    low, high = np.maximum(0, gaps - side), np.minimum(len(products), gaps + side)
    within_before = _block(sums, low, gaps, low, gaps)
    within_after = _block(sums, gaps, high, gaps, high)
    size = np.sqrt(np.maximum(within_before, 0) * np.maximum(within_after, 0))
    across = _block(sums, low, gaps, gaps, high)
    rho = np.divide(across, size, out=np.zeros_like(across), where=size > np.finfo(np.float32).eps)
    return np.asarray(np.clip(rho, -1, 1))


def _dialogue_features(cues: Sequence[TurnCues]) -> list[Numbers]:
    asks, inside, ends, replies, greets, leaves, points = np.array(
        [
            (cue.asks, cue.asks_inside, cue.ends_asking, cue.replies, cue.greets, cue.takes_leave, cue.points_back)
            for cue in cues
        ],
        dtype=np.float64,
    ).T
    length = LENGTH.relative(np.log1p(np.array([cue.length for cue in cues], dtype=np.float64)))
    return [
        asks[1:], inside[1:], asks[:-1], inside[:-1], ends[:-1], asks[1:] * (1 - asks[:-1]), asks[1:] * replies[1:],
        greets[1:], greets[:-1], leaves[1:], leaves[:-1], points[1:], _shared_stems(cues), length[1:],
    ]  # fmt: skip


def _shared_stems(cues: Sequence[TurnCues]) -> Numbers:
    """Return the share of a turn's stems that the two turns before it hold."""
    none: frozenset[str] = frozenset()
    before = [cue.stems | previous for cue, previous in zip(cues, [none, *(cue.stems for cue in cues)], strict=False)]
    shares = [
        len(cue.stems & earlier) / max(1, min(len(cue.stems), MOST_STEMS))
        for cue, earlier in zip(cues[1:], before, strict=False)
    ]
    return np.array(shares)


def _coherence_features(products: Numbers) -> list[Numbers]:
    side_1, side_2, side_3 = (coherence(products, side) for side in (1, 2, 3))
    later, earlier = _across(products)
    depths = _highest_ahead(side_3[::-1])[::-1] + _highest_ahead(side_3) - 2 * side_3
    return [
        side_1, side_2, side_3, COHERENCE.relative(side_2), DEPTH.relative(depths), _minima(side_1), _minima(side_2),
        later, earlier, _ahead(products),
    ]  # fmt: skip


def _block(
    sums: Numbers, top: NDArray[np.int_], bottom: NDArray[np.int_], left: NDArray[np.int_], right: NDArray[np.int_]
) -> Numbers:
    return np.asarray(sums[bottom, right] - sums[top, right] - sums[bottom, left] + sums[top, left])


def _highest_ahead(values: Numbers) -> Numbers:
    """Return the highest of each value and the `REACH` that follow."""
    padded = np.pad(values, (0, REACH), constant_values=-np.inf)
    return np.asarray(np.lib.stride_tricks.sliding_window_view(padded, REACH + 1).max(axis=1))


def _minima(values: Numbers) -> Numbers:
    """Return 1 for each value that no neighbour is below, else 0."""
    padded = np.pad(values, 1, mode="edge")
    return np.asarray((values <= padded[:-2]) & (values <= padded[2:]), dtype=np.float64)


def _across(products: Numbers) -> tuple[Numbers, Numbers]:
    """Return what the turn before a gap shares with the second after it, and the second before with the one after."""
    skips = np.diagonal(products, offset=2)
    mean = (skips.sum() + PRIOR_ACROSS) / (len(skips) + 1)
    return np.append(skips - mean, 0.0), np.insert(skips - mean, 0, 0.0)


def _ahead(products: Numbers) -> Numbers:
    """Return what the turn after a gap shares with one of the two turns that follow it; 0 where none does yet."""
    near, far = np.diagonal(products, offset=1)[1:], np.diagonal(products, offset=2)[1:]
    best = np.maximum(near, np.append(far, -np.inf)) if len(near) else near
    mean = (best.sum() + PRIOR_AHEAD) / (len(best) + 1)
    return np.append(best - mean, 0.0)
