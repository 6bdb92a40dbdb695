"""A time that is not certain is no time: a wrong date is worse than none."""

from datetime import UTC, datetime

import pytest

from langgraph_engram.temporal.datetimes import format_interval
from langgraph_engram.temporal.find import find_times, parse_constraint, parse_time, resolve_times

WEDNESDAY = datetime(2022, 4, 20, 15, 30, tzinfo=UTC)
"""A Wednesday in spring."""


def on(day):
    return datetime.fromisoformat(f"{day}T12:00:00+00:00")


def named(text, clock, date_order=None):
    return {
        mention.text: format_interval(mention.interval, mention.period.granularity)
        for mention in find_times(text, clock, date_order)
    }


CERTAIN = """
# a day without its year is the nearest that its clause allows: tense decides, and what is booked is near
2025-03-03 | I registered for a marathon on 14 June. | 14 June 2025
2025-07-03 | I signed up for the swim on 14 June. | 14 June 2025
2024-05-02 | A hotel from 3 to 7 July, please. | 3 to 7 July 2024
2023-06-14 | Since that fall in March my hand shakes as soon as I lift it. | March 2023
# this weekend goes by tense: what was done was done the weekend before, until Wednesday
2022-04-20 | We tried the new café this weekend. | the weekend of 16 April 2022
2022-04-22 | We tried the new café this weekend. | -
2022-04-24 | We tried the new café this weekend. | the weekend of 23 April 2022
2022-04-20 | We will try the new café this weekend. | the weekend of 23 April 2022
2022-04-20 | What a plan for this weekend! | the weekend of 23 April 2022
2022-04-20 | Anything fun over the weekend? | -
# English leaves open what "last" and "next" mean within a week
2022-04-20 | I met her last Tuesday. | -
2022-04-20 | I met her last Monday. | 18 April 2022
2022-04-20 | I meet her next Friday. | -
2022-04-20 | I met her this Tuesday. | 19 April 2022
2022-04-20 | This Tuesday. | -
2022-04-20 | Dinner on Friday, the shopping list: bread, smoked trout. | -
2022-04-20 | We got up on Sunday, 10 April. | 10 April 2022
2022-04-20 | We got up on Monday, 10 April. | -
# what is counted from another day is that other day's, and what only looks like a month is none
2022-04-20 | The trip starts three weeks from tomorrow. | -
2022-04-20 | I left twenty-five years ago. | 1997
2022-04-20 | I left three hundred days ago. | -
2022-04-20 | This may take longer. | -
2022-04-20 | He taught 2,500 years ago. | -
2022-04-20 | I met her this May. | May 2022
2022-04-20 | A portrait by jan van Eyck that I saw. | -
2022-04-20 | I hope you like it, seven books in three months is a lot. | -
2022-04-20 | The 20th and 21st centuries were loud. | -
# today is the day of what is done: a person or a tense make it one
2022-04-20 | I saw him today. | 20 April 2022
2022-04-20 | Today was fun. | 20 April 2022
2022-04-20 | It rained today. | 20 April 2022
2022-04-20 | What did Ana eat today? | 20 April 2022
# what readers saw dated wrongly: of two years, weeks or readings none is certain
2023-05-20 | I just ordered a laptop on March 10th, and I'm excited: it should arrive soon. | 10 March 2023
2023-03-17 | My cousin Alex just adopted a girl in January, so I've seen how it can be. | January 2023
2023-05-30 | As for your experience on March 15th, it might help to reflect. | -
2023-05-20 | I ordered a laptop on March 10th and it should arrive soon. | -
2023-05-20 | We decided to go to Rome in July. | -
2023-05-20 | I was wondering what the weather in July is like. | -
2023-05-20 | I rented a house in July. | July 2022
2023-06-01 | I'm considering joining the market on October 2nd and I was wondering how. | 2 October 2023
2022-03-14 | It was a busy Monday. | -
2022-03-15 | It was a busy Monday. | 14 March 2022
2022-03-14 | I was at the gym on Friday evenings. | -
2023-07-07 | I was in Japan last month from March 15th to 19th. | -
2023-07-07 | I was in Japan last month (from March 15th to 19th). | -
2023-05-25 | I trained for three months (March to May). | -
"""


