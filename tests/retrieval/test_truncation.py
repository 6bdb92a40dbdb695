"""A list is ordered by score and relevance, and ends where relevance does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_engram.retrieval.relevance import by_strength, truncate
from langgraph_engram.schema import Evidence

SHARES = st.floats(0, 1)
FOUND = st.lists(st.tuples(SHARES, SHARES), max_size=8)


def passages(*pairs):
    """Return a passage for each score and relevance, named by its position."""
    return [
        Evidence(evidence_id=str(number), text="said", score=score, relevance=relevance)
        for number, (score, relevance) in enumerate(pairs)
    ]


def names(found):
    """Return the names of passages."""
    return [passage.evidence_id for passage in found]


def test_relevance_reorders_what_scores_alike():
    """Of two passages of nearly one score the relevant one comes first; a far better score still leads."""
    found = by_strength(passages((1.0, 0.5), (0.6, 0.1), (0.55, 0.6)), 0.15)

    assert names(found) == ["0", "2", "1"]


def test_without_a_weight_the_order_of_the_fusion_stays():
    """The papers' fusions order by more than scores."""
    found = passages((0.2, 0.9), (1.0, 0.1), (0.5, 0.5))

    assert by_strength(found, 0) == found


def test_the_list_ends_at_the_first_weak_passage():
    """What scores a tenth of the best ends it; with no stop, or with one that all reach, everything is shown."""
    found = passages((1.0, 0.6), (0.8, 0.4), (0.1, 0.02))

    assert names(truncate(found, 0.15, 0.3, 0.232)) == ["0", "1"]
    assert truncate(found, 0.15, 0.0, 0.232) == found
    assert truncate(found, 0.15, 0.01, 0.232) == found


def test_where_nothing_is_relevant_little_is_shown():
    """The same scores make a shorter list the less relevant the best of them is, and none where it is not at all."""
    scores = (1.0, 0.7, 0.4, 0.25)

    shown = [
        len(truncate(passages(*((score, best) for score in scores)), 0.15, 0.16, 0.232))
        for best in (0.5, 0.05, 0.02, 0.001)
    ]

    assert shown == sorted(shown, reverse=True)
    assert shown[0] == 4
    assert shown[-1] == 0


def test_the_only_passage_of_a_scope_is_shown():
    """Its score is the least there is, and the best."""
    assert len(truncate(passages((1e-6, 0.4)), 0.15, 0.16, 0.232)) == 1


@given(FOUND, SHARES, SHARES)
def test_what_is_shown_begins_the_list_and_a_higher_stop_never_shows_more(pairs, low, high):
    """The list is cut, never thinned."""
    found = by_strength(passages(*pairs), 0.15)

    longer, shorter = (truncate(found, 0.15, stop, 0.232) for stop in sorted((low, high)))

    assert found[: len(longer)] == longer
    assert longer[: len(shorter)] == shorter


@pytest.mark.parametrize("weight", [0.0, 0.15])
def test_nothing_found_is_nothing_shown(weight):
    """An empty list has no best passage."""
    assert by_strength([], weight) == []
    assert truncate([], weight, 0.16, 0.232) == []
