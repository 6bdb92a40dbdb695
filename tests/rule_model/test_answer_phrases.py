"""An answer is the shortest phrase that says what was not asked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_engram.rules.answer_phrases import LONGEST, phrase, shortened
from langgraph_engram.rules.retell import retold, without_lead_in
from langgraph_engram.text.tokens import content_stems


@pytest.mark.parametrize(
    ("query", "sentence", "noun", "deed", "told"),
    [
        ("What did Ana buy?", "Yeah, I bought a copper kettle - it was a bargain!", "", False, "a copper kettle"),
        ("What is Ana's lamp made of?", "The lamp is made of driftwood.", "", False, "driftwood."),
        ("What kind of music does Ana play?", "I mostly play baroque music.", "music", False, "baroque music"),
        ("What did Ana do on Sunday?", "I finally repaired the old fence.", "", True, "repaired the old fence."),
        ("What does the ring stand for?", "It means hope and patience.", "", False, "hope and patience."),
        ("What did Ana see at the pond?", "Two herons were at the pond.", "", False, "Two herons were at the pond"),
        ("What is Ana allergic to?", "It is hazelnuts that I'm allergic to.", "", False, "hazelnuts"),
        ("What did Ana cook?", "Well, I cooked lentil soup because it was cold.", "", False, "lentil soup"),
    ],
)
def test_what_was_asked_is_not_repeated(query, sentence, noun, deed, told):
    """What follows the words of the question; a described noun; a deed with its verb."""
    assert phrase(sentence, {*content_stems(query), "ana"}, noun, deed) == told


def test_an_answer_is_short():
    """It ends before what tells why or when, and after a dozen words at most, but lists are kept whole."""
    listed = "bread, butter, cheese, apples, plums, honey, salt, pepper, oil, rice, beans, milk, tea, coffee"

    assert shortened("a red kite when it was windy") == "a red kite"
    assert len(shortened("word " * 40).split()) == LONGEST
    assert shortened(listed) == listed


@given(st.text(max_size=200), st.sets(st.sampled_from(["boat", "go", "paint"])), st.booleans())
def test_a_phrase_comes_from_its_sentence(sentence, asked, deed):
    """Whatever was said, no word is made up."""
    told = phrase(sentence, asked, "", deed)

    assert set(content_stems(told)) <= set(content_stems(sentence)) | {""}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("my own bakery!", "Their own bakery"),
        ("to see us when we're back.", "To see them when they are back"),
        ("I was a diver", "They were a diver"),
        ("a red tent 🙂", "A red tent"),
        ("oak (or ash", "Oak"),
        ("", ""),
    ],
)
def test_words_are_retold_in_the_third_person(words, told):
    """Nobody's gender is guessed; marks and symbols at the end go."""
    assert retold(words) == told


@pytest.mark.parametrize(
    ("sentence", "rest"),
    [
        ("Well, I think the ferry is late.", "the ferry is late."),
        ("Thanks, Ben! We moved.", "We moved."),
        ("Yes!", "Yes!"),
        ("Nora sings.", "Nora sings."),
    ],
)
def test_a_lead_in_says_nothing(sentence, rest):
    """It is taken off, unless nothing else is there."""
    assert without_lead_in(sentence) == rest
