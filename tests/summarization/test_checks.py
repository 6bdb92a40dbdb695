"""A sentence that makes up a number is found out; any other is let through."""

from datetime import UTC, datetime

import pytest

from langgraph_engram.summarization.writing import holds_numbers

MAY = datetime(2023, 5, 8, tzinfo=UTC)


@pytest.fixture
def camps(record):
    """Two records with numbers in words and digits, one with a day of its own."""
    return [
        record(0, "Ana: Twelve of us ran 10 km yesterday (7 May 2023)."),
        record(1, "Ana: We raised 1,200 euros.", event_start=MAY),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "On 7 May 2023 Ana ran 10 km with a club of 12, and told of it a day later.",
        "Ana raised 1200 euros; on 8 May she told of it.",
        "1. Ana ran.\n2. Ana raised money.\n3) Ana told of it.",
        "Running means a lot to Ana. She wants to go on.",
    ],
)
def test_numbers_that_were_said_may_be_written(camps, text):
    """Numbers count by their value, in words or digits; days of mention and of events count; so do own words."""
    assert holds_numbers(text, camps)


@pytest.mark.parametrize("number", ["10,000", "2024", "13"])
def test_a_number_that_no_record_holds_is_made_up(camps, number):
    """Then its sentence is left out."""
    assert not holds_numbers(f"Ana raised {number} for the club.", camps)
