"""The public fakes: what people test their own agents with."""

import pytest

from langgraph_engram.llm.base import Failure
from langgraph_engram.testing import FakeModel
from tests.llm.conftest import AskNote, AskText, Note


def test_a_fake_answers_from_its_queue_and_remembers():
    """Answers, failures and functions, in order."""
    model = FakeModel(["Hello.", Failure("timeout", "slow")])
    model.answers += [lambda question: Note(label="chat")]

    results = [model.ask(AskText("a")), model.ask(AskText("b")), model.ask(AskNote("c"))]

    assert [result.answer for result in results] == ["Hello.", None, Note(label="chat")]
    assert results[1].failure == Failure("timeout", "slow")
    assert [question.text for question in model.asked] == ["a", "b", "c"]
    assert results[0].usage.calls == 1


def test_an_empty_queue_is_a_failure():
    """A question too many is seen, not guessed at."""
    results = FakeModel().ask_all([AskText(), AskText()])

    assert [result.failure.kind for result in results] == ["refused", "refused"]


def test_an_answer_of_another_type_is_a_mistake_of_the_test():
    """It says which question takes what."""
    with pytest.raises(TypeError, match="AskText takes a str"):
        FakeModel([Note(label="news")]).ask(AskText())
