"""What a sentence affirms, and what it denies."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_engram.text.statements import affirmed


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("I never went to Paris, but I visited Rome in August.", "but I visited Rome in August."),
        ("I don't drink coffee anymore, tea is my thing now.", "tea is my thing now."),
        ("I stopped playing the guitar and took up the cello.", "and took up the cello."),
        ("I no longer eat meat, fish or eggs, my doctor said so.", "my doctor said so."),
        ("We aren't in Lisbon, we are in Porto.", "we are in Porto."),
        ("I don't eat meat because I love animals.", "because I love animals."),
        ("I no longer eat meat and fish.", ""),
        ("I dont eat meat since 2019.", ""),
        ("I cant eat nuts but I like figs.", "but I like figs."),
        ("We wont go to Oslo.", ""),
        ("He isnt in Paris, he is in Lyon.", "he is in Lyon."),
        ("I didnt go, I havent time, it doesnt matter and we werent asked.", ""),
        ("It’s not a poodle - it’s a beagle.", "it’s a beagle."),
    ],
)
def test_what_is_denied_is_left_out(text: str, left: str) -> None:
    assert affirmed(text) == left


@pytest.mark.parametrize(
    "text",
    [
        "I went to Rome, Paris and Oslo.",
        "I didn't know you liked jazz!",
        "I've never felt so alive as on that hike in the Alps.",
        "Didn't you visit Rome?",
        "I can't wait to see the Alps.",
        "I cant wait to see the Alps, I can't believe we won!",
        "Not only did I win, I set a record.",
        "Never mind, Ana's party is on Friday.",
        "I don't want to leave Oslo.",
        "",
    ],
)
def test_thoughts_praise_and_turns_of_speech_deny_nothing(text: str) -> None:
    assert affirmed(text) == text


@given(st.text(alphabet=st.sampled_from("I never eat fish, and we don't but.;–— no longer \n"), max_size=120))
def test_what_is_affirmed_stands_in_the_sentence_in_order(text: str) -> None:
    rest = iter(text)
    assert all(letter in rest for letter in affirmed(text))
