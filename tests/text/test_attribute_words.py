"""A sentence that sets an attribute is found by what one asks for it."""

import pytest

from langgraph_engram.text.slots import told_stems
from langgraph_engram.text.tokens import content_stems


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
def test_a_sentence_tells_what_one_asks_its_attribute_by(text, asked):
    """Who moved to Lisbon lives there, though no word says so."""
    told = told_stems(text, "Ana")

    assert set(content_stems(text)) <= told
    assert asked <= told
    assert asked or told == set(content_stems(text))
