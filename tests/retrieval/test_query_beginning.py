"""A query that is too long is read up to the end of a word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_engram.retrieval.queries import MAX_CHARACTERS, MAX_WORD, truncate_query, truncation_notes


@pytest.mark.parametrize(
    ("query", "length"),
    [
        ("a" * MAX_CHARACTERS, MAX_CHARACTERS),
        ("a" * (MAX_CHARACTERS + 1), MAX_CHARACTERS),
        ("a" * (MAX_CHARACTERS - 1) + " b" * 9, MAX_CHARACTERS - 1),
        ("a" * MAX_CHARACTERS + " b", MAX_CHARACTERS),
        ("a" * (MAX_CHARACTERS - 3) + " bcde", MAX_CHARACTERS - 3),
        ("a " * MAX_CHARACTERS, MAX_CHARACTERS - 1),
        ("why " + "a" * MAX_CHARACTERS, MAX_CHARACTERS),
    ],
)
def test_it_ends_with_a_word(query, length):
    """The last word that fits is whole, unless it is too long to be one."""
    assert len(truncate_query(query)) == length


@given(st.text(alphabet="ab \n", min_size=201, max_size=400))
def test_little_is_left_out(end):
    """It is where the query begins, and no more is left out than one word and the white space before it."""
    query = "why " * ((MAX_CHARACTERS - 200) // 4) + end

    read = truncate_query(query)

    assert query.startswith(read)
    assert len(query[len(read) : MAX_CHARACTERS].split()) <= 1
    assert len(query[len(read) : MAX_CHARACTERS].strip()) <= MAX_WORD


def test_only_what_is_cut_is_told():
    """A query that is read whole needs no word."""
    assert truncation_notes("Where?") == []
    assert truncation_notes("a b " * 10_000) == ["only the first 19,999 of the question's 40,000 characters were read"]
