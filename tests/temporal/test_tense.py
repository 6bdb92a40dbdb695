"""In which direction a sentence looks, as the times show that leave their year or week to it."""

from datetime import UTC, datetime

import pytest

from langgraph_engram.temporal.find import find_times
from langgraph_engram.temporal.periods import format_interval

SAID = {
    "March": datetime(2024, 3, 9, 18, 5, tzinfo=UTC),
    "July": datetime(2024, 7, 3, 10, 0, tzinfo=UTC),
    "October": datetime(2024, 10, 20, 20, 15, tzinfo=UTC),
}

AHEAD = """
March | The wedding is planned for [14 September]. | 14 September 2024
March | The wedding is scheduled for [14 September]. | 14 September 2024
March | The wedding's set for [September 14]. | 14 September 2024
March | The launch was moved to [14 September]. | 14 September 2024
March | The launch has been postponed until [14 September]. | 14 September 2024
March | They pushed the launch back to [November]. | November 2024
July | We have moved the wedding to [12 October], and it will be in Porto. | 12 October 2024
July | We booked a table for [12 December]. | 12 December 2024
July | I have an appointment for [5 December]. | 5 December 2024
July | I've got an exam on [5 January]. | 5 January 2025
July | The rent is due on [5 January]. | 5 January 2025
July | The deadline is [5 January]. | 5 January 2025
July | The show is on [2 February]. | 2 February 2025
July | Her birthday is [2 February]. | 2 February 2025
July | The fair is in Boston on [20 January]. | 20 January 2025
July | The course starts on [20 January]. | 20 January 2025
July | The museum opens again in [February]. | February 2025
July | School begins on [20 January]. | 20 January 2025
July | We fly home on [2 January]. | 2 January 2025
July | See you on [20 January]! | 20 January 2025
July | Please send it by [15 January]. | 15 January 2025
July | They asked me to finish the draft by [15 January]. | 15 January 2025
July | The pool is closed until [15 January]. | 15 January 2025
July | My visa got extended until [15 January]. | 15 January 2025
July | Only ten weeks left until [15 January]. | 15 January 2025
July | The party will be held on [15 January]. | 15 January 2025
July | The results are expected in [February]. | February 2025
July | [15 January] is our anniversary. | 15 January 2025
July | Are you coming on [Saturday]? | 6 July 2024
July | Are you free on [Saturday]? | 6 July 2024
July | Don't forget the dentist on [Saturday]. | 6 July 2024
July | We're organizing a cleanup on [Saturday]. | 6 July 2024
July | I'd love to see it on [Saturday]. | 6 July 2024
July | I was told that the course starts on [Saturday]. | 6 July 2024
July | I'll see Dr. Ames at 5 p.m. on [Saturday]. | 6 July 2024
October | They called me, and I start on [Friday]. | 25 October 2024
October | They called me, but I'll be there on [Friday]. | 25 October 2024
October | I was so nervous; on [Friday] I'll be on stage. | 25 October 2024
October | We lost, so on [Friday] we're going to train more. | 25 October 2024
October | We lost, but on [Friday], we'll try again. | 25 October 2024
October | I'm going, and on [Friday] too. | 25 October 2024
October | He said that on [Friday] he is flying home. | 25 October 2024
October | What are you doing on [Friday]? | 25 October 2024
October | Are we still on for [Friday]? | 25 October 2024
October | The album is released on [Friday]. | 25 October 2024
October | I've been invited to speak on [12 November]. | 12 November 2024
October | I've been wanting to see the show on [12 November]. | 12 November 2024
October | I'm thinking of going in [May]. | May 2025
October | We've moved the party [from Friday to Saturday]. | 26 October 2024
October | They moved the party [from 9 to 16 November]. | 16 November 2024
October | They moved the party [from May 9 to June 3]. | 3 June 2025
"""
BEHIND = """
March | The wedding was on [14 September]. | 14 September 2023
March | We got married on [14 September]. | 14 September 2023
March | We moved to Porto on [14 September]. | 14 September 2023
March | The shop opened on [14 September]. | 14 September 2023
March | I've lived here since [14 September]. | 14 September 2023
March | I worked there until [November]. | November 2023
March | She finished the draft by [November]. | November 2023
March | I managed to finish the draft by [November]. | November 2023
March | We met the planners in [November]. | November 2023
March | [14 September] was wonderful. | 14 September 2023
March | Will called me on [14 September]. | 14 September 2023
March | It happened back in [November]. | November 2023
October | On [Friday] they called me, and I'll be head nurse. | 18 October 2024
October | They called me on [Friday], and I'll be head nurse. | 18 October 2024
October | They called me on [Friday] and I'll be head nurse. | 18 October 2024
October | They called me on [Friday] so I'm going to be head nurse. | 18 October 2024
October | I'm going to be head nurse because they called me on [Friday]. | 18 October 2024
October | I'll be head nurse; they called me on [Friday]. | 18 October 2024
October | I'll be head nurse, they called me on [Friday]. | 18 October 2024
October | I can't wait for the job, but on [Friday] I was scared. | 18 October 2024
October | I'm leaving the job – we talked about it on [Friday]. | 18 October 2024
October | We ran on [Friday] and rested. | 18 October 2024
October | I was away [from Friday to Saturday]. | 18 to 19 October 2024
October | We moved house [between 9 and 16 May]. | 9 to 16 May 2024
October | The store was closed on [Friday]. | 18 October 2024
October | I did just have a fitting on [Friday]. | 18 October 2024
October | I want to join a walk like the one I attended in [May]. | May 2024
October | I'll wear what I had at the party in [March] where we danced. | March 2024
October | I should call about that incident on [5 March] when it wouldn't start. | 5 March 2024
October | Did you have a party on [Friday]? | 18 October 2024
October | Mark said we were late on [Friday]. | 18 October 2024
October | My doctor told me on [Friday]. | 18 October 2024
October | On [Friday] she said goodbye. | 18 October 2024
"""
NEAREST = """
March | My birthday: [14 May]. | 14 May 2024
March | I signed up for a race on [14 June]. | 14 June 2024
March | We booked a cabin [from 3 to 7 April]. | 3 to 7 April 2024
March | The release targets [31 March]. | 31 March 2024
July | I noticed that the sprint ends by [31 July]. | 31 July 2024
July | My birthday: [14 May]. | 14 May 2024
October | I just booked my flight on [12 November]. | 12 November 2024
"""
ROWS = [tuple(cell.strip() for cell in row.split("|")) for row in (AHEAD + BEHIND + NEAREST).splitlines() if row]


