"""Recordings: a run repeated free, to the letter."""

import json

import pytest

from langgraph_engram.errors import UnreadableFile
from langgraph_engram.llm.base import Failure
from langgraph_engram.llm.replay import ReplayModel
from langgraph_engram.testing import FakeModel


@pytest.fixture
def path(tmp_path):
    return tmp_path / "runs" / "recording.jsonl"


def test_what_was_answered_is_answered_again_free(path, note, ask_note, tell):
    """The same answers, without the model: no call, the recorded tokens."""
    fake = FakeModel([note(label="news", confidence=0.1), "Grüß dich 😀"], name="paid")
    first = ReplayModel(path, fake)
    recorded = [first.ask(ask_note()), first.ask(tell())]

    again = ReplayModel(path)
    replayed = [again.ask(ask_note()), again.ask(tell())]

    assert [one.answer for one in replayed] == [one.answer for one in recorded]
    assert [one.usage.calls for one in recorded] == [1, 1]
    assert [one.usage.calls for one in replayed] == [0, 0]
    assert replayed[0].usage.prompt_tokens == recorded[0].usage.prompt_tokens > 0
    assert replayed[0].usage.model == "paid (replayed)"


def test_only_what_is_new_is_asked(path, tell):
    """In order, each distinct question once."""
    ReplayModel(path, FakeModel(["b"])).ask(tell("two"))
    fake = FakeModel(["a", "c"])

    asked = ReplayModel(path, fake).ask_all([tell("one"), tell("two"), tell("three"), tell("one")])

    assert [one.answer for one in asked] == ["a", "b", "c", "a"]
    assert [one.usage.calls for one in asked] == [1, 0, 1, 0]
    assert fake.asked == [tell("one"), tell("three")]


def test_an_unknown_question_is_refused_without_a_model(path, tell):
    """It says that it was not recorded."""
    asked = ReplayModel(path).ask(tell())

    assert asked.failure is not None
    assert asked.failure.kind == "refused"
    assert "not recorded" in asked.failure.reason
    assert not path.exists()


def test_failures_are_not_recorded(path, tell):
    """A question that failed is asked again the next time."""
    ReplayModel(path, FakeModel([Failure("timeout", "slow")])).ask(tell())

    asked = ReplayModel(path, FakeModel(["Hello."])).ask(tell())

    assert asked.answer == "Hello."


def test_a_repeated_question_that_fails_fails_each_time(path, tell):
    """Both get the model's own failure."""
    asked = ReplayModel(path, FakeModel([Failure("timeout", "slow")])).ask_all([tell(), tell()])

    assert [one.failure for one in asked] == [Failure("timeout", "slow")] * 2


def test_a_torn_last_line_is_left_out_and_what_follows_is_kept(path, tell):
    """A process that died while it wrote costs its last answer alone."""
    ReplayModel(path, FakeModel(["a", "b"])).ask_all([tell("one"), tell("two")])
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])

    ReplayModel(path, FakeModel(["c"])).ask(tell("three"))

    asked = ReplayModel(path).ask_all([tell("one"), tell("two"), tell("three")])
    assert [one.answer for one in asked] == ["a", None, "c"]


def test_another_wording_is_another_question(path, tell, ask_note, note):
    """The key holds the question's name, its words and its answer's shape."""
    ReplayModel(path, FakeModel(["a"])).ask(tell("one"))

    asked = ReplayModel(path).ask(tell("one "))

    assert asked.answer is None


def test_a_line_is_json(path, tell):
    """Other tools can read a recording."""
    ReplayModel(path, FakeModel(["a"])).ask(tell())

    [line] = path.read_text(encoding="utf-8").splitlines()

    assert json.loads(line)["question"] == "Tell"


def test_a_folder_is_no_recording(tmp_path):
    """The message names the path."""
    with pytest.raises(UnreadableFile, match="recording"):
        ReplayModel(tmp_path)
