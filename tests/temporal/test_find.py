"""What the times that people mention mean, phrase by phrase, on clocks of several kinds."""

from datetime import UTC, datetime

import pytest

from langgraph_engram.temporal.find import find_times
from langgraph_engram.temporal.periods import format_interval

CLOCKS = {
    "Wed": datetime(2023, 7, 12, 15, 30, tzinfo=UTC),
    "Sun": datetime(2023, 7, 16, 9, 0, tzinfo=UTC),
    "New Year": datetime(2024, 1, 1, 0, 5, tzinfo=UTC),
    "leap": datetime(2024, 2, 29, 12, 0, tzinfo=UTC),
    "March": datetime(2023, 3, 31, 12, 0, tzinfo=UTC),
}

TABLE = """
Wed | We met on [7 May 2023]. | 7 May 2023
Wed | We met on [May 7th, 2023]. | 7 May 2023
Wed | We met on [the 7th of May 2023]. | 7 May 2023
Wed | We met on [May 7 2023]. | 7 May 2023
Wed | We met on [Sunday, May 7, 2023]. | 7 May 2023
Wed | We met on [Sun, 7 May 2023]. | 7 May 2023
Wed | [3 Sept. 2021] was the day. | 3 September 2021
Wed | It was [the first of June 2022]. | 1 June 2022
Wed | It was [the twenty-first of June 2022]. | 21 June 2022
Wed | It was [June twenty-third, 2022]. | 23 June 2022
Wed | Due [2023-05-07]. | 7 May 2023
Wed | Due [2023/05/07]. | 7 May 2023
Wed | Logged at [2023-05-07T13:45:00Z]. | 7 May 2023 13:45
Wed | Logged at [2023-05-07 13:45]. | 7 May 2023 13:45
Wed | Logged at [2023-05-07T01:30:00+03:00]. | 6 May 2023 22:30
Wed | Said on [2023/05/30 (Tue) 23:40]. | 30 May 2023 23:40
Wed | On [13/5/2023] we left. | 13 May 2023
Wed | On [5/13/2023] we left. | 13 May 2023
Wed | On [5/13/23] we left. | 13 May 2023
Wed | On [07.05.2023] we left. | 7 May 2023
Wed | We left on [5/23]. | 23 May 2023
Wed | I started in [May 2023]. | May 2023
Wed | I started in [May, 2023]. | May 2023
Wed | I started in [May of 2023]. | May 2023
Wed | I started in [2023-05]. | May 2023
Wed | I moved here in [2019]. | 2019
Wed | I have skated since [2016]. | 2016
Wed | He painted it ([1998]). | 1998
Wed | I met her in [May]. | May 2023
Wed | I met her in [september]. | September 2022
Wed | I will meet her in [May]. | May 2024
Wed | It happened back in [March]. | March 2023
Wed | They moved [early May 2023]. | 1 to 10 May 2023
Wed | They moved in [mid-April]. | 11 to 20 April 2023
Wed | They moved in [late June]. | 21 to 30 June 2023
Wed | They moved at [the end of April 2023]. | 21 to 30 April 2023
Wed | They moved in [late 2022]. | September to December 2022
Wed | They moved [early last year]. | January to April 2022
Wed | I met her on [May 7]. | 7 May 2023
Wed | I met her on [7 December]. | 7 December 2022
Wed | I'll meet her on [7 December]. | 7 December 2023
Wed | The show is on [2 August]. | 2 August 2023
Wed | He was born on [3 March '98]. | 3 March 1998
Wed | [the summer of 2022] was hot. | summer 2022
Wed | In [spring 2021] I quit. | spring 2021
Wed | We camped [last summer]. | summer 2022
Wed | We camp [this summer]. | summer 2023
Wed | We camp [next summer]. | summer 2024
Wed | It snowed [last winter]. | winter 2022
Wed | I started over [the winter]. | winter 2022
Wed | I'll be back by [the fall]. | autumn 2023
Wed | Music from the [90s]. | the 1990s
Wed | Music from the [1980s]. | the 1980s
Wed | Music from the [seventies]. | the 1970s
Wed | I went [yesterday]. | 11 July 2023
Wed | I went [yesterday morning]. | 11 July 2023
Wed | I went [the day before yesterday]. | 10 July 2023
Wed | I slept badly [last night]. | 11 July 2023
Wed | I ran [this morning]. | 12 July 2023
Wed | Let's eat out [tonight]. | 12 July 2023
Wed | [Tomorrow] we leave. | 13 July 2023
Wed | [The day after tomorrow] we leave. | 14 July 2023
Wed | She came [last Friday]. | 7 July 2023
Wed | She came [last Wednesday]. | 5 July 2023
Wed | She came [last Thursday night]. | 6 July 2023
Wed | She came [last Fri]. | 7 July 2023
Wed | She comes [this Friday]. | 14 July 2023
Wed | She comes [next Tuesday]. | 18 July 2023
Wed | She comes [this coming Tuesday]. | 18 July 2023
Wed | She came [this past Saturday]. | 8 July 2023
Wed | She came on [Monday]. | 10 July 2023
Wed | She will come on [Monday]. | 17 July 2023
Wed | See you [Friday]! | 14 July 2023
Wed | She came on [Tuesday evening]. | 11 July 2023
Wed | She came [two Fridays ago]. | 30 June 2023
Wed | She came [the Friday before last]. | 30 June 2023
Wed | She came [Friday last week]. | 7 July 2023
Wed | She came on [Monday of last week]. | 3 July 2023
Wed | She comes [next week Tuesday]. | 18 July 2023
Wed | We hiked [last week]. | the week of 3 July 2023
Wed | We hike [this week]. | the week of 10 July 2023
Wed | We hike [next week]. | the week of 17 July 2023
Wed | We hiked [the week before last]. | the week of 26 June 2023
Wed | We hiked [last weekend]. | the weekend of 8 July 2023
Wed | We hiked over [the weekend]. | the weekend of 8 July 2023
Wed | We'll hike over [the weekend]. | the weekend of 15 July 2023
Wed | We hike [this weekend]. | the weekend of 15 July 2023
Wed | We hike [next weekend]. | the weekend of 22 July 2023
Wed | We hiked [the weekend before last]. | the weekend of 1 July 2023
Wed | We hiked [two weekends ago]. | the weekend of 1 July 2023
Wed | He left [last month]. | June 2023
Wed | He leaves [next month]. | August 2023
Wed | He left [last year]. | 2022
Wed | He leaves [this year]. | 2023
Wed | He left [three days ago]. | 9 July 2023
Wed | He left [a few days ago]. | 7 to 10 July 2023
Wed | He left [a week ago]. | the week of 3 July 2023
Wed | He left [a couple of weeks ago]. | 19 June to 2 July 2023
Wed | He left about [two months ago]. | May 2023
Wed | He left [three years ago]. | 2020
Wed | He left [10 years back]. | 2013
Wed | He left [a year and a half ago]. | December 2021 to February 2022
Wed | He left [an hour ago]. | 12 July 2023 14:30
Wed | He leaves [in two weeks]. | the week of 24 July 2023
Wed | He leaves [in 3 days]. | 15 July 2023
Wed | He leaves [two months from now]. | September 2023
Wed | He left [last December]. | December 2022
Wed | He left [last July]. | July 2022
Wed | He left [this June]. | June 2023
Wed | He leaves [next June]. | June 2024
Wed | He left in [May of last year]. | May 2022
Wed | He left [last year in May]. | May 2022
Wed | I paid on [the 5th]. | 5 July 2023
Wed | I paid on [the 15th]. | 15 June 2023
Wed | I'll pay on [the 15th]. | 15 July 2023
Wed | I ran daily for [the past week]. | 5 to 12 July 2023
Wed | I ran in [the last two weeks]. | 28 June to 12 July 2023
Wed | I'll run in [the next few days]. | 12 to 17 July 2023
Wed | I'll run in [the next week]. | 12 to 19 July 2023
Wed | I ran in [the last month]. | 12 June to 12 July 2023
Wed | I run [this coming weekend]. | the weekend of 15 July 2023
Wed | The fair ran [from 3 to 5 May 2023]. | 3 to 5 May 2023
Wed | The fair ran [May 3-5, 2023]. | 3 to 5 May 2023
Wed | The fair ran [from May to August 2022]. | May to August 2022
Wed | The fair ran [between June 28 and July 4]. | 28 June to 4 July 2023
Wed | The fair ran [2023-05-01/2023-05-07]. | 1 to 7 May 2023
Wed | I lived there [between 2019 and 2021]. | 2019 to 2021
Wed | I lived there [from last Monday until yesterday]. | 10 to 11 July 2023
Wed | I worked [from Monday to Wednesday]. | 3 to 5 July 2023
Wed | It was [the week before 9 June 2023]. | the week of 29 May 2023
Wed | It was [the Sunday before 25 May 2023]. | 21 May 2023
Wed | It was [two days after 3 July 2023]. | 5 July 2023
Wed | It was [the week of 5 June 2023]. | the week of 5 June 2023
Wed | It was [the first weekend of August 2022]. | the weekend of 6 August 2022
Wed | It was [the last Friday of May 2023]. | 26 May 2023
Wed | He came [last Christmas]. | 25 December 2022
Wed | He came at [Christmas]. | 25 December 2022
Wed | He came for [Christmas 2020]. | 25 December 2020
Wed | He came on [New Year's Eve]. | 31 December 2022
Wed | He came on [Halloween]. | 31 October 2022
Wed | He will come on [Halloween]. | 31 October 2023
Wed | He came on [Valentine's Day]. | 14 February 2023
Wed | He came on [the 4th of July]. | 4 July 2023
Wed | He came for [Thanksgiving 2021]. | 25 November 2021
Wed | He came at [Easter]. | 9 April 2023
Wed | He came for [Easter 2024]. | 31 March 2024
Wed | He came on [Mother's Day]. | 14 May 2023
Wed | He came [the day before Easter 2024]. | 30 March 2024
Sun | She came [last Sunday]. | 9 July 2023
Sun | She comes [next Friday]. | 21 July 2023
Sun | She comes [next Sunday]. | 23 July 2023
Sun | She came [yesterday]. | 15 July 2023
Sun | We hiked [last weekend]. | the weekend of 8 July 2023
Sun | We hiked over [the weekend]. | the weekend of 15 July 2023
Sun | We hiked [last week]. | the week of 3 July 2023
Sun | She came [this Friday]. | 14 July 2023
New Year | I drove [yesterday]. | 31 December 2023
New Year | I drove [last week]. | the week of 25 December 2023
New Year | I drove [last month]. | December 2023
New Year | I drove [last year]. | 2023
New Year | I drove in [December]. | December 2023
New Year | I drove on [Christmas Eve]. | 24 December 2023
New Year | I drove [two weeks ago]. | the week of 18 December 2023
New Year | I'm driving [this summer]. | summer 2024
New Year | It snows [this winter]. | winter 2023
leap | I flew [today]. | 29 February 2024
leap | I flew [last year]. | 2023
leap | I flew [a month ago]. | January 2024
leap | I will fly [in one year]. | 2025
leap | I flew on [February 29]. | 29 February 2024
March | I flew [a month ago]. | February 2023
March | I paid on [the 31st]. | 31 March 2023
March | We fly [tomorrow]. | 1 April 2023
"""
ROWS = [tuple(cell.strip() for cell in row.split("|")) for row in TABLE.strip().splitlines()]

