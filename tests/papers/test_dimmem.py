"""DimMem's windows partition turns; it reads the best records of each route, by the weights of its Eq. 7."""

from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_engram.paper_settings import DimMemSettings
from langgraph_engram.papers.dimmem import constraint_scores, windows, without_repeats
from langgraph_engram.papers.search import RecordRanker
from langgraph_engram.retrieval.scoring import dimension_scores
from langgraph_engram.schema import Intent, Record
from langgraph_engram.stores.index import RECORDS, Matches, RecordIndex
from langgraph_engram.temporal.find import parse_constraint

NOW = datetime(2023, 6, 1, 12, tzinfo=UTC)
CAMPING = {"memory_type": "episodic", "location": "Yosemite"}
MAY = {"event_start": datetime(2023, 5, 1, tzinfo=UTC), "event_end": datetime(2023, 5, 7, 23, 59, tzinfo=UTC)}


def index_of_records(*records):
    return RecordIndex(RECORDS).with_items(records, np.zeros((len(records), 4), dtype=np.float32))


@pytest.fixture
def question(intent):
    """A question with all five constraints of the paper."""
    return intent(
        target_types=["episodic"], time=parse_constraint("in May 2023", NOW), location="Yosemite", keywords=["red tent"]
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

    (score,) = constraint_scores(index_of_records(record(0, **{**plain, **fields})), question, DimMemSettings())

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

    scores = constraint_scores(index_of_records(coast, mountains), asked, DimMemSettings())

    assert scores.tolist() == pytest.approx([0.553, 0.408], abs=0.001)


@pytest.mark.parametrize(("counts", "share"), [(True, 1.0), (False, 0.0)])
def test_a_mention_fulfils_a_time_too(record, intent, counts, share):
    """What was said in the time asked about is found whenever its event was (DimMem A.1); ours asks for the event."""
    told = record(0, **MAY, mentioned_at=NOW)
    asked = intent(time=parse_constraint("in June 2023", NOW))

    scores = constraint_scores(index_of_records(told), asked, DimMemSettings(mention_counts=counts))

    assert scores.tolist() == [share]


def test_unknown_is_half_under_engram_and_nothing_under_dimmem(record, intent):
    """A record that names no location gets half credit for it; one that names another gets none."""
    records = index_of_records(record(0, "Ana camped."), record(1, "Ana camped.", location="Paris"))
    asked = intent(location="Yosemite")

    assert dimension_scores(records, asked).tolist() == [0.5, 0]
    assert constraint_scores(records, asked, DimMemSettings()).tolist() == [0, 0]


@given(st.sampled_from(["", "Oslo"]), st.lists(st.text(max_size=4), max_size=3))
def test_a_score_is_a_share(location, keywords):
    """Whatever is asked of whatever record, the score lies in [0, 1]."""
    record = Record(record_id="r", content="x", session_id="s", event_id="e", seq=0, source_turn_ids=[])
    asked = Intent(query="q", anchor="q", location=location, keywords=keywords)

    (score,) = constraint_scores(index_of_records(record), asked, DimMemSettings())

    assert 0 <= score <= 1 + 1e-9


def test_what_is_found_goes_route_by_route(store, scope, keep, turn, record):
    """The best k of each route in turn; a repeat of words is left out, and so is what no longer stands."""
    keep(
        turns=[turn(number) for number in range(5)],
        records=[
            record(0, "Ana swims."),
            record(1, "Ana skis."),
            record(2, "Ana  SWIMS."),
            record(3, "Ana sews.", status="superseded"),
            record(4, "Ana sings."),
        ],
    )
    index = store.index(scope)
    scores = {"lexical": np.array([0.9, 0, 0.8, 1, 0.1]), "dense": np.array([0, 0.7, 0.9, 1, 0])}

    def found(most):
        ranked = RecordRanker(["lexical", "dense"], most).best_records(Matches(index, ()), scores)
        return [candidate.position for candidate in without_repeats(index, ranked)]

    assert found(2) == [0, 1]
    assert found(3) == [0, 4, 1]


@pytest.mark.parametrize(
    ("count", "spans"),
    [
        (0, []),
        (10, [(0, 10)]),
        (15, [(0, 15)]),
        (16, [(0, 15), (12, 16)]),
        (27, [(0, 15), (12, 27)]),
        (28, [(0, 15), (12, 27), (24, 28)]),
    ],
)
def test_windows_of_fifteen_with_three_shared(count, spans):
    """DimMem's windows for LongMemEval: W 15, O 3."""
    assert windows(count, 15, 3) == spans


@given(st.integers(0, 200), st.integers(1, 40), st.integers(0, 60))
def test_windows_cover_every_turn_and_end_at_the_last(count, window, overlap):
    """Whatever the sizes, no turn is left out and every window is needed."""
    spans = windows(count, window, overlap)

    assert sorted({turn for start, end in spans for turn in range(start, end)}) == list(range(count))
    assert all(end - start <= window for start, end in spans)
    assert [end for _, end in spans[:-1]] == sorted({end for _, end in spans[:-1]})
    assert not spans or spans[-1][1] == count
