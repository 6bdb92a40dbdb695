"""An answer holds words, and cites what it rests on and nothing that was never shown."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_engram.prompts.write_answer import final_answer, with_citations, without_unknown_citations


@pytest.fixture
def pool(passage):
    """A passage about a lake, and one about a bus."""
    return [passage("p0", text="Ana camped at the lake."), passage("p1", text="Ben took the night bus to Porto.")]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("By the night bus [2].", "By the night bus [2]."),
        ("[2]", "Ben took the night bus to Porto. [2]"),
        ("[2].", "Ben took the night bus to Porto. [2]"),
        ("[7]", ""),
        ("The night bus", "The night bus [2]"),
        ("The night bus [9]", "The night bus [2]"),
        ("At the lake", "At the lake [1]"),
        ("A castle on a hill", "A castle on a hill"),
        ("I don't know.", "I don't know."),
        ("Yes", "Yes"),
        ("", ""),
    ],
)
def test_an_answer_says_something_and_what_it_rests_on(pool, said, expected):
    """A number alone becomes its passage, words alone are traced to theirs, and what nothing holds stays."""
    assert with_citations(said, pool) == expected


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("At the lake [1].", "At the lake [1]."),
        ("At the lake [1][7].", "At the lake [1]."),
        ("At the lake [7].", "At the lake."),
        ("At the lake [2, 9, 1].", "At the lake [2, 1]."),
        ("[0] By bus [1,3]", "By bus [1]"),
        ("No citation.", "No citation."),
    ],
)
def test_citations_of_what_was_never_shown_are_taken_out(said, kept):
    """Only passages that were shown can be cited."""
    assert without_unknown_citations(said, 2) == kept


@given(
    st.lists(st.sampled_from(["At ", "sea", "[1]", "[3]", " [2, 9]", "[0,4,1]", "."]), max_size=9), st.integers(0, 4)
)
def test_every_citation_that_stays_is_known(parts, count):
    """Whatever is cited in whatever way, what stays was shown; and words stay as they are."""
    kept = without_unknown_citations("".join(parts), count)

    assert all(1 <= int(number) <= count for number in re.findall(r"\d+", kept))
    assert re.sub(r"[^a-zA-Z]", "", kept) == re.sub(r"[^a-zA-Z]", "", "".join(parts))


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("Two lakes [1].", ("Two lakes [1].", False)),
        ("Two lakes [1]. [more]", ("Two lakes [1].", True)),
        ("They hold more.\nAnswer: Two lakes [1][more]", ("Two lakes [1]", True)),
        ("[more]", ("", True)),
    ],
)
def test_a_final_answer_is_apart_from_what_leads_to_it(said, expected):
    """Neither its reasoning nor the mark for more is part of it."""
    assert final_answer(said) == expected
