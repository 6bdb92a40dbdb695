"""Words of an answer are told as they are written, and none is lost."""

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessageChunk

from langgraph_engram.prompts.write_answer import UNKNOWN
from langgraph_engram.runner import AnswerStream, _may_be_unknown

CHUNKS = st.lists(st.sampled_from(["I", " don't", " know", ".", "I don", " live", " in Oslo", " [1]"]), max_size=8)


@given(CHUNKS)
def test_every_word_of_a_light_answer_is_told_or_may_be_unknown(chunks):
    """However a text is cut, it is told whole, or held back whole because it says that nothing is known."""
    answer = AnswerStream()

    told = "".join(
        update.text
        for chunk in chunks
        for update in answer.add(AIMessageChunk(chunk), {"langgraph_node": "judge_sufficiency"})
    )

    text = "".join(chunks)
    assert told == ("" if _may_be_unknown(text) else text)


@given(CHUNKS)
def test_an_answer_is_told_as_it_comes(chunks):
    """That the evidence is absent is an answer at last."""
    answer = AnswerStream()

    told = [
        update.text
        for chunk in chunks
        for update in answer.add(AIMessageChunk(chunk), {"langgraph_node": "write_answer"})
    ]

    assert told == chunks


def test_words_of_other_steps_are_no_answer():
    """A question's JSON is nobody's to read."""
    assert not list(AnswerStream().add(AIMessageChunk(UNKNOWN), {"langgraph_node": "reflect"}))
