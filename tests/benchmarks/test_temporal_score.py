"""A temporal answer is right by the time it names."""

import pytest

from langgraph_engram.benchmarks.scores import temporal_interval


@pytest.mark.parametrize(
    ("answer", "gold", "score"),
    [
        ("May 7, 2023", "7 May 2023", 1),
        ("2023-05-07", "7 May 2023", 1),
        ("She went on 7 May 2023.", "7 May 2023", 1),
        ("8 May 2023", "7 May 2023", 0),
        ("May 2023", "7 May 2023", 1),
        ("2023", "7 May 2023", 0),
        ("7 May 2023", "2023", 1),
        ("In 2022", "2022", 1),
        ("It was 2022", "In 2022.", 1),
        ("Between April 2023 and December 2023", "7 May 2023", 0),
        ("6 May 2022 or 7 May 2023 or 8 May 2024", "7 May 2023", 0),
        ("the Sunday before 10 May 2023", "7 May 2023", 1),
        ("yesterday", "7 May 2023", 0),
        ("", "7 May 2023", 0),
        ("four months", "four months", 0),
    ],
)
def test_an_answer_overlaps_and_is_at_most_a_month_longer(answer, gold, score):
    """Wording is free; too wide a span, many dates, and words that need a clock are wrong."""
    assert temporal_interval(answer, gold) == score
