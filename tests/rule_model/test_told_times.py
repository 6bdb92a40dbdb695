"""A sentence may tell of the time asked about, or it is of another."""

from datetime import UTC, datetime

import pytest

from langgraph_engram.rules.told_times import may_tell_of
from langgraph_engram.schema import TimeConstraint

APRIL = TimeConstraint(
    text="in April", start=datetime(2023, 4, 1, tzinfo=UTC), end=datetime(2023, 4, 30, 23, 59, tzinfo=UTC)
)
LAST_APRIL = TimeConstraint(
    text="in April 2022", start=datetime(2022, 4, 1, tzinfo=UTC), end=datetime(2022, 4, 30, 23, 59, tzinfo=UTC)
)


@pytest.mark.parametrize(
    ("text", "asked", "may"),
    [
        ("I saw three.", APRIL, True),
        ("I saw three.", LAST_APRIL, False),
        ("I saw three in April 2022.", LAST_APRIL, True),
        ("I see three every April 2022.", LAST_APRIL, True),
        ("I saw three in March.", APRIL, False),
        ("I saw three, and in June I'll see more.", APRIL, True),
        ("I saw three.", APRIL.model_copy(update={"start": None}), True),
        ("I saw three.", LAST_APRIL.model_copy(update={"end": None}), True),
        ("I saw three in March.", APRIL.model_copy(update={"end": None}), True),
    ],
)
def test_a_sentence_is_of_its_time(text, asked, may, said):
    """Said on 8 May 2023: what names no time is of lately; what is still to come leaves that open, as open times do."""
    assert may_tell_of(said(text), asked, datetime(2023, 9, 1, tzinfo=UTC)) is may


def test_what_was_told_last_holds_for_a_time_that_goes_on(said):
    """Nobody says each day how many children they have."""
    today = TimeConstraint(
        text="as of today", start=datetime(2023, 9, 1, tzinfo=UTC), end=datetime(2023, 9, 1, 23, 59, tzinfo=UTC)
    )

    assert may_tell_of(said("I have three."), today, datetime(2023, 9, 1, 12, tzinfo=UTC))
    assert not may_tell_of(said("I have three."), today, datetime(2023, 10, 1, tzinfo=UTC))


def test_a_habit_that_says_the_same_day_is_of_it(said):
    """Of Mondays what is told of Mondays, whichever Monday is meant."""
    monday = TimeConstraint(
        text="on Monday", start=datetime(2023, 8, 28, tzinfo=UTC), end=datetime(2023, 8, 28, 23, 59, tzinfo=UTC)
    )

    assert may_tell_of(said("I work six hours on Mondays."), monday, datetime(2023, 9, 1, tzinfo=UTC))
    assert not may_tell_of(said("I work six hours."), monday, datetime(2023, 9, 1, tzinfo=UTC))


def test_the_turn_before_says_when(said):
    """What answers a question is of the question's time."""
    assert may_tell_of(said("Three.", before="How many did you see in April 2022?"), LAST_APRIL)
    assert may_tell_of(said("I saw three.", said_at=None), LAST_APRIL)


def test_a_record_knows_when(said, record):
    """Its time counts as that of its sentence."""
    then = record("Ana: I saw three.", event_start=LAST_APRIL.start, event_end=LAST_APRIL.end)

    assert may_tell_of(said("I saw three.", record=then), LAST_APRIL)
    assert not may_tell_of(said("I saw three.", record=then), APRIL)
