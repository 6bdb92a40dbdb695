"""Events are found by the anchors that lead to them, then by their summaries (ES-Mem section 3.3)."""

import numpy as np
import pytest

from langgraph_engram.retrieval.scoring import event_scores
from langgraph_engram.schema import Boundary
from langgraph_engram.settings import RetrieveSettings
from langgraph_engram.stores.index import BOUNDARIES, EVENTS, ScopeIndex

EAST = np.array([1, 0], dtype=np.float32)


def towards(*cosines):
    """Unit vectors that have these cosines with `EAST`."""
    return np.array([[one, (1 - one * one) ** 0.5] for one in cosines], dtype=np.float32)


@pytest.fixture
def index_of(event):
    """Make an index of events in a row, each with a boundary before it, at these cosines with `EAST`."""

    def make(summaries, anchors):
        events = [event(seq, seq, summary="x") for seq in range(len(summaries))]
        boundaries = [
            Boundary(boundary_id=f"b{seq}", session_id="s1", to_event_id=f"e{seq}", kind="topic", text="x")
            for seq in range(len(anchors))
        ]
        return (
            ScopeIndex()
            .with_items(EVENTS, events, towards(*summaries))
            .with_items(BOUNDARIES, boundaries, towards(*anchors))
        )

    return make


def test_summary_and_anchor_are_weighed(index_of):
    """Score = .7 cos(query, summary) + .3 cos(query, best anchor that reaches the event)."""
    index = index_of([0.8, 0.2], [0.5, 0.9])

    scores = event_scores(index, EAST, RetrieveSettings(boundary_window=0))

    assert scores.tolist() == pytest.approx([0.7 * 0.8 + 0.3 * 0.5, 0.7 * 0.2 + 0.3 * 0.9], abs=1e-6)


def test_an_anchor_opens_a_window_of_events(index_of):
    """With one anchor and a window of one, its event and those beside it are reached, the others are not."""
    index = index_of([0.5] * 6, [0.1, 0.1, 0.9, 0.1, 0.1, 0.1])

    scores = event_scores(index, EAST, RetrieveSettings(boundary_k=1, boundary_window=1))

    assert (scores > 0).tolist() == [False, True, True, True, False, False]
    assert scores[1:4].tolist() == pytest.approx([0.7 * 0.5 + 0.3 * 0.9] * 3, abs=1e-6)


def test_the_best_of_the_anchors_that_reach_an_event_counts(index_of):
    """Two windows overlap: the higher anchor is taken."""
    index = index_of([0.5] * 3, [0.4, 0.1, 0.8])

    scores = event_scores(index, EAST, RetrieveSettings(boundary_k=2, boundary_window=1, boundary_alpha=0.0))

    assert scores.tolist() == pytest.approx([0.4, 0.8, 0.8], abs=1e-6)


def test_scores_stay_shares(index_of):
    """Opposite directions give 0, not less."""
    scores = event_scores(index_of([-0.9, 1.0], [-0.5, 1.0]), EAST, RetrieveSettings())

    assert scores.min() >= 0
    assert scores.max() <= 1 + 1e-6


def test_without_boundaries_nothing_is_reached(index_of, event):
    """No anchors, or no events at all: no scores above 0."""
    alone = ScopeIndex().with_items(EVENTS, [event(0, 0)], towards(1.0))

    assert event_scores(alone, EAST, RetrieveSettings()).tolist() == [0]
    assert event_scores(ScopeIndex(), EAST, RetrieveSettings()).shape == (0,)


def test_an_anchor_whose_event_is_gone_reaches_nothing(index_of):
    """A boundary to an event that was forgotten is passed over."""
    index = index_of([0.5], [0.2, 0.9])

    scores = event_scores(index, EAST, RetrieveSettings(boundary_k=2, boundary_alpha=0.0))

    assert scores.tolist() == pytest.approx([0.2], abs=1e-6)
