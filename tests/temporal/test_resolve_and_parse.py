"""What a query says of when, what a time string means, and how relative times are resolved."""

from datetime import UTC, datetime

import pytest

from langgraph_engram.temporal.find import parse_constraint, parse_time, resolve_times

NOW = datetime(2023, 7, 12, 15, 30, tzinfo=UTC)

CONSTRAINTS = """
What happened on 7 May 2023? | on 7 May 2023 | 2023-05-07 | 2023-05-07
What happened in May? | in May | 2023-05-01 | 2023-05-31
Where did I eat yesterday? | yesterday | 2023-07-11 | 2023-07-11
What did Ana do before May 2023? | before May 2023 | - | 2023-04-30
What has Ana done from 2021 onwards? | from 2021 onwards | 2021-01-01 | -
What did Ana do around 7 May 2023? | around 7 May 2023 | 2023-05-04 | 2023-05-10
What did Ana do around 2020? | around 2020 | 2018-12-31 | 2022-01-01
What did Ana do between May and July 2022? | between May and July 2022 | 2022-05-01 | 2022-07-31
What did Ana do in 2023 before March 2023? | in 2023 before March 2023 | 2023-01-01 | 2023-02-28
How many books did I read in the past two weeks? | in the past two weeks | 2023-06-28 | 2023-07-12
What will Ana do in December? | in December | 2023-12-01 | 2023-12-31
When did Ana go to Paris? | - | - | -
What did Ana do before moving to Paris? | - | - | -
Since when does Ana paint? | - | - | -
What day did Ana arrive, and in which year? | - | - | -
"""


@pytest.mark.parametrize("row", CONSTRAINTS.strip().splitlines())
def test_a_query_says_when(row):
    """The preposition opens, closes or widens the time; whole days are meant, in the words of the query.

    Asking for the time, or for what came before an event, names none.
    """
    query, text, first, last = (cell.strip() for cell in row.split("|"))

    found = parse_constraint(query, NOW)

    assert (found.text if found else "-") == text
    assert (found.start.isoformat() if found and found.start else "-") in (first, f"{first}T00:00:00+00:00")
    assert (found.end.isoformat() if found and found.end else "-") in (last, f"{last}T23:59:59+00:00")


def test_a_query_without_a_clock_is_bound_by_complete_dates_only():
    """What counts from now means nothing without a now."""
    query = "What did Ana do {}?"

    constraints = [parse_constraint(query.format(when), None) for when in ("last week", "in May", "in May 2023")]

    assert [constraint is None for constraint in constraints] == [True, True, False]


TIMES = """
2023-05-07 | 2023-05-07T00:00:00 | 2023-05-07T23:59:59
2023-05-01/2023-05-07 | 2023-05-01T00:00:00 | 2023-05-07T23:59:59
2023-05-07T13:45:10Z | 2023-05-07T13:45:10 | 2023-05-07T13:45:10
2023-05-07T13:45:10.123456+00:00 | 2023-05-07T13:45:10 | 2023-05-07T13:45:10
2023-05-07T00:00:00+00:00/2023-05-08T23:59:59+00:00 | 2023-05-07T00:00:00 | 2023-05-08T23:59:59
1:56 pm on 8 May, 2023 | 2023-05-08T00:00:00 | 2023-05-08T23:59:59
14 July | 2023-07-14T00:00:00 | 2023-07-14T23:59:59
yesterday | 2023-07-11T00:00:00 | 2023-07-11T23:59:59
early May 2023 | 2023-05-01T00:00:00 | 2023-05-10T23:59:59
"""


@pytest.mark.parametrize("row", TIMES.strip().splitlines())
def test_a_time_string_is_an_interval(row):
    """ISO forms, two of them with a slash, and natural words are read; both ends are included."""
    text, start, end = (cell.strip() for cell in row.split("|"))

    interval = parse_time(text, NOW)

    assert interval is not None
    assert interval.start.isoformat() == f"{start}+00:00"
    assert interval.end.isoformat() == f"{end}+00:00"


NONSENSE = ",  ,/,9999-12-31,2023-13-01,2023-02-30,unknown,2023-05-07/2023-05-01,May,Monday"


@pytest.mark.parametrize("text", NONSENSE.split(","))
def test_nonsense_is_no_time(text):
    """An impossible, endless, reversed or empty time is none, and no error."""
    assert parse_time(text, NOW) is None


@pytest.mark.parametrize(
    ("said", "resolved"),
    [
        ("It was last Fri.", "It was last Fri (7 July 2023, the Friday before)."),
        ("It rained on Sunday.", "It rained on Sunday (9 July 2023, the Sunday before)."),
        ("We met two weekends ago.", "We met two weekends ago (the weekend of 1 July 2023)."),
        ("We leave next week.", "We leave next week (the week of 17 July 2023)."),
    ],
)
def test_past_weeks_and_weekdays_are_counted_from_the_clock(said, resolved):
    """What is to come, and what is no weekday or week, is not counted."""
    assert resolve_times(said, NOW) == resolved


def test_relative_times_are_followed_by_what_they_mean():
    """Complete dates stay as they are, and everything else of the text too."""
    said = "Wow! I went yesterday, not on 3 May 2023 or in June 2022; back in May or last week... We fly next June."

    resolved = resolve_times(said, NOW)

    assert resolved == (
        "Wow! I went yesterday (11 July 2023), not on 3 May 2023 or in June 2022; back in May (May 2023) or "
        "last week (the week of 3 July 2023, the week before)... We fly next June (June 2024)."
    )
