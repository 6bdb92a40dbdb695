"""A statement is read by its words: of whom it speaks, what it negates or sets, and where it happened."""

import pytest

from langgraph_engram.text.statements import (
    affirmed,
    expanded_stems,
    is_question,
    location_of,
    mentions_speaker,
    own_words,
    reason_of,
    shows_image,
    slot_of,
    speaks_of_self,
    speaks_to_listener,
    states_change,
)
from langgraph_engram.text.words import content_stems
from tests.conftest import make_record


@pytest.mark.parametrize(
    ("text", "said"),
    [("Ana: I ski.", "I ski."), ("Ben: Do you ski? Ana: I do: often.", "I do: often."), ("Ana skis.", "Ana skis.")],
)
def test_own_words_are_what_the_speaker_says(text, said):
    """The name and the question before it are left out; other text stays."""
    assert own_words(text, "Ana") == said


def test_statements_are_distinguished_from_what_states_nothing():
    """Questions, images, praise; and what is about both stays a statement of the speaker."""
    assert is_question('Do you ski?"')
    assert not is_question("I ask myself. Why? I know.")
    assert shows_image("Ana shares an image: a red tent")
    assert speaks_to_listener("You're a great cook!")
    assert not speaks_to_listener("I told you that I ski.")
    assert speaks_of_self("We've moved.")
    assert not speaks_of_self("Runa skis in winter.")
    assert mentions_speaker("Which strap fits my new camera?")
    assert not mentions_speaker("Which strap fits a camera?")


@pytest.mark.parametrize(
    ("text", "changed"), [("I no longer ski.", True), ("The wedding is now on Sunday.", True), ("I won't quit!", False)]
)
def test_a_change_is_one_that_is_stated(text, changed):
    """Cue words say that something is no longer as it was."""
    assert states_change(make_record(0, text)) is changed


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("I never went to Paris, but I visited Rome in August.", "but I visited Rome in August."),
        ("I stopped playing the guitar and took up the cello.", "and took up the cello."),
        ("I no longer eat meat, fish or eggs, my doctor said so.", "my doctor said so."),
        ("I didnt go, I havent time, it doesnt matter and we werent asked.", ""),
        ("It’s not a poodle - it’s a beagle.", "it’s a beagle."),
        *[
            (text, text)
            for text in (
                "I've never felt so alive as on that hike in the Alps.",
                "Didn't you visit Rome?",
                "I cant wait to see the Alps, I can't believe we won!",
                "Not only did I win, I set a record.",
                "",
            )
        ],
    ],
)
def test_negated_clauses_are_left_out(text, left):
    """With the items of a list that follow; thoughts, praise, idioms and questions negate nothing."""
    assert affirmed(text) == left


@pytest.mark.parametrize(
    ("sentence", "place"),
    [
        ("I moved from Bergen to Oslo.", "Oslo"),
        ("I never went to Paris, but I met my aunt in Rome.", "Rome"),
        ("I met Tom in Oslo on Friday.", "Oslo"),
        ("I live in Bradford on Avon.", ""),
        ("We sailed around the Isle of Wight.", ""),
    ],
)
def test_the_place_is_where_something_happened(sentence, place):
    """Not where it did not, nor where somebody came from, nor a day, nor a part of a name."""
    assert location_of(sentence) == place


@pytest.mark.parametrize(
    ("sentence", "reason"),
    [("I moved because I got a job.", "I got a job"), ("I stopped running because of my knee.", "")],
)
def test_a_reason_is_a_clause_that_says_why(sentence, reason):
    """Not since when, nor in which role."""
    assert reason_of(sentence) == reason


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("I've just moved back to New York!", "ana: home", "new york"),
        ("My sister lives in Oslo.", "ana's sister: home", "oslo"),
        ("I'm working for Gull Press now.", "ana: work", "gull press"),
        ("My new phone number is +351 912 345 678.", "ana: phone number", "+351 912 345 678"),
        ("Ben's doctor is Dr Lund.", "ben: doctor", "dr lund"),
        ("I drive a red Honda Jazz.", "ana: car", "honda jazz"),
        ("My favorite color is green now.", "ana: favourite colour", "green"),
        ("We run Postgres 13.", "ana: version of postgres", "13"),
        ("Our budget is now 7,000 euros.", "ana: our budget is euros", "7000"),
        ("The team has 5 members.", "ana: the team has members", "5"),
        ("We pay $40 a month for hosting.", "ana: we pay a month for hosting", "$40"),
        ("We've upgraded from Postgres 13 to Postgres 16 last week!", "ana: version of postgres", "16"),
        ("I'm on python v3.11 now", "ana: version of python", "3.11"),
        ("We are on Visual Studio 2022 at work.", "ana: version of visual studio at work", "2022"),
        ("We moved to Postgres 16 on Friday.", "ana: version of postgres", "16"),
        ("Our database is Postgres 13.", "ana: our database is", "postgres 13"),
        ("The deadline is now on May 10 (10 May 2023).", "ana: the deadline is", "may 10"),
        ("The deadline is 3 May, they say.", "ana: the deadline is", "3 may"),
        ("The deadline has moved to 10 May.", "ana: the deadline is", "10 may"),
        ("The release got pushed back to May 20, sadly.", "ana: the release is", "may 20"),
        ("Our database was upgraded to Postgres 16.", "ana: our database is", "postgres 16"),
    ],
)
def test_an_attribute_is_read_with_its_owner_and_value(text, key, value):
    """Of whom, which, and to what it is set."""
    found = slot_of(text, "Ana")

    assert found is not None
    assert (found.key, found.value) == (key, value)


@pytest.mark.parametrize(
    "text",
    [
        "I want to live in Paris.",
        "I moved to Rome when I was five.",
        "I used to live in Rome.",
        "She lives in Oslo.",
        "Do you know that I live in Oslo?",
        "My boss is a nightmare.",
        "My favourite thing is to walk.",
        "I'm 35 minutes late.",
        "I live in Now.",
        "We don't use Postgres 13.",
        "We will move to Postgres 16 in May.",
        "We used to run Postgres 13.",
        "We use Postgres 13 or 14.",
        "We run about 5.5 km.",
        "I'm on page 12.",
        "I bought 3 apples.",
        "I work on ticket 12.",
        "We would pay 40 euros.",
        "I run 5 km today.",
        "The deadline was 5 May.",
        "The deadline might be moved to 5 May.",
        "My brother went to 3 concerts.",
        "The deadline is Friday or May 5.",
        "My office is Room 12.",
        "I think Method 1 would be fine.",
        "I use Postgres 13-compatible drivers.",
        "",
    ],
)
def test_what_is_not_sure_sets_nothing(text):
    """Wishes, conditions, a past that is over, negations, unnamed people, opinions."""
    assert slot_of(text, "Ana") is None


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("I moved to Lisbon last week.", {"live", "home"}),
        ("I started a new job at Feedzai.", {"work", "employ"}),
        ("We talked about Lisbon.", set()),
        ("I would move to Lisbon if I could.", set()),
    ],
)
def test_a_sentence_is_expanded_by_the_words_that_ask_for_its_attribute(text, asked):
    """Who moved to Lisbon lives there, though no word says so."""
    stems = expanded_stems(text, "Ana")

    assert set(content_stems(text)) <= stems
    assert asked <= stems
    assert asked or stems == set(content_stems(text))
