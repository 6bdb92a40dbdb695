"""Passages are formatted without repeats, fit a budget, and keep their numbers in a pool."""

import pytest

from langgraph_engram.retrieval.passages import join_contents
from langgraph_engram.retrieval.pool import light_passages, merge_pools
from langgraph_engram.settings import DeepSettings


def ids_of(passages):
    return [passage.evidence_id for passage in passages]


@pytest.mark.parametrize(
    ("scores", "share", "shown"),
    [
        ([1.0, 0.2, 0.2, 0.2], 0.5, 3),
        ([1.0, 0.9, 0.6, 0.5, 0.49], 0.5, 4),
        ([0.9] * 30, 0.5, 12),
        ([1.0, *[0.1] * 30], 0.0, 12),
        ([0.0] * 5, 0.5, 5),
        ([], 0.5, 0),
    ],
)
def test_passages_that_stand_out_are_shown(passage, scores, share, shown):
    """Three at least, k at most, and between them what scores no less than a share of the best."""
    found = [passage(f"p{position}", score=score) for position, score in enumerate(scores)]

    chosen = light_passages(found, DeepSettings(light_k=12, min_share=share))

    assert ids_of(chosen) == [f"p{number}" for number in range(shown)]


def test_standing_statements_are_always_among_them(passage):
    """Whatever their place and score."""
    found = [*(passage(f"p{position}", score=1.0) for position in range(15)), passage("s", routes={"standing": 0.1})]

    assert ids_of(light_passages(found, DeepSettings(light_k=12)))[-2:] == ["p11", "s"]


def test_a_pool_holds_each_passage_once_and_keeps_its_numbers(passage):
    """What an answer has cited keeps its number."""
    pool = merge_pools([passage("a"), passage("b")], [passage("b"), passage("c"), passage("c")])

    assert ids_of(pool) == ["a", "b", "c"]


def test_a_pool_takes_what_fits_its_budget(passage):
    """What is too large for what is left is passed over; what is held stays."""
    long = passage("long", text="word " * 200)

    assert ids_of(merge_pools([passage("a")], [long, passage("b")], budget=30)) == ["a", "b"]


def test_each_speaker_is_named_where_another_spoke_before(record):
    """A name that stands already is not repeated."""
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


def test_an_ellipsis_stands_where_something_is_left_out(record):
    """Sentences that follow each other stand together, in the next turn or in the next event too."""
    said = [
        record(0, "Ana: I camped.", part=0),
        record(0, "Ana: It rained.", part=1),
        record(1, "Ana: We left.", part=4),
        record(2, "Ana: I ski.", part=0),
        record(4, "Ana: I sail.", part=0),
    ]

    assert join_contents(said) == "Ana: I camped. It rained. … We left. I ski. … I sail."
    assert join_contents([]) == ""
