"""Pk, WindowDiff and F1 are those of the literature, and stand to each other as they must."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_engram.benchmarks.segmentation import average, score_dialogue, window_width

LABELS = st.integers(2, 30).flatmap(
    lambda size: st.tuples(*[st.lists(st.integers(0, 1), min_size=size, max_size=size)] * 2)
)


def test_a_dialogue_worked_by_hand():
    """Six turns in two segments give windows of two; one boundary is missed by one turn."""
    scores = score_dialogue([0, 0, 1, 0, 0, 1], [0, 1, 0, 0, 0, 1])

    assert scores.pk == pytest.approx(2 / 5)
    assert scores.wd == pytest.approx(2 / 5)
    assert scores.f1 == 0
    assert scores.score == pytest.approx((0 + 0.6 + 0.6) / 4)


def test_counts_matter_to_window_diff_alone():
    """Two boundaries where there is one escape Pk in a window that holds both."""
    gold, predicted = [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1], [0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1]

    scores = score_dialogue(gold, predicted)

    assert scores.wd > scores.pk > 0


@pytest.mark.parametrize(
    ("gold", "width"),
    [([0, 0], 2), ([0] * 10, 5), ([0, 1, 0, 0, 0, 0], 2), ([0] * 5 + [1] + [0] * 4, 2), ([0] * 13, 6), ([0] * 15, 8)],
)
def test_windows_are_half_a_mean_segment(gold, width):
    """At least two turns; halves round to the even number."""
    assert window_width(gold) == width


@given(LABELS)
def test_window_diff_is_never_below_pk(labels):
    """Windows that differ on whether there is a boundary differ on how many; every figure is a rate."""
    scores = score_dialogue(*labels)

    assert 0 <= scores.pk <= scores.wd <= 1
    assert 0 <= scores.f1 <= 1
    assert 0 <= scores.score <= 1


@given(LABELS)
def test_the_truth_is_perfect_and_the_last_turn_does_not_count(labels):
    """Nothing is wrong with the gold labels themselves, whatever stands at the last turn."""
    gold = labels[0]

    scores = score_dialogue(gold, [*gold[:-1], 1 - gold[-1]])

    assert (scores.pk, scores.wd) == (0, 0)
    assert scores.f1 == (1 if any(gold[:-1]) else 0)


def test_dialogues_count_alike():
    """A long dialogue weighs no more than a short one."""
    long, short = score_dialogue([0] * 20, [0] * 20), score_dialogue([1, 0], [0, 0])

    assert average([long, short]).pk == pytest.approx((long.pk + short.pk) / 2)


@pytest.mark.parametrize("labels", [([1], [1]), ([0, 1], [0, 1, 0])])
def test_what_cannot_be_compared_is_refused(labels):
    """One turn has no boundary, and two dialogues of different lengths are not the same."""
    with pytest.raises(ValueError, match="cannot compare"):
        score_dialogue(*labels)
