"""The learned judge gives probabilities that lean on the dialogue at hand, and weights that ship with the package."""

from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from langgraph_engram.segmentation.boundary_model import (
    FEATURES,
    WEIGHTS_FILE,
    boundary_features,
    coherence,
    load_model,
    own_threshold,
    peaks,
    sharpen,
)
from langgraph_engram.segmentation.event_cuts import coupling
from langgraph_engram.text.dialogue_acts import read_cues

PROBABILITIES = arrays(np.float64, st.integers(1, 20), elements=st.floats(0, 1))
TEXTS = st.lists(st.sampled_from(["I ski a lot.", "Do you ski?", "yes", "Bye!", "Hey", "", "by the lake"]), max_size=12)
VECTORS = np.random.default_rng(5).normal(size=(12, 8)).astype(np.float32)


def test_the_weights_are_small_and_complete():
    """A few hundred bytes hold one weight for each number of a gap."""
    stored = files("langgraph_engram.segmentation").joinpath(WEIGHTS_FILE).read_bytes()

    assert len(stored) < 20_000
    assert set(load_model().weights) == set(FEATURES)


@given(TEXTS)
def test_every_gap_has_a_probability(texts):
    """Whatever is said, one number in [0, 1] a gap."""
    features = boundary_features([read_cues(text) for text in texts], VECTORS[: len(texts)])

    found = load_model().probability(features)

    assert features.shape == (max(0, len(texts) - 1), len(FEATURES))
    assert np.isfinite(features).all()
    assert ((found >= 0) & (found <= 1)).all()


def test_less_coherence_is_a_likelier_boundary():
    """Between turns that say the same things nothing ends; between strangers something does."""
    cues = [read_cues("I ski a lot.")] * 6
    one, other = VECTORS[:1], VECTORS[1:2]
    same, changed = np.repeat(one, 6, axis=0), np.vstack([np.repeat(one, 3, axis=0), np.repeat(other, 3, axis=0)])

    alike, unlike = (load_model().probability(boundary_features(cues, vectors)) for vectors in (same, changed))

    assert unlike[2] > max(alike)
    assert int(np.argmax(unlike)) == 2


def test_coherence_of_one_turn_a_side_is_the_correlation_behind_the_coupling():
    """The coupling is -0.5 ln(1 - rho^2) of the same rho, where that is not below zero."""
    centred = VECTORS.astype(np.float64) - VECTORS.mean(axis=1, keepdims=True)

    rho = coherence(centred @ centred.T, 1)

    assert coupling(VECTORS[:-1], VECTORS[1:]) == pytest.approx(-0.5 * np.log(1 - np.clip(rho, 0, 1) ** 2), abs=1e-5)


def test_constant_vectors_cohere_with_nothing():
    """A vector without direction has no correlation; nothing becomes NaN."""
    found = boundary_features([read_cues("Hi")] * 4, np.ones((4, 8), dtype=np.float32))

    assert np.isfinite(found).all()
    assert found[:, FEATURES.index("coherence_1")] == pytest.approx(0)


@given(PROBABILITIES, st.data())
def test_sharpening_lowers_and_never_raises(found, data):
    """A kind that seldom opens a subject counts less; one kind alone changes nothing."""
    kinds = data.draw(st.lists(st.sampled_from("ABC"), min_size=len(found), max_size=len(found)))

    lowered = sharpen(found, kinds, 0.5)

    assert ((lowered >= 0) & (lowered <= 1)).all()
    assert (lowered <= np.clip(found, 1e-6, 1) + 1e-9).all()
    assert np.array_equal(sharpen(found, ["A"] * len(found), 0.5), found)


@given(PROBABILITIES, st.permutations("ABC"), st.data())
def test_names_do_not_matter(found, names, data):
    """Who is who in a dialogue changes nothing: only which gaps are of the same kind does."""
    kinds = data.draw(st.lists(st.sampled_from("ABC"), min_size=len(found), max_size=len(found)))
    renamed = dict(zip("ABC", names, strict=True))

    assert sharpen(found, [renamed[kind] for kind in kinds], 0.5) == pytest.approx(sharpen(found, kinds, 0.5))


def test_a_plain_dialogue_is_cut_only_where_it_is_plain():
    """The threshold is half of the F1 it can reach, and never below the least."""
    plain, dim = np.array([0.99, 0.01, 0.01, 0.99]), np.array([0.05, 0.06, 0.05])

    assert own_threshold(plain, 0.2, 1.0) == pytest.approx(0.495, abs=0.01)
    assert own_threshold(dim, 0.2, 1.0) == 0.2
    assert own_threshold(plain, 0.2, 0.0) == 0.2


@given(PROBABILITIES, st.floats(0, 1))
def test_cuts_reach_the_threshold_and_stand_above_their_neighbours(found, threshold):
    """What is marked is a peak; the highest gap is marked if any reaches the threshold."""
    marked = peaks(found, threshold)

    assert (found[marked] >= threshold).all()
    assert marked.any() == (found.max() >= threshold)
    if len(set(found)) == len(found):
        assert not (marked[1:] & marked[:-1]).any()
