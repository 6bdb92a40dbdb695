"""A query's words say what type of answer it expects."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_engram.text.questions import answer_type, asks_for_one


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("When did Ana move?", "time"),
        ("In which month did the market open?", "time"),
        ("In what month's match did Ben score?", "time"),
        ("Which week of May did Ana travel?", "time"),
        ("Which clever time management method does Ben use?", "content"),
        ("How long ago was the wedding?", "time"),
        ("How long has Ben played the cello?", "duration"),
        ("How many weeks did the repair take?", "duration"),
        ("How many cats does Ana have?", "number"),
        ("How old is Ben's sister?", "age"),
        ("What is the age of Ben's dog?", "age"),
        ("What was the discount on my first order?", "number"),
        ("What is my current highest score in darts?", "number"),
        ("What is Ben's number one goal?", "content"),
        ("What was Ben's previous phone number?", "content"),
        ("What was the highest number of points?", "number"),
        ("What is Ben's favorite cost-saving trick?", "content"),
        ("What time do I get up on Saturdays?", "clock_time"),
        ("At what time did Ben come?", "clock_time"),
        ("What time of year does Ben travel?", "time"),
        ("What time management app do I use?", "content"),
        ("What day of the week do I swim?", "weekday"),
        ("What day did Ben swim?", "time"),
        ("Where did they meet?", "place"),
        ("Which city does Ana want to visit?", "place"),
        ("What European countries has Ana been to?", "place"),
        ("What is city life like?", "content"),
        ("What area of research does Ben follow?", "content"),
        ("Who taught Ben to swim?", "person"),
        ("With whom did Ana travel?", "person"),
        ("Why did Ana leave?", "reason"),
        ("What are the names of Ana's dogs?", "name"),
        ("Which book did Ben finish?", "name"),
        ("Did Ana like the film?", "yes_no"),
        ("Can you recommend a film?", "advice"),
        ("I need a new pan. Any good tips?", "advice"),
        ("What should I cook?", "advice"),
        ("What advice did Ben give Ana?", "content"),
        ("Did Ben give Ana any advice?", "yes_no"),
        ("How many more ideas did Ana have?", "number"),
        ("Who do you think Ben married?", "person"),
        ("What time should I leave?", "clock_time"),
        ("Since what time has Ana lived in Oslo?", "time"),
        ("What was Ana's favorite toy at age five?", "content"),
        ("What is Ana's age group?", "content"),
        ("What is my dad's age?", "age"),
        ("What discount code did Ana use?", "content"),
        ("What is Ana's fee structure?", "content"),
        ("What weekday activities does Ana enjoy?", "content"),
        ("Would Ben enjoy a trip to the sea?", "yes_no"),
        ("What did Ana cook?", "content"),
        ("Tell me about Ben.", "content"),
        ("", "content"),
    ],
)
def test_the_question_words_tell_the_type(query, expected):
    """The first words that fit count; what asks for nothing in particular asks for content."""
    assert answer_type(query) == expected


@given(st.text(max_size=300))
def test_any_text_expects_some_type(query):
    """No text is an error."""
    assert isinstance(answer_type(query), str)


@pytest.mark.parametrize(
    ("query", "one"),
    [
        ("Where do I live?", True),
        ("What is Ana's cat called?", True),
        ("When did Ben move to Porto?", True),
        ("Why did Ana leave?", True),
        ("Which books has Ana read?", False),
        ("What jazz singers/bands has Ana heard?", False),
        ("What has Ana painted?", False),
        ("How many dogs does Ben keep?", False),
        ("How long did Ana stay?", False),
        ("Would Ben enjoy a trip to the sea?", False),
        ("Who was the first to leave?", False),
        ("What do Ana and Ben have in common?", False),
    ],
)
def test_what_one_statement_can_answer(query, one):
    """Lists, counts, and what is weighed or compared rest on several statements."""
    assert asks_for_one(query) is one
