"""Events are found without asking a model, by probabilities that lean on the dialogue at hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from langgraph_engram.nodes.segment import Segment
from langgraph_engram.papers.esmem import coupling
from langgraph_engram.segmentation import boundary_model
from langgraph_engram.segmentation.boundary_model import (
    FEATURES,
    MIN_PROBABILITY,
    BoundaryDetector,
    boundary_features,
    coherence,
    coherence_weight,
    load_model,
    own_threshold,
    peaks,
    sharpen,
)
from langgraph_engram.segmentation.segmenter import LearnedSegmenter
from langgraph_engram.text.questions import read_cues

PROBABILITIES = arrays(np.float64, st.integers(1, 20), elements=st.floats(0, 1))
TEXTS = st.lists(st.sampled_from(["I ski a lot.", "Do you ski?", "yes", "Bye!", "Hey", "", "by the lake"]), max_size=12)
VECTORS = np.random.default_rng(5).normal(size=(12, 8)).astype(np.float32)
BEES = ["My sister keeps bees by the lake.", "How many bees does she keep by the lake?", "She keeps bees in ten hives."]
SKIS = ["Do you like to ski in winter?", "I ski in winter, on old skis.", "Old skis are fine for winter snow."]


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
    first, second = VECTORS[:1], VECTORS[1:2]
    same = np.repeat(first, 6, axis=0)
    changed = np.vstack([np.repeat(first, 3, axis=0), np.repeat(second, 3, axis=0)])

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


@given(PROBABILITIES, st.permutations("ABC"), st.data())
def test_sharpening_lowers_and_never_raises(found, names, data):
    """A kind that seldom opens a subject counts less, whatever its name; one kind alone changes nothing."""
    kinds = data.draw(st.lists(st.sampled_from("ABC"), min_size=len(found), max_size=len(found)))

    lowered = sharpen(found, kinds)

    assert ((lowered >= 0) & (lowered <= 1)).all()
    assert (lowered <= np.clip(found, 1e-6, 1) + 1e-9).all()
    assert np.array_equal(sharpen(found, ["A"] * len(found)), found)
    assert sharpen(found, [names["ABC".index(kind)] for kind in kinds]) == pytest.approx(lowered)


def test_a_plain_dialogue_is_cut_only_where_it_is_plain():
    """The threshold is half of the F1 it can reach, and never below the least."""
    plain, dim = np.array([0.99, 0.01, 0.01, 0.99]), np.array([0.05, 0.06, 0.05])

    assert own_threshold(plain, 1.0) == pytest.approx(0.495, abs=0.01)
    assert own_threshold(dim, 1.0) == MIN_PROBABILITY
    assert own_threshold(plain, 0.0) == MIN_PROBABILITY


@given(PROBABILITIES, st.floats(0, 1))
def test_cuts_reach_the_threshold_and_stand_above_their_neighbours(found, threshold):
    """What is marked is a peak; the highest gap is marked if any reaches the threshold."""
    marked = peaks(found, threshold)

    assert (found[marked] >= threshold).all()
    assert marked.any() == (found.max() >= threshold)
    if len(set(found)) == len(found):
        assert not (marked[1:] & marked[:-1]).any()


@pytest.fixture
def track(store):
    """Track turns with the learned weights."""

    return BoundaryDetector(store.encoder).track


@pytest.fixture
def said(turn):
    return [turn(seq, text, speaker="AB"[seq % 2]) for seq, text in enumerate([*BEES, *SKIS])]


def test_two_subjects_are_two_events_and_nobody_is_asked(store, to_remember, said):
    """The boundary carries its learned probability, and the events are named by their words."""
    step = Segment(store, LearnedSegmenter(store.encoder, 40))

    update = step({"request": to_remember(), "run_id": "run", "tasks": [], "session_ids": ["s1"], "turns": said})

    first, second = update["events"]
    assert (len(first.turn_ids), len(second.turn_ids)) == (3, 3)
    assert update["usage"] == []
    opening, shift = update["boundaries"]
    assert opening.p_eb is None
    assert shift.p_eb is not None
    assert 0 < shift.p_eb < 1
    assert "lake" in first.summary
    assert shift.text.startswith("After ")
    assert "winter" in shift.text


def test_a_turn_that_comes_alone_is_judged_by_what_came_before(track, said):
    """Without a turn ahead the same subject is opened, and no other turn of it is."""
    cuts = [track([turn], said[:seq])[0].cut for seq, turn in enumerate(said)]

    assert cuts[3]
    assert sum(cuts) <= 2


@pytest.mark.parametrize(("lowest", "weight"), [(0.8, 0.0), (0.5, 0.0), (0.25, 0.5), (0.0, 1.0), (-0.5, 1.0)])
def test_the_more_contrast_the_more_coherence_counts(lowest, weight):
    """Nothing up to the least range, all from twice that on; a single gap has no contrast."""
    features = np.zeros((3, len(FEATURES)))
    features[:, FEATURES.index("coherence_2")] = [1.0, 0.9, lowest]

    assert coherence_weight(features) == pytest.approx(weight)
    assert coherence_weight(features[:1]) == 0


def test_where_subjects_are_far_apart_coherence_decides(track, turn, monkeypatch):
    """An assistant opens a subject by a statement, the user asks inside one: only the subjects count."""
    bees = ["My sister keeps bees by the lake.", "She keeps bees by the lake.", "Does she keep ten bees by the lake?"]
    skis = ["Old skis need wax and snow.", "Wax and snow on old skis.", "Do old skis need wax and snow?"]
    chat = [
        turn(seq, text, speaker="AB"[seq % 2], role=("user", "assistant")[seq % 2])
        for seq, text in enumerate([*bees, *skis])
    ]

    assert [topic.cut for topic in track(chat, [])] == [False, False, False, True, False, False]
    monkeypatch.setattr(boundary_model, "MIN_CONTRAST", 2.0)
    assert not track(chat, [])[3].cut


def test_an_assistant_opens_fewer_subjects(track, said):
    """The same words count for less where an assistant says them."""
    answered = [turn.model_copy(update={"role": "assistant"}) if turn.seq == 3 else turn for turn in said]

    assert track(answered, [])[3].p_eb < track(said, [])[3].p_eb


def test_one_subject_stays_whole(track, turn):
    """Turns that go on with the same words open nothing."""
    same = [turn(seq, "She keeps bees in ten hives.", speaker="AB"[seq % 2]) for seq in range(6)]

    assert not any(topic.cut for topic in track(same, []))
