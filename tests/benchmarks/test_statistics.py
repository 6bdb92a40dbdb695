"""The confidence interval of a paired difference is as wide as the data make it."""

import numpy as np
import pytest

from langgraph_engram.benchmarks.statistics import paired_difference


def test_a_steady_gain_has_a_narrow_interval_above_zero():
    """Pairing takes out what the questions differ by: every one gains a tenth."""
    first = [0.0, 0.2, 0.5, 0.8, 0.9]

    difference = paired_difference(first, [score + 0.1 for score in first])

    assert (difference.mean, difference.low, difference.high) == pytest.approx((0.1, 0.1, 0.1))


def test_noise_has_an_interval_around_zero_of_the_expected_width():
    """For many independent differences it is the mean, two standard errors each way."""
    noise = np.random.default_rng(1).normal(0, 1, 400).tolist()

    difference = paired_difference([0.0] * 400, noise, resamples=4000)

    error = np.std(noise) / 20
    assert difference.pairs == 400
    assert difference.low == pytest.approx(difference.mean - 1.96 * error, abs=0.01)
    assert difference.high == pytest.approx(difference.mean + 1.96 * error, abs=0.01)


def test_the_same_seed_gives_the_same_interval():
    """A report can be repeated."""
    first, second = [0.0, 1.0, 0.0, 1.0], [1.0, 1.0, 0.0, 0.0]

    assert paired_difference(first, second, seed=3) == paired_difference(first, second, seed=3)
    assert paired_difference(first, second, seed=3).mean == 0.0


@pytest.mark.parametrize(("first", "second"), [([], []), ([1.0], [1.0, 0.0])])
def test_runs_of_different_questions_cannot_be_compared(first, second):
    """Nothing to pair is an error, not a difference of zero."""
    with pytest.raises(ValueError, match="paired scores must be as many"):
        paired_difference(first, second)
