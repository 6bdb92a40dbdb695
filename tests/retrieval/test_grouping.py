"""What was said together is shown together, and candidates spread over sessions where a query asks for an aggregate."""

from datetime import timedelta
from types import SimpleNamespace

import numpy as np
import pytest

from langgraph_engram.retrieval.features import record_links
from langgraph_engram.retrieval.grouping import Candidate, diversify_sessions, group_records
from langgraph_engram.settings import RetrieveSettings
from langgraph_engram.text.questions import asks_for_aggregate


@pytest.fixture
def groups_of(store, scope, keep, turn, record):
    """Return the groups of six records by their scores: five of a turn each, and another one of the first turn."""
    keep(
        turns=[turn(number) for number in range(5)],
        records=[
            *(record(number, f"Ana: Number {number}.") for number in range(5)),
            record(5, "Ana: More.", source_turn_ids=["t0"]),
        ],
    )
    index = store.index(scope)

    def group(scores, reach):
        total = np.array(scores, dtype=np.float32)
        ranked = np.argsort(-total)[: np.count_nonzero(total)]
        groups = group_records(index, ranked, total[ranked], record_links(index), RetrieveSettings(), reach)
        return [group.positions for group in groups]

    return group


def test_sentences_of_one_exchange_are_one_passage(groups_of):
    """Those two turns apart are; those three apart, or far behind in score, are passages of their own."""
    assert groups_of([1, 0, 0.9, 0, 0, 0], reach=2) == [[0, 2]]
    assert groups_of([1, 0, 0, 0.9, 0, 0], reach=2) == [[0], [3]]
    assert groups_of([1, 0, 0.5, 0, 0, 0], reach=2) == [[0], [2]]
    assert groups_of([1, 0, 0.9, 0, 0, 0], reach=0) == [[0], [2]]


def test_a_passage_is_of_one_day(store, scope, keep, turn, record):
    """It is shown under its day; a session may go on for years."""
    later = turn(0).said_at + timedelta(days=1)
    keep(
        turns=[turn(0), turn(1, said_at=later)],
        records=[record(0, "Ana: I broke my arm."), record(1, "Ana: It is fine again.", mentioned_at=later)],
    )
    index = store.index(scope)

    scores = np.array([1, 0.9], dtype=np.float32)
    groups = group_records(index, np.arange(2), scores, record_links(index), RetrieveSettings(), 2)

    assert [group.positions for group in groups] == [[0], [1]]


def test_a_passage_cites_three_turns_at_most(groups_of):
    """One that cited more would stand for none of them."""
    assert groups_of([1, 0.99, 0.98, 0.97, 0, 0], reach=2) == [[0, 1, 2], [3]]


def test_a_record_of_a_missing_turn_joins_by_another_that_it_cites(store, scope, keep, turn, record):
    """What cannot be shown of it takes it from no passage."""
    keep(
        turns=[turn(0), turn(1)],
        records=[
            record(0, "Ana: I broke my arm."),
            record(1, "Ana: It is fine again.", source_turn_ids=["gone", "t1"]),
        ],
    )
    index = store.index(scope)

    scores = np.array([1, 0.9], dtype=np.float32)
    groups = group_records(index, np.arange(2), scores, record_links(index), RetrieveSettings(), 2)

    assert [group.positions for group in groups] == [[0, 1]]


def test_a_further_sentence_of_a_turn_must_score_more_than_one_of_another_turn(groups_of):
    """The turn is shown already."""
    assert groups_of([1, 0.8, 0, 0, 0, 0.8], reach=2) == [[0, 1], [5]]
    assert groups_of([1, 0, 0, 0, 0, 0.95], reach=0) == [[0, 5]]


def items_of(*sessions: str) -> SimpleNamespace:
    """Make an index of items that have a session alone."""
    return SimpleNamespace(items=[SimpleNamespace(session_id=session) for session in sessions])


INDEX = SimpleNamespace(records=items_of("a", "a", "a", "b"), turns=items_of("b"))


def test_a_session_s_further_passages_make_room():
    """Each counts less by a tenth, so that another session's comes before the third; records and turns alike."""
    found = [Candidate("record", position, score) for position, score in ((0, 1.0), (1, 0.99), (2, 0.98), (3, 0.85))]

    ordered = diversify_sessions(INDEX, [*found, Candidate("turn", 0, 0.84), Candidate("synthesis", 0, 0.7)], 0.1)

    assert [(candidate.kind, candidate.position) for candidate in ordered] == [
        ("record", 0),
        ("record", 1),
        ("record", 3),
        ("record", 2),
        ("turn", 0),
        ("synthesis", 0),
    ]
    assert [round(candidate.score, 3) for candidate in ordered] == [1.0, 0.891, 0.85, 0.794, 0.756, 0.7]


def test_without_a_factor_the_order_stays():
    """Nothing is lost, and nothing of nothing is nothing."""
    found = [Candidate("record", 0, 0.5), Candidate("record", 1, 0.4)]

    assert diversify_sessions(INDEX, found, 0) == found
    assert diversify_sessions(INDEX, [], 0.1) == []


@pytest.mark.parametrize(
    ("query", "across"),
    [
        ("How many weddings did I go to?", True),
        ("How long did Ana train altogether?", True),
        ("What is the order of the museums I visited?", True),
        ("What did I spend in total?", True),
        ("Where is the museum?", False),
        ("When did Ana marry?", False),
        ("In order to relax, what does Ana do?", True),
    ],
)
def test_what_adds_up_is_known_by_its_words(query, across):
    """One fact is left where it is; an idiom that looks like an order costs little."""
    assert asks_for_aggregate(query) is across
