"""What a turn does is read from its words, with and without punctuation."""

import pytest

from langgraph_engram.text.questions import read_cues


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
