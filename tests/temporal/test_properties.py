"""What holds for the times of any text, said at any time."""

import re
from datetime import UTC, datetime

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from langgraph_engram.temporal.datetimes import format_interval
from langgraph_engram.temporal.find import find_times, parse_constraint, parse_time, resolve_times

PARTS = (
    "yesterday,last,next,this,past,the,of,in,on,from,to,and,between,before,after,since,until,around,early,late,"
    "mid,end,week,weekend,month,year,years,days,decade,night,morning,ago,May,march,June,february,29,30,31st,31,"
    "first,second,2023,2024,1999,9999,0,12,5/13,2023-02-30,2023-05-07,T10:00Z,'98,90s,the nineties,Monday,Fri,"
    "sunday,summer,fall,winter,a,few,couple,three,half,today,tomorrow,weeks,will,"
    "03/04/2025,13/04/2025,3.4.25,is,every,"
    "went,going to,.,-,/,(,),\n,:,"
).split(",")
TIMELY = st.lists(st.sampled_from(PARTS), max_size=14).map(" ".join)
TEXTS = st.one_of(st.text(max_size=80), TIMELY)
PHRASES = (
    "we met yesterday;last week;next weekend;this month;last year;two weekends ago;"
    "a few days ago;last winter;a couple of months ago;three years ago;we met on Monday;"
    "we will meet on Monday;last December;next June;the past two weeks;the next few days;"
    "early last month;late last year;the end of next week;"
    "the week of 3 June 2022;from last week to yesterday;twenty-five years ago;we will meet in two weeks"
).split(";")
USUAL_CLOCKS = st.datetimes(datetime(1990, 1, 1), datetime(2060, 1, 1), timezones=st.just(UTC))
ORDERS = st.sampled_from([None, "day_first", "month_first"])
CLOCKS = st.one_of(st.none(), st.datetimes(timezones=st.just(UTC)), st.datetimes(), USUAL_CLOCKS)


@given(TEXTS, CLOCKS, ORDERS)
@example("last year, the 1500s, 200 decades ago", datetime(1000, 1, 1), None)
@example("in 900 decades, the next 900 years", datetime(2999, 12, 31, tzinfo=UTC), None)
@settings(max_examples=400)
def test_mentions_lie_in_their_text_in_order(text, clock, order):
    """No text raises an error; positions are right and never overlap; intervals are in UTC and end after they start."""
    done = 0

    for mention in find_times(text, clock, order):
        assert done <= mention.start_char < mention.end_char <= len(text)
        assert text[mention.start_char : mention.end_char] == mention.text
        assert mention.interval.start <= mention.interval.end
        assert mention.interval.start.tzinfo is UTC
        assert mention.interval.end.tzinfo is UTC
        assert clock is not None or not mention.relative
        done = mention.end_char


@given(st.sampled_from(PHRASES), USUAL_CLOCKS)
@settings(max_examples=400)
def test_every_phrase_has_a_name_that_means_it(phrase, clock):
    """A phrase is one mention on every day of the calendar, and its name reads back as the same interval."""
    assume("Monday" not in phrase or clock.weekday() != 0)
    [mention] = find_times(phrase, clock)

    named = format_interval(mention.interval, mention.period.granularity)

    assert parse_time(named, None) == mention.interval
    assert parse_time(named, clock) == mention.interval


@given(TEXTS.filter(lambda text: "(" not in text and ")" not in text), CLOCKS, ORDERS)
@settings(max_examples=300)
def test_resolving_only_adds_brackets(text, clock, order):
    """Taking the brackets out gives the text back, and resolving again adds nothing."""
    resolved = resolve_times(text, clock, order)

    assert re.sub(r" \([^()]*\)", "", resolved) == text
    assert resolve_times(resolved, clock, order) == resolved


@given(TEXTS, CLOCKS)
@settings(max_examples=200)
def test_a_constraint_ends_after_it_starts_and_stands_in_its_query(query, now):
    """Whatever is asked, the constraint is possible and in the query's own words."""
    constraint = parse_constraint(query, now)

    assert constraint is None or constraint.text in query
    assert constraint is None or constraint.start or constraint.end
    if constraint and constraint.start and constraint.end:
        assert constraint.start <= constraint.end


@given(
    st.dates(datetime(1990, 1, 1).date(), datetime(2060, 1, 1).date()), st.sampled_from(["day_first", "month_first"])
)
@settings(max_examples=200)
def test_a_date_in_numbers_reads_back_in_its_order(day, order):
    """Whatever the order, the date that was written is read."""
    written = f"{day:%d/%m/%Y}" if order == "day_first" else f"{day:%m/%d/%Y}"

    found = [mention.interval for mention in find_times(f"On {written}.", None, order)]

    assert [interval.start.date() for interval in found] == [day]