NO_TIMES = """
I have lived here for 3 years.
We train three times a week.
We train every Friday, daily, and on Mondays.
We train each May and most Saturdays.
I work Monday to Friday.
May I come in?
You may march 10 miles in the sun.
Give me a second, that is my second chance.
One day the day will come, some day.
Spring rolls fall apart in autumn colors.
We have a Christmas tree for Christmas dinner.
April and June said hi to August.
I walked in 2019 steps.
I haven't seen her in 3 years.
It was the first time in ten years.
Sales grew by half in one week.
31 February 2023 was fine.
The year 9999 and 9999-12-31 and 2023-13-45.
On 5/7/2023 and 5/7 we met.
Version 2023.1 costs $2019.50 at 10.10.
I called 555-2019 and 2019-555.
Recently, lately, these days, nowadays and in the past.
Years ago, long ago, ages ago.
The last week of school was the last day of fun.
The next week and the next summer we went back.
Next time, the next day, last time, at last.
Happy New Year! Merry Christmas!
"""


@pytest.mark.parametrize(("clock", "marked", "named"), ROWS, ids=[row[1] for row in ROWS])
def test_a_phrase_means_what_people_mean_by_it(clock, marked, named):
    """Exactly the words in brackets are found, and they mean the period named."""
    said = marked.replace("[", "").replace("]", "")

    found = find_times(said, CLOCKS[clock])

    assert [(time.text, format_interval(time.interval, time.granularity)) for time in found] == [
        (marked[marked.index("[") + 1 : marked.index("]")], named)
    ]


