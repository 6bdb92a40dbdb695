"""Events are found without asking a model, by probabilities that lean on the dialogue at hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from langgraph_engram.nodes.segment import Segment
from langgraph_engram.segmentation import segmenter
from langgraph_engram.segmentation.segmenter import (
    FEATURES,
    WEIGHTS_FILE,
    BoundaryDetector,
    LearnedSegmenter,
    boundary_features,
    peaks,
    shipped_regression,
)
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

    found = shipped_regression(WEIGHTS_FILE).probability(features)

    assert features.shape == (max(0, len(texts) - 1), len(FEATURES))
    assert np.isfinite(features).all()
    assert ((found >= 0) & (found <= 1)).all()


def test_less_coherence_is_a_likelier_boundary():
    """Between turns that say the same things nothing ends; between strangers something does."""
    cues = [read_cues("I ski a lot.")] * 6
    first, second = VECTORS[:1], VECTORS[1:2]
    same = np.repeat(first, 6, axis=0)
    changed = np.vstack([np.repeat(first, 3, axis=0), np.repeat(second, 3, axis=0)])

    alike, unlike = (
        shipped_regression(WEIGHTS_FILE).probability(boundary_features(cues, vectors)) for vectors in (same, changed)
    )

    assert unlike[2] > max(alike)
    assert int(np.argmax(unlike)) == 2


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


def test_where_subjects_are_far_apart_coherence_decides(track, turn, monkeypatch):
    """An assistant opens a subject by a statement, the user asks inside one: only the subjects count."""
    bees = ["My sister keeps bees by the lake.", "She keeps bees by the lake.", "Does she keep ten bees by the lake?"]
    skis = ["Old skis need wax and snow.", "Wax and snow on old skis.", "Do old skis need wax and snow?"]
    chat = [
        turn(seq, text, speaker="AB"[seq % 2], role=("user", "assistant")[seq % 2])
        for seq, text in enumerate([*bees, *skis])
    ]

    assert [topic.cut for topic in track(chat, [])] == [False, False, False, True, False, False]
    monkeypatch.setattr(segmenter, "MIN_CONTRAST", 2.0)
    assert not track(chat, [])[3].cut


def test_an_assistant_opens_fewer_subjects(track, said):
    """The same words count for less where an assistant says them."""
    answered = [turn.model_copy(update={"role": "assistant"}) if turn.seq == 3 else turn for turn in said]

    assert track(answered, [])[3].p_eb < track(said, [])[3].p_eb


def test_one_subject_stays_whole(track, turn):
    """Turns that go on with the same words open nothing."""
    same = [turn(seq, "She keeps bees in ten hives.", speaker="AB"[seq % 2]) for seq in range(6)]

    assert not any(topic.cut for topic in track(same, []))
