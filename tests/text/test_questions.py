"""A query's words show what it asks for, and those of a turn what it does."""

import pytest

from langgraph_engram.text.questions import answer_type, asks_for_assistant, read_cues


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("When did Ana move?", "time"),
        ("How long has Ben played the cello?", "duration"),
        ("How old is Ben's sister?", "age"),
        ("How much was my first order?", "number"),
        ("What was Ben's previous phone number?", "content"),
        ("What time do I get up on Saturdays?", "clock_time"),
        ("What day of the week do I swim?", "weekday"),
        ("What European countries has Ana been to?", "place"),
        ("Who taught Ben to swim?", "person"),
        ("What are the names of Ana's dogs?", "name"),
        ("Which book did Ben finish?", "name"),
        ("Did Ana like the film?", "yes_no"),
        ("Can you recommend a film?", "advice"),
        ("I need a new pan. Any good tips?", "advice"),
        ("What should I cook?", "advice"),
        ("Since what time has Ana lived in Oslo?", "time"),
        ("", "content"),
    ],
)
def test_the_question_words_show_the_type(query, expected):
    """The first pattern that matches counts; what asks for nothing in particular asks for content."""
    assert answer_type(query) == expected


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ("What was the bakery you recommended in Ghent?", True),
        ("In our previous conversation about kites, how long was the tail?", True),
        ("I am going back to our earlier chess game: where did the bishop end up?", True),
        ("We talked about tide tables earlier. What was the name of the harbour?", True),
        ("Can you remind me of the name of that museum with the clocks?", True),
        ("What was the fourth item on your list?", True),
        ("Where did I buy my tent?", False),
        ("Can you recommend a bakery in Ghent?", False),
        ("What did I tell you about my sister?", False),
        ("Remind me what I said about the boiler.", False),
        ("What did Ilse suggest to Omar?", False),
    ],
)
def test_what_the_assistant_said_is_asked_for(query, asked):
    """By what it did, or an earlier conversation with it; not by requests, and one's own and other people's words."""
    assert asks_for_assistant(query) is asked


@pytest.mark.parametrize(
    ("text", "asks"),
    [("Do you ski?", True), ("do you ski", True), ("and what about Oslo", True), ("I ski.", False), ("", False)],
)
def test_a_question_is_known_by_its_mark_or_its_first_word(text, asks):
    """Text without question marks can be read too."""
    assert read_cues(text).asks is asks


def test_a_reply_that_asks_is_both():
    """The reaction comes first, the question later."""
    cues = read_cues("That is great! How was it in Oslo?")

    assert (cues.replies, cues.asks, cues.asks_inside, cues.ends_asking) == (True, True, True, True)


@pytest.mark.parametrize(
    ("text", "name"),
    [("Hey Ana, long time!", "greets"), ("Bye, see you soon.", "takes_leave"), ("I would not do it.", "points_back")],
)
def test_greetings_leave_and_pointing_are_read(text, name):
    """Each cue is read where it stands, and not in a plain statement."""
    assert getattr(read_cues(text), name)
    assert not getattr(read_cues("My sister keeps bees in Oslo."), name)
