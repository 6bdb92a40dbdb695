"""The public fakes: what people test their own agents with."""

import pytest

from langgraph_engram.testing import FakeModel
from tests.llm.conftest import AskText, Note


def test_an_empty_queue_is_a_failure():
    """A question too many is seen, not guessed at."""
    results = FakeModel().ask_all([AskText(), AskText()])

    assert [result.failure.kind for result in results] == ["refused", "refused"]


def test_an_answer_of_another_type_is_a_mistake_of_the_test():
    """It says which question takes what."""
    with pytest.raises(TypeError, match="AskText takes a str"):
        FakeModel([Note(label="news")]).ask(AskText())
