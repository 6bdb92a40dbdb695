"""What kind of statement a text is, and which attribute it sets, is read off its words, carefully."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_engram.text.slots import slot_of
from langgraph_engram.text.statements import (
    is_question,
    own_words,
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
        ("Ben: I ski.", "Ben: I ski."),
    ],
)
def test_own_words_are_what_the_speaker_says(text, said):
    """The name and the question before it are left out; other text stays."""
    assert own_words(text, "Ana") == said


def test_statements_are_told_from_what_states_nothing():
    """Questions, images, praise; and what is about both stays a statement of the speaker."""
    assert is_question('Do you ski?"')
    assert not is_question("I ask myself. Why? I know.")
    assert shows_image("Ana shares an image: a red tent")
    assert speaks_to_listener("You're a great cook!")
    assert not speaks_to_listener("I told you that I ski.")
    assert speaks_of_self("We've moved.")
    assert not speaks_of_self("Runa skis in winter.")


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("I no longer ski.", True),
        ("Changed: the wedding is in May.", True),
        ("The wedding is now on Sunday.", True),
        ("I quit my job.", True),
        ("I stopped smoking.", True),
        ("I won't quit!", False),
        ("It's a long way.", False),
    ],
)
def test_a_change_is_one_that_is_stated(text, changed):
    """Cue words say that something is no longer as it was."""
    assert signals_change(text) is changed


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("I live in Lisbon.", "ana: home", "lisbon"),
        ("I've just moved back to New York!", "ana: home", "new york"),
        ("I have moved from Lisbon to Porto", "ana: home", "porto"),
        ("My sister Runa lives in Oslo.", "runa: home", "oslo"),
        ("My sister lives in Oslo.", "ana's sister: home", "oslo"),
        ("Runa lives in Oslo now.", "runa: home", "oslo"),
        ("I'm working for Gull Press now.", "ana: work", "gull press"),
        ("I got a new job at Gull Press.", "ana: work", "gull press"),
        ("My new phone number is +351 912 345 678.", "ana: phone number", "+351 912 345 678"),
        ("My email is a.b@c.org.", "ana: e-mail", "a.b@c.org"),
        ("My rent is $1,200.", "ana: rent", "$1,200"),
        ("Ben's doctor is Dr Lund.", "ben: doctor", "dr lund"),
        ("I drive a red Honda Jazz.", "ana: car", "honda jazz"),
        ("I just turned 35!", "ana: age", "35"),
        ("I'm engaged!", "ana: relationship", "engaged"),
        ("My favorite color is green now.", "ana: favourite colour", "green"),
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
        "If I lived in Rome, I would eat well.",
        "I lived in Rome as a kid.",
        "I moved to Rome when I was five.",
        "I used to live in Rome.",
        "I will be working at Gull Press.",
        "I no longer live in Lisbon.",
        "She lives in Oslo.",
        "Do you know that I live in Oslo?",
        "I moved to Monday.",
        "I'm not single.",
        "My boss is a nightmare.",
        "My favourite thing is to walk.",
        "I'm 35 minutes late.",
        "",
    ],
)
def test_what_is_not_sure_sets_nothing(text):
    """Wishes, conditions, a past that is over, negations, unnamed people, opinions."""
    assert slot_of(text, "Ana") is None


@given(st.text(max_size=200), st.text(max_size=10))
def test_any_text_can_be_read(text, speaker):
    """Nothing that anybody says breaks the reading, and what is read has an owner and a value."""
    found = slot_of(text, speaker)

    assert found is None or (found.name and found.value)
