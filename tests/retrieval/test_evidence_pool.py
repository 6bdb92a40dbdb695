"""A light answer is written from what stands out; a pool grows by what it lacks."""

import pytest

from langgraph_engram.retrieval.passages import light_passages, merge_pools
from langgraph_engram.settings import DeepSettings


@pytest.mark.parametrize(
    ("scores", "shown"),
    [
        ([1.0, 0.2, 0.2, 0.2], 3),
        ([1.0, 0.9, 0.6, 0.5, 0.49], 4),
        ([0.9] * 30, 12),
        ([0.0] * 5, 5),
        ([0.4], 1),
        ([], 0),
    ],
)
def test_pieces_that_stand_out_are_shown(piece, scores, shown):
    """Three at least, k at most, and between them what scores half of the best."""
    found = [piece(f"p{place}", score=score) for place, score in enumerate(scores)]

    assert [one.evidence_id for one in light_passages(found, DeepSettings())] == [f"p{n}" for n in range(shown)]


def test_a_share_of_nothing_shows_k(piece):
    """A preset may show its k pieces whatever they score."""
    found = [piece(f"p{place}", score=1 / (1 + place)) for place in range(9)]

    assert len(light_passages(found, DeepSettings(min_share=0, light_k=7))) == 7


def test_a_pool_holds_each_piece_once_and_keeps_its_places(piece):
    """What an answer has cited keeps its number."""
    pool = merge_pools([piece("a"), piece("b")], [piece("b"), piece("c"), piece("c")])

    assert [one.evidence_id for one in pool] == ["a", "b", "c"]


def test_a_pool_takes_what_fits_its_budget(piece):
    """What is too large for what is left is passed over; what is held stays."""
    long = piece("long", text="word " * 200)

    assert [one.evidence_id for one in merge_pools([piece("a")], [long, piece("b")], budget=30)] == ["a", "b"]
