"""A narrative that makes up a number or repeats itself is found out; any other is let through."""

from datetime import UTC, datetime

import pytest

from langgraph_engram.summarization.writing import narrative_fault

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
def test_a_narrative_of_its_records_has_no_fault(camps, text):
    """Numbers count by their value, in words or digits; days of mention and of events count; so do own words."""
    assert narrative_fault(text, camps) == ""


@pytest.mark.parametrize("number", ["10,000", "2024", "13"])
def test_a_number_that_no_record_holds_is_made_up(camps, number):
    """It is named in the reason."""
    assert f"'{number}'" in narrative_fault(f"Ana raised {number} for the club.", camps)


@pytest.mark.parametrize("text", ["The new memories build upon the earlier ones.", "**New Memories:** Ana camped."])
def test_a_narrative_of_its_task_is_none(camps, text):
    """A small model writes about what it was asked to do."""
    assert "new memories" in narrative_fault(text, camps)


def test_what_was_said_of_memories_may_be_written(camps):
    """People make new memories, too."""
    records = [camps[0].model_copy(update={"content": "Ana: We made new memories at the lake."})]

    assert narrative_fault("Ana made new memories at the lake.", records) == ""


def test_a_narrative_that_goes_round_in_circles_is_none(camps):
    """A few words said twice are no circle; a third of the sentences are."""
    once = "Ana ran. Ana was glad. Ben cheered. Ana rested. Ana ran again."

    assert narrative_fault(f"{once} Ana was glad.", camps) == ""
    assert "repeats" in narrative_fault(f"{once} {once}", camps)
