"""Passages are formatted without repeats, long ones by the lines that hold most of a query, and fit a pool."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_engram.results import count_tokens
from langgraph_engram.retrieval.passages import CUT, excerpt, excerpted, join_contents, with_replies, without_cuts
from langgraph_engram.retrieval.pool import light_passages, merge_pools
from langgraph_engram.settings import DeepSettings
from langgraph_engram.text.markdown import MAX_OPENING


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


def test_what_lasts_is_always_among_them(passage):
    """Whatever their place and score."""
    found = [*(passage(f"p{position}", score=1.0) for position in range(15)), passage("s", routes={"lasting": 0.1})]

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
    """Sentences that follow each other stand together, in the next turn too; between two events something may be."""
    said = [
        record(0, "Ana: I camped.", part=0),
        record(0, "Ana: It rained.", part=1),
        record(1, "Ana: We left.", part=2),
        record(1, "Ana: We ate.", part=4),
        record(3, "Ana: I ski.", part=5),
        record(4, "Ana: I sail.", part=6, event_id="e2"),
    ]

    assert join_contents(said) == "Ana: I camped. It rained. We left. … We ate. … I ski. … I sail."
    assert join_contents([]) == ""


STEPS = [f"{number}. Sand plank {number} along the grain" for number in range(1, 31)]
STEPS[19] = "20. Seal the hull with pine tar"
PASSAGE = "\n".join(["The boat > Planks:", *STEPS])


def test_the_lines_that_hold_most_are_shown_under_the_first():
    """With lines around them, and a mark where others are left out."""
    lines = excerpt(PASSAGE, {"tar": 0.7, "hull": 0.3}, 200).split("\n")

    assert (lines[0], lines[1], lines[-1]) == ("The boat > Planks:", CUT, CUT)
    assert STEPS[19] in lines[3:-2]
    assert lines[2:-1] == STEPS[int(lines[2].split(".")[0]) - 1 :][: len(lines) - 3]


LINE = " ".join(f"Plank {number} is oak." for number in range(60)) + " The keel is larch."


@pytest.mark.parametrize(
    ("text", "weights", "most", "shown"),
    [
        (PASSAGE, {"tar": 0.6, "grain": 0.4}, 100, STEPS[19]),
        (PASSAGE, {"moon": 1.0}, 120, "The boat > Planks:\n1. Sand plank 1 along"),
        (PASSAGE, {"tar": 1.0}, len(PASSAGE), PASSAGE),
        (LINE, {"larch": 1.0}, 100, "The keel is larch."),
    ],
    ids=["a rarer word counts more", "without a match the beginning", "a short passage whole", "a long line is cut"],
)
def test_what_is_shown_of_a_passage(text, weights, most, shown):
    """The run of lines, or of sentences of a line without others, that holds the greatest weight."""
    assert shown in excerpt(text, weights, most)


@pytest.mark.parametrize("most", [50, 500])
@given(text=st.lists(st.text(alphabet="ab .", max_size=300), max_size=12).map("\n".join))
def test_an_excerpt_is_never_much_longer_than_asked(text, most):
    """Beyond its length there are the first line, which has a bound of its own, and two marks."""
    assert len(excerpt(text, {"a": 0.5, "ab": 0.5}, most)) <= max(most, MAX_OPENING + most // 2) + 8


@pytest.fixture
def found(passage, record):
    """Return the long passage as it is found for a word."""
    long = record(0, PASSAGE, kind="passage", memory_type=None, mentioned_at=None)

    def find(word):
        whole = passage("long", text=PASSAGE, record=long)
        return excerpted(whole, {word: 1.0})

    return find


def test_excerpts_are_completed_as_far_as_there_is_room(found, passage):
    """The first ones first; what is no excerpt stays as it is."""
    cut, other = found("tar"), passage("other")
    more = count_tokens(PASSAGE) - count_tokens(cut.text)

    assert [shown.text for shown in without_cuts([other, cut, cut], more)] == [other.text, PASSAGE, cut.text]


def test_replies_stay_behind_an_excerpt(passage, record, turn):
    """Where a preset shows an assistant's reply with what it replies to."""
    long = record(0, PASSAGE, kind="passage", memory_type=None, mentioned_at=None)
    reply = turn(1, "Birch tar is as good.", speaker="assistant")
    whole = with_replies(passage("long", text=PASSAGE, record=long, turns=[turn(0, PASSAGE)]), [reply])

    cut = excerpted(whole, {"tar": 1.0})

    assert cut.text.endswith(f"{CUT}\nassistant: Birch tar is as good.")
    assert [shown.turn_id for shown in cut.turns] == ["t0", "t1"]
    assert without_cuts([cut], 1000) == [whole]
