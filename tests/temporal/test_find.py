"""What the times that people mention mean, phrase by phrase, on clocks of several kinds."""

from datetime import UTC, datetime

import pytest

from langgraph_engram.temporal.datetimes import format_interval
from langgraph_engram.temporal.find import find_times

CLOCKS = {
    "Wed": datetime(2023, 7, 12, 15, 30, tzinfo=UTC),
    "Sun": datetime(2023, 7, 16, 9, 0, tzinfo=UTC),
    "New Year": datetime(2024, 1, 1, 0, 5, tzinfo=UTC),
    "leap": datetime(2024, 2, 29, 12, 0, tzinfo=UTC),
    "March": datetime(2023, 3, 31, 12, 0, tzinfo=UTC),
    "March 24": datetime(2024, 3, 9, 18, 5, tzinfo=UTC),
    "July": datetime(2024, 7, 3, 10, 0, tzinfo=UTC),
    "October": datetime(2024, 10, 20, 20, 15, tzinfo=UTC),
}

TABLE = """
Wed | We met on [the 7th of May 2023]. | 7 May 2023
Wed | [3 Sept. 2021] was the day. | 3 September 2021
Wed | Logged at [2023-05-07T13:45:00Z]. | 7 May 2023 13:45
Wed | Logged at [2023-05-07T01:30:00+03:00]. | 6 May 2023 22:30
Wed | Said on [2023/05/30 (Tue) 23:40]. | 30 May 2023 23:40
Wed | On [13/5/2023] we left. | 13 May 2023
Wed | On [07.05.2023] we left. | 7 May 2023
Wed | We left on [5/23]. | 23 May 2023
Wed | I moved here in [2019]. | 2019
Wed | He painted it ([1998]). | 1998
Wed | I met her in [May]. | May 2023
Wed | I will meet her in [May]. | May 2024
Wed | They moved [early May 2023]. | 1 to 10 May 2023
Wed | They moved in [late 2022]. | September to December 2022
Wed | The show is on [2 August]. | 2 August 2023
Wed | He was born on [3 March '98]. | 3 March 1998
Wed | I started over [the winter]. | winter 2022
Wed | I went [yesterday]. | 11 July 2023
Wed | I went [the day before yesterday]. | 10 July 2023
Wed | I ran [this morning]. | 12 July 2023
Wed | [The day after tomorrow] we leave. | 14 July 2023
Wed | She came [last Wednesday]. | 5 July 2023
Wed | She came [this past Saturday]. | 8 July 2023
Wed | She came on [Monday]. | 10 July 2023
Wed | She came [Friday last week]. | 7 July 2023
Wed | We hiked over [the weekend]. | the weekend of 8 July 2023
Wed | We'll hike over [the weekend]. | the weekend of 15 July 2023
Wed | We hiked [two weekends ago]. | the weekend of 1 July 2023
Wed | He left [a couple of weeks ago]. | 19 June to 2 July 2023
Wed | He leaves [in two weeks]. | the week of 24 July 2023
Wed | He left in [May of last year]. | May 2022
Wed | I paid on [the 15th]. | 15 June 2023
Wed | I ran daily for [the past week]. | 5 to 12 July 2023
Wed | I ran in [the last two weeks]. | 28 June to 12 July 2023
Wed | I ran in [the last month]. | 12 June to 12 July 2023
Wed | The fair ran [from 3 to 5 May 2023]. | 3 to 5 May 2023
Wed | The fair ran [from May to June 2023]. | May to June 2023
Wed | The fair ran [from 2019 to 2021]. | 2019 to 2021
Wed | The fair ran [between June 28 and July 4]. | 28 June to 4 July 2023
Wed | The fair ran [2023-05-01/2023-05-07]. | 1 to 7 May 2023
Wed | I lived there [from last Monday until yesterday]. | 10 to 11 July 2023
Sun | We hiked over [the weekend]. | the weekend of 15 July 2023
Sun | She came [this Friday]. | 14 July 2023
New Year | I drove [last week]. | the week of 25 December 2023
New Year | I'm driving [this summer]. | summer 2024
New Year | It snows [this winter]. | winter 2023
leap | I flew [a month ago]. | January 2024
leap | I flew on [February 29]. | 29 February 2024
March 24 | The wedding is planned for [14 September]. | 14 September 2024
March 24 | The launch has been postponed until [14 September]. | 14 September 2024
July | I have an appointment for [5 December]. | 5 December 2024
July | The course starts on [20 January]. | 20 January 2025
July | See you on [20 January]! | 20 January 2025
July | Please send it by [15 January]. | 15 January 2025
July | [15 January] is our anniversary. | 15 January 2025
July | Are you coming on [Saturday]? | 6 July 2024
July | I'd love to see it on [Saturday]. | 6 July 2024
July | I was told that the course starts on [Saturday]. | 6 July 2024
July | I'll see Dr. Ames at 5 p.m. on [Saturday]. | 6 July 2024
October | They called me, and I start on [Friday]. | 25 October 2024
October | I was so nervous; on [Friday] I'll be on stage. | 25 October 2024
October | I'm thinking of going in [May]. | May 2025
March 24 | I've lived here since [14 September]. | 14 September 2023
March 24 | I managed to finish the draft by [November]. | November 2023
October | On [Friday] they called me, and I'll be head nurse. | 18 October 2024
October | They called me on [Friday] and I'll be head nurse. | 18 October 2024
October | I can't wait for the job, but on [Friday] I was scared. | 18 October 2024
October | I'm leaving the job – we talked about it on [Friday]. | 18 October 2024
October | We moved house [between 9 and 16 May]. | 9 to 16 May 2024
October | I want to join a walk like the one I attended in [May]. | May 2024
October | I should call about that incident on [5 March] when it wouldn't start. | 5 March 2024
October | Mark said we were late on [Friday]. | 18 October 2024
October | My doctor told me on [Friday]. | 18 October 2024
March 24 | My birthday: [14 May]. | 14 May 2024
March 24 | I signed up for a race on [14 June]. | 14 June 2024
March 24 | We booked a cabin [from 3 to 7 April]. | 3 to 7 April 2024
March 24 | I usually hate it, but over [the winter] we moved there. | winter 2023
March 24 | I'll always remember how we met in [May]. | May 2023
March 24 | Hey Mel, [Today]'s meeting was fun! | 9 March 2024
March 24 | It was in [April.2023], I think. | April 2023
"""
ROWS = [tuple(cell.strip() for cell in row.split("|")) for row in TABLE.strip().splitlines()]


