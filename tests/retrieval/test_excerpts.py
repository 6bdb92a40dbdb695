"""Of a long passage, the lines are shown that hold most of a query."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_engram.retrieval.excerpts import CUT, MAX_OPENING, excerpt

STEPS = [f"{number}. Sand plank {number} along the grain" for number in range(1, 31)]
STEPS[19] = "20. Seal the hull with pine tar"
PASSAGE = "\n".join(["The boat > Planks:", *STEPS])


def test_the_lines_that_hold_most_are_shown_under_the_first():
    """With lines around them, and a mark where others are left out."""
    lines = excerpt(PASSAGE, {"tar": 0.7, "hull": 0.3}, 200).split("\n")

    assert (lines[0], lines[1], lines[-1]) == ("The boat > Planks:", CUT, CUT)
    assert STEPS[19] in lines[3:-2]
    assert lines[2:-1] == STEPS[int(lines[2].split(".")[0]) - 1 :][: len(lines) - 3]


def test_a_rarer_word_counts_more():
    """The run that holds the greater weight is shown, whatever more often stands elsewhere."""
    assert STEPS[19] in excerpt(PASSAGE, {"tar": 0.6, "grain": 0.4}, 100)


def test_where_nothing_matches_the_beginning_is_shown():
    """As much as there is room for."""
    shown = excerpt(PASSAGE, {"moon": 1.0}, 120)

    assert shown.startswith("The boat > Planks:\n1. Sand plank 1 along")
    assert shown.endswith(CUT)


def test_a_short_passage_is_shown_whole():
    """Up to the very length."""
    assert excerpt(PASSAGE, {"tar": 1.0}, len(PASSAGE)) == PASSAGE


def test_a_long_line_is_cut_at_its_sentences():
    """It has no other places to be cut at."""
    line = " ".join(f"Plank {number} is oak." for number in range(60)) + " The keel is larch."

    assert "The keel is larch." in excerpt(line, {"larch": 1.0}, 100)


@pytest.mark.parametrize("most", [50, 500])
@given(text=st.lists(st.text(alphabet="ab .", max_size=300), max_size=12).map("\n".join))
def test_an_excerpt_is_never_much_longer_than_asked(text, most):
    """Beyond its length there are the first line, which has a bound of its own, and two marks."""
    assert len(excerpt(text, {"a": 0.5, "ab": 0.5}, most)) <= max(most, MAX_OPENING + most // 2) + 8
