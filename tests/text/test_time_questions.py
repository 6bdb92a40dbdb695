"""Queries that compare times are read by their words."""

import pytest

from langgraph_engram.text.questions import TimeQuestion, time_question


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        (
            "Which came first, the race or the wedding?",
            TimeQuestion(("the race", "the wedding"), "came"),
        ),
        (
            "Which bus line did I use most recently, the 12 or the 40?",
            TimeQuestion(("the 12", "the 40"), "bus line did I use"),
        ),
        ("Who graduated earlier: Runa or Ben?", TimeQuestion(("Runa", "Ben"), "graduated")),
        (
            "How many days passed between the day I ran the race and the day of the wedding?",
            TimeQuestion(("I ran the race", "the wedding")),
        ),
        (
            "How many weeks before the wedding did I run the race?",
            TimeQuestion(("the wedding", "I run the race")),
        ),
        (
            "How many months had passed since I ran the race when I married?",
            TimeQuestion(("I ran the race", "I married")),
        ),
        ("How long after the race was the wedding?", TimeQuestion(("the race", "the wedding"))),
        (
            "How many days did it take for my bag to arrive after I ordered it?",
            TimeQuestion(("I ordered it", "arrive")),
        ),
        ("How long was it between the race (in Oslo) and the wedding?", TimeQuestion(("the race", "the wedding"))),
    ],
)
def test_what_is_compared_is_read_off_a_query(query, asked):
    """The two parts, and what is said of both."""
    assert time_question(query) == asked


@pytest.mark.parametrize(
    "query",
    [
        "When did I run the race?",
        "How many days ago did I run the race?",
        "How long has Ana sailed?",
        "Who came first in the race?",
        "Tea or coffee?",
        "",
        "?",
    ],
)
def test_other_queries_compare_nothing(query):
    """One time, or a choice without an order."""
    assert time_question(query) is None