@pytest.mark.parametrize("row", [line for line in CERTAIN.strip().splitlines() if not line.startswith("# ")])
def test_what_is_certain_is_dated_and_nothing_else(row):
    """What is past is dated in the past, what is planned comes, and what may be of two times is none."""
    day, said, name = (cell.strip() for cell in row.split(" | "))

    assert list(named(said, on(day)).values()) == ([] if name == "-" else [name])


NO_TIMES = """
# of another year
We got married on 14 May.
I love the freedom in the summer.
The peak season (June to August) can be crowded.
A trip in November.
Go in the shoulder season (April-May).
# a habit
We play every Wednesday, Friday and Sunday.
The train runs daily at 11:30 from April to July.
# a template
We will train on Monday, Tuesday, and Wednesday.
Tuesday (Day 2)
* Show the trends of the past year
Be realistic about what you can do in a day or a week.
# numbers
Due on 03/04/2025.
The fertilizer is 10-20-10.
# nowadays or any day
Painters today use tablets.
The probability that it rains tomorrow given that today is wet.
endDate: 'today'
It feels like just yesterday!
# counted from another time
It was the week before 9 June 2022, two days after 3 July 2022 or the Friday before 1 May 2022.
# a duration
We've known each other for 10 years now and he was part of the family for 5 years.
# only looks like a time
I have lived here for 3 years.
We train three times a week.
I work Monday to Friday.
May I come in?
You may march 10 miles in the sun.
Give me a second, that is my second chance.
Spring rolls fall apart in autumn colors.
We have a Christmas tree for Christmas dinner.
I walked in 2019 steps.
We bought it on Black Friday, and she came the week after Good Friday.
It was the first time in ten years.
Sales grew by half in one week.
31 February 2023 was fine.
On 5/7/2023 and 5/7 we met.
I called 555-2019 and 2019-555.
The last week of school was the last day of fun.
The next week and the next summer we went back.
She came two Fridays ago, or the Friday before last.
We hiked the week before last, the weekend before last and the night before last.
He left a year and a half ago, half a year ago, two and a half years ago, or half an hour ago.
# not as past as saying it
Mark said that we march on Saturday.
"""


@pytest.mark.parametrize("said", [line for line in NO_TIMES.strip().splitlines() if not line.startswith("# ")])
def test_what_is_not_certain_is_no_time(said):
    """What comes again, stands in a schedule, holds nowadays or lasts is at no one time."""
    assert named(said, WEDNESDAY) == {}


@pytest.mark.parametrize(
    ("said", "order", "name"),
    [
        ("Due on 2025-04-03.", None, "3 April 2025"),
        ("Due on 3.4.2025.", None, "3 April 2025"),
        ("Due on 3.4.2025.", "month_first", "3 April 2025"),
        ("Due on 04/04/2025.", None, "4 April 2025"),
        ("Due on 13/04/2025.", "month_first", "13 April 2025"),
    ],
)
def test_the_order_of_a_date_in_numbers_is_certain_or_given(said, order, name):
    """ISO dates, dots and days above twelve say it; else the setting does."""
    assert list(named(said, None, order).values()) == [name]


def test_what_is_vague_gets_no_brackets():
    """It still narrows a search; a date in numbers is written out, for who reads it later does not know the order."""
    for said in ("We met a couple of weeks ago.", "In the next few weeks I rest."):
        assert resolve_times(said, WEDNESDAY) == said
        assert len(find_times(said, WEDNESDAY)) == 1
    assert resolve_times("We paid 03/04/2025.", WEDNESDAY) == "We paid 03/04/2025."
    assert resolve_times("We paid 03/04/2025.", WEDNESDAY, "day_first") == "We paid 03/04/2025 (3 April 2025)."


def test_a_query_lends_its_tense_to_its_time():
    """A month in a query is the one that its verbs speak of; alone it is none."""
    constraint = parse_constraint("What did Ana do in June?", WEDNESDAY)

    assert constraint is not None
    assert constraint.start == datetime(2021, 6, 1, tzinfo=UTC)
    assert parse_constraint("in June", WEDNESDAY) is None
    assert parse_time("June", WEDNESDAY) is None
