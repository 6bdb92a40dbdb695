"""What looks like a name, and where a sentence may start."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_engram.text.names import proper_names, starts_sentence

START = re.compile(r"(?:^|[.!?:;…\n\"“(\[]|--|—)\s*$")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Gardens bloom, and Tom met Ana Lima.", ["Tom", "Ana Lima"]),
        ("I see Dr. Weaver on Mondays. Lunch is with Mrs. Lima.", ["Dr. Weaver", "Mrs. Lima"]),
        ("We went to the Isle of Wight.\n\nBeaches are near.", ["Isle of Wight"]),
        ('She read "Blue Train" -- Books again.', ["Blue Train"]),
    ],
)
def test_a_capital_at_the_start_of_a_sentence_is_no_name(text, names):
    """Elsewhere a run of capitals is one."""
    found = proper_names(text)

    assert found == names


@given(st.text(alphabet='aB .!?:;…\n"“([-—\t ]', max_size=8), st.integers(0, 8))
def test_a_sentence_starts_after_a_mark_and_white_space(text, length):
    """It does not matter how long the text before the mark is."""
    before = text[:length]

    starts = starts_sentence(text, len(before))

    assert starts == (START.search(before) is not None)
