"""A streamed answer is what people read: no marks, no list that it is made of, and no answer that is not taken."""

import pytest
from langchain_core.messages import AIMessageChunk

from langgraph_engram.runner import stream_updates
from langgraph_engram.schema import Intent


def parts_of(step, *chunks, breadth="narrow"):
    """Make what a graph streams: what it parsed, and the text that a step writes."""
    yield "updates", {"parse_intent": {"intent": Intent(query="Kites?", anchor="Kites?", breadth=breadth)}}
    yield from (("messages", (AIMessageChunk(chunk), {"langgraph_node": step})) for chunk in chunks)


@pytest.mark.parametrize(
    ("breadth", "chunks", "text"),
    [
        ("list", ["- a red kite [1]\n- a box", " kite [2]\nANS", "WER: Two", " kites [1][2]"], "Two kites [1][2]"),
        ("list", ["- a red kite [1]"], ""),
        ("narrow", ["- a red", " kite [1]"], "- a red kite [1]"),
        ("narrow", ["A kite [1] [mo", "re]"], "A kite [1] "),
    ],
)
def test_the_answer_alone_is_streamed(breadth, chunks, text):
    """The list before an answer of the whole is held back; another answer may be a list."""
    updates = stream_updates(parts_of("write_answer", *chunks, breadth=breadth))

    assert "".join(update.text for update in updates) == text


def test_a_light_answer_that_is_unknown_is_not_streamed():
    """What another answer may follow is held back until it is sure."""
    assert not any(update.text for update in stream_updates(parts_of("judge_sufficiency", "I don", "'t know.")))
