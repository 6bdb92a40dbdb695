"""A query that is too long is read up to the end of a word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_engram.retrieval.queries import LONGEST_WORD, MOST_CHARACTERS, beginning, cut_note


@pytest.mark.parametrize(
    ("query", "length"),
    [
        ("a" * MOST_CHARACTERS, MOST_CHARACTERS),
        ("a" * (MOST_CHARACTERS + 1), MOST_CHARACTERS),
        ("a" * (MOST_CHARACTERS - 1) + " b" * 9, MOST_CHARACTERS - 1),
        ("a" * MOST_CHARACTERS + " b", MOST_CHARACTERS),
        ("a" * (MOST_CHARACTERS - 3) + " bcde", MOST_CHARACTERS - 3),
        ("a " * MOST_CHARACTERS, MOST_CHARACTERS - 1),
        ("why " + "a" * MOST_CHARACTERS, MOST_CHARACTERS),
    ],
)
def test_it_ends_with_a_word(query, length):
    """The last word that fits is whole, unless it is too long to be one."""
    assert len(beginning(query)) == length


@given(st.text(alphabet="ab \n", min_size=201, max_size=400))
def test_little_is_left_out(end):
    """It is where the query begins, and no more is left out than one word and the white space before it."""
    query = "why " * ((MOST_CHARACTERS - 200) // 4) + end

    read = beginning(query)

    assert query.startswith(read)
    assert len(query[len(read) : MOST_CHARACTERS].split()) <= 1
    assert len(query[len(read) : MOST_CHARACTERS].strip()) <= LONGEST_WORD


def test_only_what_is_cut_is_told():
    """A query that is read whole needs no word."""
    assert cut_note("Where?") == []
    assert cut_note("a b " * 10_000) == ["only the first 19,999 of the question's 40,000 characters were read"]
