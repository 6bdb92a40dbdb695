"""A statement is read by its words: whom it speaks of, what it negates, and where it happened."""

import pytest

from langgraph_engram.text.statements import (
    affirmed,
    is_question,
    location_of,
    mentions_speaker,
    own_words,
    reason_of,
    shows_image,
    signals_change,
    speaks_of_self,
    speaks_to_listener,
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Ana: I ski.", "I ski."),
        ("Ben: Do you ski? Ana: I do: often.", "I do: often."),
        ("Ana skis.", "Ana skis."),
    ],
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
    ("text", "changed"),
    [
        ("I no longer ski.", True),
        ("Changed: the wedding is in May.", True),
        ("The wedding is now on Sunday.", True),
        ("I quit my job.", True),
        ("I won't quit!", False),
        ("It's a long way.", False),
    ],
)
def test_a_change_is_one_that_is_stated(text, changed):
    """Cue words say that something is no longer as it was."""
    assert signals_change(text) is changed


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("I never went to Paris, but I visited Rome in August.", "but I visited Rome in August."),
        ("I don't drink coffee anymore, tea is my thing now.", "tea is my thing now."),
        ("I stopped playing the guitar and took up the cello.", "and took up the cello."),
        ("I no longer eat meat, fish or eggs, my doctor said so.", "my doctor said so."),
        ("I don't eat meat because I love animals.", "because I love animals."),
        ("I dont eat meat since 2019.", ""),
        ("I didnt go, I havent time, it doesnt matter and we werent asked.", ""),
        ("It’s not a poodle - it’s a beagle.", "it’s a beagle."),
    ],
)
def test_negated_clauses_are_left_out(text, left):
    """With the items of a list that follow."""
    assert affirmed(text) == left


@pytest.mark.parametrize(
    "text",
    [
        "I didn't know you liked jazz!",
        "I've never felt so alive as on that hike in the Alps.",
        "Didn't you visit Rome?",
        "I cant wait to see the Alps, I can't believe we won!",
        "Not only did I win, I set a record.",
        "",
    ],
)
def test_thoughts_praise_and_idioms_negate_nothing(text):
    """Nor does a question."""
    assert affirmed(text) == text


@pytest.mark.parametrize(
    ("sentence", "place"),
    [
        ("I moved from Bergen to Oslo.", "Oslo"),
        ("I never went to Paris, but I met my aunt in Rome.", "Rome"),
        ("I never went to Paris.", ""),
        ("In May we sailed near Port Ellery.", "Port Ellery"),
        ("We swim on Fridays, and camp at Lake Bled.", "Lake Bled"),
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
    [
        ("I moved because I got a job.", "I got a job"),
        ("It was cancelled due to the heavy rain.", "the heavy rain"),
        ("I stopped running because of my knee.", ""),
        ("I work as a nurse in Oslo.", ""),
    ],
)
def test_a_reason_is_a_clause_that_says_why(sentence, reason):
    """Not since when, nor in which role."""
    assert reason_of(sentence) == reason
