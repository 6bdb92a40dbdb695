"""Records are scored by DimMem's Eq. 7, and events by ES-Mem's Eq. 5-7."""

from datetime import UTC, datetime

import numpy as np
import pytest

from langgraph_engram.retrieval.scoring import dimension_scores, event_scores, time_scores, with_neighbours
from langgraph_engram.schema import Boundary
from langgraph_engram.stores.index import BOUNDARIES, EVENTS, RECORDS, TURNS, RecordIndex, ScopeIndex, TurnIndex
from langgraph_engram.temporal.find import parse_constraint, parse_time
from tests.conftest import make_event

NOW = datetime(2023, 6, 1, 12, tzinfo=UTC)


def index_of_records(*records):
    return RecordIndex(RECORDS).with_items(records, np.zeros((len(records), 4), dtype=np.float32))


@pytest.mark.parametrize(
    ("happened", "asked", "matches"),
    [
        ("2023-05-01/2023-05-07", "on 2023-05", True),
        ("2023-05-01/2023-05-07", "2023-05-07", True),
        ("2023-05-01/2023-05-07", "on 2023-05-08", False),
        ("2023-05-20", "before 2023-05-20", False),
        ("2023-05-19", "before 2023-05-20", True),
        ("2023-05-20", "after 2023-05-20", False),
        ("2023-05-21", "after 2023-05-20", True),
        ("2023-05-23", "around 2023-05-20", True),
        ("2023-06-20", "around 2023-05-20", False),
        ("2023-05", "between 2023-04-01 and 2023-05-01", True),
        ("2022", "in 2022", True),
        ("2022", "in 2023", False),
    ],
)
def test_intervals_are_compared_as_intervals(record, happened, asked, matches):
    """DimMem's operators hold for days, months, years and ranges."""
    span = parse_time(happened, NOW)
    records = index_of_records(record(0, event_start=span.start, event_end=span.end))

    (score,) = time_scores(records, parse_constraint(asked, NOW), 0.0)

    assert bool(score) is matches


def test_the_mention_time_does_not_stand_in_for_the_event_time(record):
    """What happened in 2022 and was mentioned on 20 May 2023 did not happen on that day."""
    mentioned_at = datetime(2023, 5, 20, 9, tzinfo=UTC)
    year = parse_time("2022", NOW)
    records = index_of_records(
        record(0, mentioned_at=mentioned_at, event_start=year.start, event_end=year.end),
        record(1, mentioned_at=mentioned_at),
        record(2, mentioned_at=datetime(2023, 4, 1, tzinfo=UTC)),
    )

    scores = time_scores(records, parse_constraint("on 2023-05-20", NOW), 0.5)

    assert scores.tolist() == [0, 1, 0.5]


def test_a_query_without_constraints_scores_nothing(record, intent):
    """No constraint, no score; no record, no scores."""
    assert dimension_scores(index_of_records(record(0), record(1)), intent()).tolist() == [0, 0]
    assert dimension_scores(index_of_records(), intent(location="Yosemite")).shape == (0,)


EAST = np.array([1, 0], dtype=np.float32)


def towards(*cosines):
    """Unit vectors that have these cosines with `EAST`."""
    return np.array([[cosine, (1 - cosine * cosine) ** 0.5] for cosine in cosines], dtype=np.float32)


def index_of(summaries, anchors):
    """Make an index of events in a row, each with a boundary before it, at these cosines with `EAST`."""
    events = [make_event(seq, seq, summary="x") for seq in range(len(summaries))]
    boundaries = [
        Boundary(boundary_id=f"b{seq}", session_id="s1", to_event_id=f"e{seq}", kind="topic", text="x")
        for seq in range(len(anchors))
    ]
    return (
        ScopeIndex()
        .with_items(EVENTS, events, towards(*summaries))
        .with_items(BOUNDARIES, boundaries, towards(*anchors))
    )


@pytest.mark.parametrize(
    ("summaries", "anchors", "numbers", "expected"),
    [
        ([0.8, 0.2], [0.5, 0.9], {"window": 0}, [0.7 * 0.8 + 0.3 * 0.5, 0.7 * 0.2 + 0.3 * 0.9]),
        ([0.5] * 4, [0.1, 0.9, 0.1, 0.1], {"k": 1, "window": 1}, [*[0.7 * 0.5 + 0.3 * 0.9] * 3, 0]),
        ([0.5] * 3, [0.4, 0.1, 0.8], {"k": 2, "window": 1, "alpha": 0.0}, [0.4, 0.8, 0.8]),
        ([0.5], [0.2, 0.9], {"k": 2, "alpha": 0.0}, [0.2]),
        ([-0.9], [-0.5], {}, [0]),
    ],
    ids=["weighed", "a window", "the best anchor", "an anchor to nothing", "opposite"],
)
def test_events_are_scored_by_summary_and_best_anchor(summaries, anchors, numbers, expected):
    """Score = alpha cos(query, summary) + (1 - alpha) cos(query, best anchor that reaches it); 0 out of reach."""
    scores = event_scores(index_of(summaries, anchors), EAST, **numbers)

    assert scores.tolist() == pytest.approx(expected, abs=1e-5)


def test_without_boundaries_nothing_is_reached(event):
    """No anchors, or no events at all: no scores above 0."""
    alone = ScopeIndex().with_items(EVENTS, [event(0, 0)], towards(1.0))

    assert event_scores(alone, EAST).tolist() == [0]
    assert event_scores(ScopeIndex(), EAST).shape == (0,)


def test_neighbours_add_their_weighted_scores(turn):
    """Those before and after in the same session, though sessions interleave; what is further away adds nothing."""
    sessions = "aabab"
    turns = [turn(seq, session_id=session, turn_id=f"t{seq}") for seq, session in enumerate(sessions)]
    index = TurnIndex(TURNS).with_items(turns, np.ones((len(turns), 1), dtype=np.float32))
    scores = np.array([1, 0, 8, 0, 16], dtype=np.float32)

    spread = with_neighbours(scores, index.places, [1.0, 0.5])

    assert spread.tolist() == [1, 0.5, 8 + 8, 0.25, 16 + 4]
