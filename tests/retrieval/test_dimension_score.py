"""A query's constraints score records by DimMem's Eq. 7; what a record leaves open is not a mismatch."""

from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_engram.presets import preset
from langgraph_engram.retrieval.scoring import dimension_scores, time_scores
from langgraph_engram.schema import Intent, Record, TimeConstraint
from langgraph_engram.stores.index import RECORDS, RecordIndex
from langgraph_engram.temporal.parse import parse_constraint, parse_time

NOW = datetime(2023, 6, 1, 12, tzinfo=UTC)
CAMPING = {"memory_type": "episodic", "location": "Yosemite"}
MAY = {"event_start": datetime(2023, 5, 1, tzinfo=UTC), "event_end": datetime(2023, 5, 7, 23, 59, tzinfo=UTC)}


def shelf_of(*records):
    shelf = RecordIndex(RECORDS)
    shelf.put(records, np.zeros((len(records), 4), dtype=np.float32))
    return shelf


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

    (score,) = dimension_scores(shelf_of(record(0, **{**plain, **fields})), question, preset("dimmem").retrieve)

    assert score == pytest.approx(share, abs=0.001)


def test_the_camping_question_of_the_paper_is_scored_as_there(record, intent):
    """DimMem Table 8: what happened in the time asked about scores .553, what names the place alone .408."""
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

    scores = dimension_scores(shelf_of(coast, mountains), asked, preset("dimmem").retrieve)

    assert scores.tolist() == pytest.approx([0.553, 0.408], abs=0.001)


def test_unknown_is_half_under_engram_and_nothing_under_dimmem(record, intent):
    """A record that names no place gets half credit for it; one that names another gets none."""
    shelf = shelf_of(record(0, "Ana camped."), record(1, "Ana camped.", location="Paris"))
    asked = intent(location="Yosemite")

    ours, paper = (dimension_scores(shelf, asked, preset(name).retrieve).tolist() for name in ("engram", "dimmem"))

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
    shelf = shelf_of(record(0, event_start=span.start, event_end=span.end))

    (score,) = time_scores(shelf, parse_constraint(asked, NOW), 0.0)

    assert bool(score) is matches


def test_the_time_of_telling_does_not_stand_in_for_the_event(record):
    """What happened in 2022 and was told on 20 May 2023 did not happen on that day."""
    told = datetime(2023, 5, 20, 9, tzinfo=UTC)
    year = parse_time("2022", NOW)
    shelf = shelf_of(
        record(0, mentioned_at=told, event_start=year.start, event_end=year.end),
        record(1, mentioned_at=told),
        record(2, mentioned_at=datetime(2023, 4, 1, tzinfo=UTC)),
    )

    scores = time_scores(shelf, parse_constraint("on 2023-05-20", NOW), 0.5)

    assert scores.tolist() == [0, 1, 0.5]


def test_a_query_without_constraints_scores_nothing(record, intent):
    """No constraint, no score; no record, no scores."""
    settings = preset("engram").retrieve

    assert dimension_scores(shelf_of(record(0), record(1)), intent(), settings).tolist() == [0, 0]
    assert dimension_scores(shelf_of(), intent(location="Yosemite"), settings).shape == (0,)


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
    one = Record(
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

    (score,) = dimension_scores(shelf_of(one), asked, preset(name).retrieve)

    assert 0 <= score <= 1 + 1e-9
