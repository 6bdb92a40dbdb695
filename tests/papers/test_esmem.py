"""Coupling, its quantile and the probability of a boundary follow ES-Mem's equations."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from langgraph_engram.papers.esmem import boundary_probability, coupling, verdict_probability, weakest
from langgraph_engram.prompts.judge_boundary import BoundaryVerdict, LabelGuess


def verdict(best, best_p, worst, worst_p):
    return BoundaryVerdict(
        likeliest=LabelGuess(label=best, probability=best_p), least_likely=LabelGuess(label=worst, probability=worst_p)
    )


def test_coupling_of_a_known_correlation():
    """Two vectors with correlation 0.6 share 0.2231 nats."""
    first = np.array([[1.0, -1.0, 1.0, -1.0]], dtype=np.float32)
    second = np.array([[1.4, -0.2, 0.2, -1.4]], dtype=np.float32)
    rho = np.corrcoef(first[0], second[0])[0, 1]

    assert coupling(first, second)[0] == pytest.approx(-0.5 * math.log(1 - rho**2), rel=1e-6)


def test_equal_topics_are_not_infinite_and_opposite_ones_couple_as_they_do():
    """The logarithm is kept finite; the square has no sign (Eq. 2); a constant vector couples with nothing."""
    first = np.array([[1, 2, 3], [1, 2, 3], [1, 1, 1]], dtype=np.float32)
    second = np.array([[1, 2, 3], [3, 2, 1], [1, 2, 3]], dtype=np.float32)

    same, opposite, constant = coupling(first, second)

    assert 10 < same < 20
    assert opposite == pytest.approx(same)
    assert constant == 0


@pytest.mark.parametrize(("turns", "candidates"), [(2, 1), (3, 1), (4, 1), (5, 2), (10, 3), (20, 7)])
def test_the_quantile_gives_a_known_number_of_candidates(turns, candidates):
    """floor(q (n - 1)) + 1 of the n = T - 1 couplings, with q = .35."""
    couplings = np.linspace(1, 2, turns - 1)

    found = weakest(couplings, 0.35)

    assert found == list(range(candidates))
    assert weakest(np.zeros(0), 0.35) == []


@pytest.mark.parametrize(
    ("best", "worst", "p_eb"),
    [
        (("topic_intro", 0.9), ("topic_shift", 0.1), 0.5),
        (("detail_elaborate", 0.5), ("direct_resp", 0.0), 0.75),
        (("topic_shift", 0.87), ("direct_resp", 0.13), 0.87),
    ],
)
def test_labels_become_a_probability(best, worst, p_eb):
    """The paper's mean over both labels, with its two odd cases (Eq. 3 and 4)."""
    assert verdict_probability(verdict(*best, *worst)) == pytest.approx(p_eb)


@pytest.mark.parametrize(
    ("best", "worst"), [(("topic_shift", 0.9), ("topic_shift", 0.1)), (("topic_shift", 0.5), ("direct_resp", 0.5))]
)
def test_a_verdict_names_two_labels_the_likelier_first(best, worst):
    """Figure 7: the labels differ and the first probability is larger; anything else is asked for again."""
    with pytest.raises(ValidationError, match="two different labels, the likeliest with the higher probability"):
        verdict(*best, *worst)


@given(st.sampled_from(["topic_intro", "topic_shift", "detail_elaborate", "direct_resp"]), st.floats(0, 1))
def test_a_boundary_probability_is_a_probability(label, confidence):
    """Whatever is said, p_eb lies in [0, 1]."""
    assert 0 <= boundary_probability(label, confidence) <= 1