@pytest.mark.parametrize("said", NO_TIMES.strip().splitlines())
def test_what_only_looks_like_a_time_is_none(said):
    """Durations, habits, names, quantities, uncertain orders and impossible dates are not mentions."""
    clock = CLOCKS["Wed"]

    found = find_times(said, clock)

    assert found == []


def test_without_a_clock_only_complete_dates_are_found():
    """What needs the clock is left out; a date with its year is not."""
    said = (
        "I left yesterday, in May, on Monday, at Christmas and on 7 May; came on 7 May 2023, in 2021, in spring 2020."
    )

    found = find_times(said, None)

    assert [time.text for time in found] == ["7 May 2023", "2021", "spring 2020"]
    assert not any(time.relative for time in found)


def test_an_interval_ends_with_the_last_second_of_its_period():
    """Both ends are included, in UTC."""
    said = "It was in May 2023."

    [found] = find_times(said, None)

    assert found.interval.start == datetime(2023, 5, 1, tzinfo=UTC)
    assert found.interval.end == datetime(2023, 5, 31, 23, 59, 59, tzinfo=UTC)
    assert (found.granularity, found.relative) == ("month", False)
    assert said[found.start_char : found.end_char] == found.text == "May 2023"


def test_days_are_those_of_the_speakers_own_clock():
    """Just after midnight in Tokyo, yesterday is the day that ended there, though it is not over in UTC."""
    clock = datetime.fromisoformat("2023-05-08T00:30:00+09:00")

    [found] = find_times("I ran yesterday.", clock)
    [elsewhere] = find_times("I ran yesterday.", clock.astimezone(UTC))

    assert found.interval.start == datetime(2023, 5, 7, tzinfo=UTC)
    assert elsewhere.interval.start == datetime(2023, 5, 6, tzinfo=UTC)
