"""What was said together is shown together, and candidates spread over sessions where a query asks for an aggregate."""

from datetime import timedelta
from types import SimpleNamespace

import numpy as np
import pytest

from langgraph_engram.retrieval.fusion import diversify_sessions, group_records
from langgraph_engram.retrieval.passages import Candidate
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
        groups = group_records(index, ranked, total[ranked], reach)
        return [group.positions for group in groups]

    return group


@pytest.mark.parametrize(
    ("scores", "reach", "groups"),
    [
        ([1, 0, 0.9, 0, 0, 0], 2, [[0, 2]]),
        ([1, 0, 0, 0.9, 0, 0], 2, [[0], [3]]),
        ([1, 0, 0.5, 0, 0, 0], 2, [[0], [2]]),
        ([1, 0, 0.9, 0, 0, 0], 0, [[0], [2]]),
        ([1, 0.99, 0.98, 0.97, 0, 0], 2, [[0, 1, 2], [3]]),
        ([1, 0.8, 0, 0, 0, 0.8], 2, [[0, 1], [5]]),
        ([1, 0, 0, 0, 0, 0.95], 0, [[0, 5]]),
    ],
)
def test_sentences_of_one_exchange_are_one_passage(groups_of, scores, reach, groups):
    """Near, of nearly one score, and of three turns at most; a further one of a turn shown must score more."""
    assert groups_of(scores, reach) == groups


@pytest.mark.parametrize(
    ("days", "cited", "groups"),
    [(1, ["t1"], [[0], [1]]), (0, ["gone", "t1"], [[0, 1]])],
    ids=["a day", "a gap"],
)
def test_what_joins_a_passage(store, scope, keep, turn, record, days, cited, groups):
    """Nothing of another day; a record of a missing turn joins by another that it cites."""
    later = turn(0).said_at + timedelta(days=days)
    fine = record(1, "Ana: It is fine again.", mentioned_at=later, source_turn_ids=cited)
    keep(turns=[turn(0), turn(1, said_at=later)], records=[record(0, "Ana: I broke my arm."), fine])
    index = store.index(scope)

    found = group_records(index, np.arange(2), np.array([1, 0.9], dtype=np.float32), 2)

    assert [group.positions for group in found] == groups


def items_of(*sessions: str) -> SimpleNamespace:
    """Make an index of items that have a session alone."""
    return SimpleNamespace(items=[SimpleNamespace(session_id=session) for session in sessions])


INDEX = SimpleNamespace(records=items_of("a", "a", "a", "b"), turns=items_of("b"))


def test_a_session_s_further_passages_make_room():
    """Each counts less by a tenth, so that another session's comes before the third; records and turns alike."""
    found = [Candidate("record", position, score) for position, score in ((0, 1.0), (1, 0.99), (2, 0.98), (3, 0.85))]

    ordered = diversify_sessions(INDEX, [*found, Candidate("turn", 0, 0.84)])

    assert [(candidate.kind, candidate.position) for candidate in ordered] == [
        ("record", 0),
        ("record", 1),
        ("record", 3),
        ("record", 2),
        ("turn", 0),
    ]
    assert [round(candidate.score, 3) for candidate in ordered] == [1.0, 0.891, 0.85, 0.794, 0.756]


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
