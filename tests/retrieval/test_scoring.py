"""Records are scored by DimMem's Eq. 7, and events by ES-Mem's Eq. 5-7."""

from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_engram.presets import preset
from langgraph_engram.retrieval.scoring import dimension_scores, event_scores, time_scores, with_neighbours
from langgraph_engram.schema import Boundary, Intent, Record, TimeConstraint
from langgraph_engram.settings import RetrieveSettings
from langgraph_engram.stores.index import BOUNDARIES, EVENTS, RECORDS, TURNS, RecordIndex, ScopeIndex, TurnIndex
from langgraph_engram.temporal.parse import parse_constraint, parse_time

NOW = datetime(2023, 6, 1, 12, tzinfo=UTC)
CAMPING = {"memory_type": "episodic", "location": "Yosemite"}
MAY = {"event_start": datetime(2023, 5, 1, tzinfo=UTC), "event_end": datetime(2023, 5, 7, 23, 59, tzinfo=UTC)}


def index_of_records(*records):
    index = RecordIndex(RECORDS)
    index.put(records, np.zeros((len(records), 4), dtype=np.float32))
    return index


@pytest.fixture
def question(intent):
    """A question with all five constraints of the paper."""
    return intent(
        target_types=["episodic"],
        time=parse_constraint("in May 2023", NOW),
        location="Yosemite",
        keywords=["red tent"],
    )


@pytest.mark.parametrize(
    ("fields", "share"),
    [
        ({"memory_type": "episodic"}, 0.158),
        (MAY, 0.316),
        ({"location": "Yosemite"}, 0.211),
        ({"content": "A red tent."}, 0.158 * 2),
        ({"content": "A tent."}, 0.158 / 2),
        ({**CAMPING, **MAY, "content": "A red tent."}, 1.0),
        ({}, 0.0),
    ],
)
def test_five_constraints_weigh_as_in_the_paper(record, question, fields, share):
    """Renormalised, the weights are .158, .316, .211, .158 and .158 (DimMem Table 8)."""
    plain = {"memory_type": "fact", "location": "Paris", "content": "Bees.", "mentioned_at": NOW}

    (score,) = dimension_scores(index_of_records(record(0, **{**plain, **fields})), question, preset("dimmem").retrieve)

    assert score == pytest.approx(share, abs=0.001)


def test_the_camping_question_of_the_paper_is_scored_as_there(record, intent):
    """DimMem Table 8: what happened in the time asked about scores .553, what names the location alone .408."""
    asked = intent(
        target_types=["episodic"],
        time=parse_constraint("between 2023-01-01 and 2023-04-29", NOW),
        location="United States",
        keywords=["camping trips", "United States"],
    )
    april, may = (datetime(2023, month, 2, tzinfo=UTC) for month in (4, 5))
    coast = record(0, "Of all trips, three days of camping at Big Sur.", memory_type="episodic", event_start=april,
                   event_end=april, location="Big Sur")  # fmt: skip
    mountains = record(1, "Two trips to the Rocky Mountains are planned.", memory_type="episodic", event_start=may,
                       event_end=may, location="United States")  # fmt: skip

    scores = dimension_scores(index_of_records(coast, mountains), asked, preset("dimmem").retrieve)

    assert scores.tolist() == pytest.approx([0.553, 0.408], abs=0.001)


def test_unknown_is_half_under_engram_and_nothing_under_dimmem(record, intent):
    """A record that names no location gets half credit for it; one that names another gets none."""
    records = index_of_records(record(0, "Ana camped."), record(1, "Ana camped.", location="Paris"))
    asked = intent(location="Yosemite")

    ours, paper = (dimension_scores(records, asked, preset(name).retrieve).tolist() for name in ("engram", "dimmem"))

    assert (ours, paper) == ([0.5, 0], [0, 0])


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
    settings = preset("engram").retrieve

    assert dimension_scores(index_of_records(record(0), record(1)), intent(), settings).tolist() == [0, 0]
    assert dimension_scores(index_of_records(), intent(location="Yosemite"), settings).shape == (0,)


TIMES = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC))


@given(
    st.none() | st.tuples(TIMES, TIMES).map(sorted),
    st.none() | TIMES,
    st.none() | TIMES,
    st.lists(st.sampled_from(["fact", "episodic", "profile"]), max_size=2),
    st.sampled_from(["", "Oslo"]),
    st.lists(st.text(max_size=4), max_size=3),
    st.sampled_from(["engram", "dimmem"]),
)
def test_a_score_is_a_share(span, start, end, types, location, keywords, name):
    """Whatever is asked of whatever record, the score lies in [0, 1]."""
    record = Record(
        record_id="r",
        content="x",
        session_id="s",
        event_id="e",
        seq=0,
        source_turn_ids=[],
        event_start=span and span[0],
        event_end=span and span[1],
    )
    time = TimeConstraint(text="t", start=start, end=end)
    asked = Intent(query="q", anchor="q", time=time, target_types=types, location=location, keywords=keywords)

    (score,) = dimension_scores(index_of_records(record), asked, preset(name).retrieve)

    assert 0 <= score <= 1 + 1e-9


EAST = np.array([1, 0], dtype=np.float32)


def towards(*cosines):
    """Unit vectors that have these cosines with `EAST`."""
    return np.array([[cosine, (1 - cosine * cosine) ** 0.5] for cosine in cosines], dtype=np.float32)


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


def test_neighbours_add_their_weighted_scores(turn):
    """Those before and after in the same session, though sessions interleave; what is further away adds nothing."""
    sessions = "aabab"
    turns = [turn(seq, session_id=session, turn_id=f"t{seq}") for seq, session in enumerate(sessions)]
    index = TurnIndex(TURNS)
    index.put(turns, np.ones((len(turns), 1), dtype=np.float32))
    scores = np.array([1, 0, 8, 0, 16], dtype=np.float32)

    spread = with_neighbours(scores, index.session_row(2), [1.0, 0.5])

    assert spread.tolist() == [1, 0.5, 8 + 8, 0.25, 16 + 4]
