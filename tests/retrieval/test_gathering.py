"""What was said together is shown together, as long as it stands for each of its turns."""

from datetime import timedelta

import numpy as np
import pytest

from langgraph_engram.retrieval.features import record_links
from langgraph_engram.retrieval.grouping import group_records
from langgraph_engram.retrieval.passages import join_contents
from langgraph_engram.settings import RetrieveSettings


@pytest.fixture
def places_of(store, scope, keep, turn, record):
    """Give the pieces of five records, one a turn of one session, by their scores; the last repeats the first turn."""
    keep(
        turns=[turn(one) for one in range(5)],
        records=[
            *(record(one, f"Ana: Number {one}.") for one in range(5)),
            record(5, "Ana: More.", source_turn_ids=["t0"]),
        ],
    )
    index = store.index(scope)

    def pieces(scores, reach):
        total = np.array(scores, dtype=np.float64)
        ranked = [place for place in np.argsort(-total).tolist() if total[place] > 0]
        groups = group_records(index, ranked, total, record_links(index), RetrieveSettings(), reach)
        return [group.places for group in groups]

    return pieces


def test_sentences_of_one_exchange_are_one_piece(places_of):
    """Those two turns apart are; those three apart, or far behind in score, are pieces of their own."""
    assert places_of([1, 0, 0.9, 0, 0, 0], reach=2) == [[0, 2]]
    assert places_of([1, 0, 0, 0.9, 0, 0], reach=2) == [[0], [3]]
    assert places_of([1, 0, 0.5, 0, 0, 0], reach=2) == [[0], [2]]
    assert places_of([1, 0, 0.9, 0, 0, 0], reach=0) == [[0], [2]]


def test_a_piece_is_of_one_day(store, scope, keep, turn, record):
    """It is told under its day; a session may go on for years."""
    later = turn(0).said_at + timedelta(days=1)
    keep(
        turns=[turn(0), turn(1, said_at=later)],
        records=[record(0, "Ana: I broke my arm."), record(1, "Ana: It is fine again.", mentioned_at=later)],
    )
    index = store.index(scope)

    groups = group_records(index, [0, 1], np.array([1, 0.9]), record_links(index), RetrieveSettings(), 2)

    assert [group.places for group in groups] == [[0], [1]]


def test_a_piece_cites_three_turns_at_most(places_of):
    """One that cited more would stand for none of them."""
    assert places_of([1, 0.99, 0.98, 0.97, 0, 0], reach=2) == [[0, 1, 2], [3]]


def test_a_further_sentence_of_a_turn_must_score_more_than_one_of_another_turn(places_of):
    """The turn is shown already."""
    assert places_of([1, 0.8, 0, 0, 0, 0.8], reach=2) == [[0, 1], [5]]
    assert places_of([1, 0, 0, 0, 0, 0.95], reach=0) == [[0, 5]]


def test_each_speaker_is_named_where_another_spoke_before(record):
    """A name that stands already is not told again."""
    said = [
        record(0, "Ana: I camped."),
        record(1, "Ana: It rained."),
        record(2, "Ben: Where?", speaker="Ben"),
        record(3, "Ana: At Bled."),
    ]

    assert join_contents(said) == "Ana: I camped. It rained. Ben: Where? Ana: At Bled."


def test_what_is_shown_together_is_said_once(record):
    """A reply's question that stands already, and a name before an image."""
    said = [
        record(0, "Ana: I camped."),
        record(1, "Ana: Guess where?"),
        record(2, "Ana: Guess where? Ben: At Bled?", speaker="Ben"),
        record(3, "Ben shares an image: a lake", speaker="Ben"),
    ]

    assert join_contents(said) == "Ana: I camped. Guess where? Ben: At Bled? (shares an image: a lake)"
