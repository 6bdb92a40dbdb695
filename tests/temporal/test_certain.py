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


@pytest.mark.parametrize(
    ("said", "day", "name"),
    [
        ("I registered for a marathon on 14 June.", "2025-03-03", "14 June 2025"),
        ("I signed up for the swim on 14 June.", "2025-07-03", "14 June 2025"),
        ("A hotel from 3 to 7 July, please.", "2024-05-02", "3 to 7 July 2024"),
    ],
)
def test_a_day_without_its_year_is_the_nearest_that_its_clause_allows(said, day, name):
    """Tense decides; what is booked or noted without one is near."""
    assert list(named(said, on(day)).values()) == [name]


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
    ("day", "said", "name"),
    [
        ("2022-04-20", "We tried the new café this weekend.", "the weekend of 16 April 2022"),
        ("2022-04-22", "We tried the new café this weekend.", None),
        ("2022-04-24", "We tried the new café this weekend.", "the weekend of 23 April 2022"),
        ("2022-04-20", "We will try the new café this weekend.", "the weekend of 23 April 2022"),
        ("2022-04-20", "What a plan for this weekend!", "the weekend of 23 April 2022"),
        ("2022-04-20", "Anything fun over the weekend?", None),
    ],
)
def test_this_weekend_goes_by_tense(day, said, name):
    """What was done was done the weekend before, until Wednesday; what is planned comes."""
    assert list(named(said, on(day)).values()) == ([name] if name else [])


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("I met her last Tuesday.", None),  # yesterday would be called so
        ("I met her last Monday.", "18 April 2022"),
        ("I meet her next Friday.", None),  # this week's or next week's
        ("I met her this Tuesday.", "19 April 2022"),
        ("This Tuesday.", None),
        ("Dinner on Friday, the shopping list: bread, smoked trout.", None),
        ("We got up on Sunday, 10 April.", "10 April 2022"),
        ("We got up on Monday, 10 April.", None),
    ],
)
def test_a_weekday_that_may_be_of_two_weeks_is_none(said, name):
    """English leaves open what "last" and "next" mean within a week."""
    assert list(named(said, WEDNESDAY).values()) == ([name] if name else [])


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


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("The trip starts three weeks from tomorrow.", None),
        ("I left twenty-five years ago.", "1997"),
        ("I left three hundred days ago.", None),
        ("This may take longer.", None),
        ("He taught 2,500 years ago.", None),
        ("I met her this May.", "May 2022"),
        ("A portrait by jan van Eyck that I saw.", None),
        ("I hope you like it, seven books in three months is a lot.", None),
        ("The 20th and 21st centuries were loud.", None),
    ],
)
def test_words_that_look_like_times(said, name):
    """What is counted from another day is that other day's; what only looks like a month is none."""
    assert list(named(said, WEDNESDAY).values()) == ([name] if name else [])


@pytest.mark.parametrize("said", ["I saw him today.", "Today was fun.", "It rained today.", "What did Ana eat today?"])
def test_today_is_the_day_of_what_is_done(said):
    """A person or a tense make it one."""
    assert list(named(said, WEDNESDAY).values()) == ["20 April 2022"]


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


@pytest.mark.parametrize(
    ("day", "said", "name"),
    [
        (
            "2023-05-20",
            "I just ordered a laptop on March 10th, and I'm excited: it should arrive soon.",
            "10 March 2023",
        ),
        ("2023-03-17", "My cousin Alex just adopted a girl in January, so I've seen how it can be.", "January 2023"),
        ("2023-05-30", "As for your experience on March 15th, it might help to reflect.", None),
        ("2023-05-20", "I ordered a laptop on March 10th and it should arrive soon.", None),
        ("2023-05-20", "We decided to go to Rome in July.", None),
        ("2023-05-20", "I was wondering what the weather in July is like.", None),
        ("2023-05-20", "I rented a house in July.", "July 2022"),
        ("2023-06-01", "I'm considering joining the market on October 2nd and I was wondering how.", "2 October 2023"),
        ("2022-03-14", "It was a busy Monday.", None),
        ("2022-03-15", "It was a busy Monday.", "14 March 2022"),
        ("2022-03-14", "I was at the gym on Friday evenings.", None),
        ("2023-07-07", "I was in Japan last month from March 15th to 19th.", None),
        ("2023-07-07", "I was in Japan last month (from March 15th to 19th).", None),
        ("2023-05-25", "I trained for three months (March to May).", None),
    ],
)
def test_what_readers_saw_dated_wrongly(day, said, name):
    """What is past is dated in the past; what may be of two years, weeks or readings is not."""
    assert list(named(said, on(day)).values()) == ([name] if name else [])