@pytest.mark.parametrize(("clock", "marked", "named"), ROWS, ids=[row[1] for row in ROWS])
def test_a_phrase_means_what_people_mean_by_it(clock, marked, named):
    """Exactly the words in brackets are found, and they mean the period named."""
    said = marked.replace("[", "").replace("]", "")

    found = find_times(said, CLOCKS[clock])

    assert [(time.text, format_interval(time.interval, time.period.granularity)) for time in found] == [
        (marked[marked.index("[") + 1 : marked.index("]")], named)
    ]


def test_without_a_clock_only_complete_dates_are_found():
    """What needs the clock is left out; a date with its year is not."""
    said = "I left yesterday, in May, on Monday and on 7 May; came on 7 May 2023, in 2021, in spring 2020."

    found = find_times(said, None)

    assert [time.text for time in found] == ["7 May 2023", "2021", "spring 2020"]
    assert not any(time.relative for time in found)


def test_days_are_those_of_the_speakers_own_clock():
    """Just after midnight in Tokyo, yesterday is the day that ended there, though it is not over in UTC."""
    clock = datetime.fromisoformat("2023-05-08T00:30:00+09:00")

    [found] = find_times("I ran yesterday.", clock)
    [elsewhere] = find_times("I ran yesterday.", clock.astimezone(UTC))

    assert found.interval.start == datetime(2023, 5, 7, tzinfo=UTC)
    assert elsewhere.interval.start == datetime(2023, 5, 6, tzinfo=UTC)
