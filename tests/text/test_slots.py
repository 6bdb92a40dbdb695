"""Which attribute of whom a sentence sets is read off its words, carefully."""

import pytest

from langgraph_engram.text.slots import expanded_stems, slot_of
from langgraph_engram.text.tokens import content_stems


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("I live in Lisbon.", "ana: home", "lisbon"),
        ("I've just moved back to New York!", "ana: home", "new york"),
        ("My sister Runa lives in Oslo.", "runa: home", "oslo"),
        ("My sister lives in Oslo.", "ana's sister: home", "oslo"),
        ("I'm working for Gull Press now.", "ana: work", "gull press"),
        ("My new phone number is +351 912 345 678.", "ana: phone number", "+351 912 345 678"),
        ("My email is a.b@c.org.", "ana: e-mail", "a.b@c.org"),
        ("Ben's doctor is Dr Lund.", "ben: doctor", "dr lund"),
        ("I drive a red Honda Jazz.", "ana: car", "honda jazz"),
        ("I just turned 35!", "ana: age", "35"),
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
        "I moved to Rome when I was five.",
        "I used to live in Rome.",
        "I no longer live in Lisbon.",
        "She lives in Oslo.",
        "Do you know that I live in Oslo?",
        "My boss is a nightmare.",
        "My favourite thing is to walk.",
        "I'm 35 minutes late.",
        "I live in Now.",
        "I work with Monday's paper.",
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
        ("I just turned 30.", {"old", "ag"}),
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