@pytest.mark.parametrize(("said_in", "marked", "named"), ROWS, ids=[row[1] for row in ROWS])
def test_a_time_lies_where_its_clause_looks(said_in, marked, named):
    """What is planned lies ahead, what happened lies behind; the clause next to the time decides, or else nearness."""
    said = marked.replace("[", "").replace("]", "")

    found = find_times(said, SAID[said_in])

    assert [(time.text, format_interval(time.interval, time.granularity)) for time in found] == [
        (marked[marked.index("[") + 1 : marked.index("]")], named)
    ]


@pytest.mark.parametrize(
    "said",
    [
        "We usually go there in the winter.",
        "In the summer I always swim.",
        "I often work on Friday.",
        "Every year in May we go camping.",
        "We tend to meet at Christmas.",
        "The rent is normally due on the 1st.",
        "We used to hike over the weekend.",
        "I read in the evenings.",
    ],
)
def test_a_habit_has_no_date(said):
    """What happens again and again happens at no one time."""
    clock = SAID["March"]

    found = find_times(said, clock)

    assert found == []


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ("I usually hate it, but over the winter we moved there.", "winter 2023"),
        ("I'll always remember how we met in May.", "May 2023"),
        ("I usually run, and I ran on Friday.", "8 March 2024"),
    ],
)
def test_a_habit_ends_with_its_clause(said, named):
    """The rest of the sentence keeps its date."""
    clock = SAID["March"]

    [found] = find_times(said, clock)

    assert format_interval(found.interval, found.granularity) == named


def test_a_move_between_complete_dates_is_no_range():
    """Both dates stand on their own, for nothing lasts from one to the other."""
    said = "They moved the party from 9 May 2024 to 3 June 2024."

    found = find_times(said, None)

    assert [time.text for time in found] == ["9 May 2024", "3 June 2024"]


@pytest.mark.parametrize(
    "said",
    [
        "I've had him for three years now.",
        "Seven years now, and I still love it.",
        "I have been dancing for ten years.",
        "I have played since I was ten.",
        "We've known each other for 10 years now and he was part of the family for 5 years.",
        "Such is life in today's world.",
        "USA Today and Psychology Today wrote of it.",
        "The Today show had her on.",
        "Today show hosts are funny.",
        "We met on the other day of the fair, and every other day since.",
    ],
)
def test_a_duration_an_age_and_a_title_are_no_times(said):
    """How long something lasts, our age, and what is called Today are no days."""
    clock = SAID["March"]

    found = find_times(said, clock)

    assert found == []


@pytest.mark.parametrize(
    ("said", "text", "named"),
    [
        ("I saw him the other day.", "the other day", "28 February to 7 March 2024"),
        ("I saw him just the other night.", "just the other night", "28 February to 7 March 2024"),
        ("I saw him the other evening.", "the other evening", "28 February to 7 March 2024"),
        ("I saw him the other week.", "the other week", "12 February to 3 March 2024"),
        ("Today was fun.", "Today", "9 March 2024"),
        ("Hey Mel, Today's meeting was fun!", "Today", "9 March 2024"),
        ("It's Saturday!", "Saturday", "9 March 2024"),
        ("It was in April.2023, I think.", "April.2023", "April 2023"),
        ("It was on 5 April.2023, I think.", "5 April.2023", "5 April 2023"),
        ("It was the weekend after 3 June 2022.", "the weekend after 3 June 2022", "the weekend of 4 June 2022"),
        ("It was the weekend after 4 June 2022.", "the weekend after 4 June 2022", "the weekend of 11 June 2022"),
        ("It was the weekend before 5 June 2022.", "the weekend before 5 June 2022", "the weekend of 28 May 2022"),
        ("It was the weekend before 6 June 2022.", "the weekend before 6 June 2022", "the weekend of 4 June 2022"),
        ("It was two weekends after 3 June 2022.", "two weekends after 3 June 2022", "the weekend of 11 June 2022"),
        ("It was two weekends before 3 June 2022.", "two weekends before 3 June 2022", "the weekend of 21 May 2022"),
    ],
)
def test_vague_days_weekends_and_odd_spellings_are_read(said, text, named):
    """The weekend after a day starts after it, "the other day" is some days ago, and a forgotten space does no harm."""
    clock = SAID["March"]

    [found] = find_times(said, clock)

    assert (found.text, format_interval(found.interval, found.granularity)) == (text, named)
