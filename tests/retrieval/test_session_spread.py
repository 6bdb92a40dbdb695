"""What is counted or put in order is shown from several sessions before more of one."""

from types import SimpleNamespace

import pytest

from langgraph_engram.retrieval.grouping import Candidate, diversify_sessions
from langgraph_engram.text.questions import asks_for_aggregate


def shelf(*sessions: str) -> SimpleNamespace:
    """Make a shelf of items that know their session alone."""
    return SimpleNamespace(items=[SimpleNamespace(session_id=one) for one in sessions])


INDEX = SimpleNamespace(records=shelf("a", "a", "a", "b"), turns=shelf("b"))


def test_a_session_s_further_pieces_make_room():
    """Each counts less by a tenth, so that another session's comes before the third; records and turns alike."""
    found = [Candidate("record", place, score) for place, score in ((0, 1.0), (1, 0.99), (2, 0.98), (3, 0.85))]

    ordered = diversify_sessions(INDEX, [*found, Candidate("turn", 0, 0.84), Candidate("synthesis", 0, 0.7)], 0.1)

    assert [(one.kind, one.place) for one in ordered] == [
        ("record", 0),
        ("record", 1),
        ("record", 3),
        ("record", 2),
        ("turn", 0),
        ("synthesis", 0),
    ]
    assert [round(one.score, 3) for one in ordered] == [1.0, 0.891, 0.85, 0.794, 0.756, 0.7]


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
