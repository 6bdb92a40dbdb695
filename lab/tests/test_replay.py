"""Recordings: a run repeated free, exactly."""

from dataclasses import dataclass

import pytest
from langchain_core.messages import HumanMessage

from engram_lab.replay import ReplayModel
from langgraph_engram.errors import UnreadableFile
from langgraph_engram.llm.base import Question
from langgraph_engram.testing import FakeModel


@dataclass(frozen=True)
class AskText(Question[str]):
    """A text question."""

    text: str = "Hello?"

    def render(self):
        return [HumanMessage(self.text)]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "runs" / "recording.jsonl"


def test_what_was_answered_is_answered_again_free(path):
    """The same answers, without the model: no call, the recorded tokens."""
    fake = FakeModel(["Grüß dich 😀", "Ja."], name="paid")
    first = ReplayModel(path, fake)
    recorded = [first.ask(AskText("Wie?")), first.ask(AskText())]

    again = ReplayModel(path)
    replayed = [again.ask(AskText("Wie?")), again.ask(AskText())]

    assert [result.answer for result in replayed] == [result.answer for result in recorded]
    assert [result.usage.calls for result in recorded] == [1, 1]
    assert [result.usage.calls for result in replayed] == [0, 0]
    assert replayed[0].usage.prompt_tokens == recorded[0].usage.prompt_tokens > 0
    assert replayed[0].usage.model == "paid (replayed)"


def test_a_run_that_continues_counts_what_it_paid_before(path):
    """The calls and tokens are those of the whole run, as if it had not been cut short."""
    paid = ReplayModel(path, FakeModel(["a"], name="paid")).ask(AskText())

    again = ReplayModel(path, FakeModel(name="paid"), continues=True).ask(AskText())

    assert again == paid
    assert again.usage.calls == 1


def test_only_what_is_new_is_asked(path):
    """In order, each distinct question once."""
    ReplayModel(path, FakeModel(["b"])).ask(AskText("two"))
    fake = FakeModel(["a", "c"])

    results = ReplayModel(path, fake).ask_all([AskText("one"), AskText("two"), AskText("three"), AskText("one")])

    assert [result.answer for result in results] == ["a", "b", "c", "a"]
    assert [result.usage.calls for result in results] == [1, 0, 1, 0]
    assert fake.asked == [AskText("one"), AskText("three")]


def test_an_unknown_question_is_refused_without_a_model(path):
    """It says that it was not recorded."""
    result = ReplayModel(path).ask(AskText())

    assert result.failure is not None
    assert result.failure.kind == "refused"
    assert "not recorded" in result.failure.reason
    assert not path.exists()


def test_an_incomplete_last_line_is_skipped_and_what_follows_is_kept(path):
    """A process that died while it wrote costs its last answer alone."""
    ReplayModel(path, FakeModel(["a", "b"])).ask_all([AskText("one"), AskText("two")])
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])

    ReplayModel(path, FakeModel(["c"])).ask(AskText("three"))

    results = ReplayModel(path).ask_all([AskText("one"), AskText("two"), AskText("three")])
    assert [result.answer for result in results] == ["a", None, "c"]


def test_a_folder_is_no_recording(tmp_path):
    """The message names the path."""
    with pytest.raises(UnreadableFile, match="recording"):
        ReplayModel(tmp_path)
