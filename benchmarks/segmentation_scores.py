"""Score a segmentation of a dialogue: Pk, WindowDiff and boundary F1, as SuperDialseg's evaluation takes them.

A dialogue of T turns has T labels, 1 where a segment ends at the turn. The last turn always ends one, so its label is
left out by being 0 on both sides. Sources: Beeferman et al. 1999 (Pk), Pevzner and Hearst 2002 (WindowDiff), with the
windows of nltk.metrics.segmentation; Jiang et al., EMNLP 2023, section 5 (the combined score). This module does not
know where labels come from.
"""

from collections.abc import Iterator, Sequence
from statistics import fmean

from langgraph_engram.schema import Frozen

LEAST_WINDOW = 2
"""Turns that a window holds at least."""


class SegmentationScores(Frozen):
    """How well boundaries were found; every figure is in [0, 1]."""

    pk: float
    """Share of windows that disagree on whether they hold a boundary; 0 is perfect."""
    wd: float
    """Share of windows that disagree on how many boundaries they hold; never below `pk`."""
    f1: float
    """F1 of the boundaries, each where it stands."""
    score: float
    """(2 F1 + (1 - Pk) + (1 - WD)) / 4."""


def score_dialogue(gold: Sequence[int], predicted: Sequence[int]) -> SegmentationScores:
    """Score one dialogue.

    Args:
        gold: T labels, 0 or 1, with T at least 2; the last is taken as 0.
        predicted: As many labels.

    Raises:
        ValueError: The lengths differ, or there is but one turn.
    """
    if len(gold) != len(predicted) or len(gold) < LEAST_WINDOW:
        raise ValueError(f"cannot compare {len(gold)} labels with {len(predicted)}: give two or more of each")
    truth, guess = [*gold[:-1], 0], [*predicted[:-1], 0]
    width = window_width(truth)
    pk, wd, f1 = penalty(truth, guess, width), window_diff(truth, guess, width), boundary_f1(truth, guess)
    return SegmentationScores(pk=pk, wd=wd, f1=f1, score=(2 * f1 + (1 - pk) + (1 - wd)) / 4)


def average(scores: Sequence[SegmentationScores]) -> SegmentationScores:
    """Average over dialogues, each counting once (a macro average); at least one."""
    return SegmentationScores(
        pk=fmean(one.pk for one in scores),
        wd=fmean(one.wd for one in scores),
        f1=fmean(one.f1 for one in scores),
        score=fmean(one.score for one in scores),
    )


def window_width(gold: Sequence[int]) -> int:
    """Give k: half the mean length of a gold segment, in turns, at least 2; halves round to the even number."""
    return max(LEAST_WINDOW, round(len(gold) / (sum(gold) + 1) / 2))


def penalty(gold: Sequence[int], predicted: Sequence[int], width: int) -> float:
    """Compute Pk: the share of windows of `width` labels where just one side has a boundary."""
    pairs = list(_counts(gold, predicted, width))
    return sum((one > 0) != (other > 0) for one, other in pairs) / len(pairs)


def window_diff(gold: Sequence[int], predicted: Sequence[int], width: int) -> float:
    """Compute WindowDiff: the share of windows of `width` labels where the numbers of boundaries differ."""
    pairs = list(_counts(gold, predicted, width))
    return sum(one != other for one, other in pairs) / len(pairs)


def boundary_f1(gold: Sequence[int], predicted: Sequence[int]) -> float:
    """Compute the F1 of labels that are 1; 0 where neither side has any."""
    shared = sum(one and other for one, other in zip(gold, predicted, strict=True))
    total = sum(gold) + sum(predicted)
    return 2 * shared / total if total else 0.0


def _counts(gold: Sequence[int], predicted: Sequence[int], width: int) -> Iterator[tuple[int, int]]:
    for start in range(len(gold) - width + 1):
        yield sum(gold[start : start + width]), sum(predicted[start : start + width])
