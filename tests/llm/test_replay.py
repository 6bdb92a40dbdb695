"""Recordings: a run repeated free, exactly."""

import json

import pytest

from langgraph_engram.errors import UnreadableFile
from langgraph_engram.llm.base import Failure
from langgraph_engram.llm.replay import ReplayModel
from langgraph_engram.testing import FakeModel


@pytest.fixture
def path(tmp_path):
    return tmp_path / "runs" / "recording.jsonl"


def test_what_was_answered_is_answered_again_free(path, note, ask_note, ask_text):
    """The same answers, without the model: no call, the recorded tokens."""
    fake = FakeModel([note(label="news", confidence=0.1), "Grüß dich 😀"], name="paid")
    first = ReplayModel(path, fake)
    recorded = [first.ask(ask_note()), first.ask(ask_text())]

    again = ReplayModel(path)
    replayed = [again.ask(ask_note()), again.ask(ask_text())]

    assert [result.answer for result in replayed] == [result.answer for result in recorded]
    assert [result.usage.calls for result in recorded] == [1, 1]
    assert [result.usage.calls for result in replayed] == [0, 0]
    assert replayed[0].usage.prompt_tokens == recorded[0].usage.prompt_tokens > 0
    assert replayed[0].usage.model == "paid (replayed)"


def test_a_run_that_continues_counts_what_it_paid_before(path, ask_text):
    """The calls and tokens are those of the whole run, as if it had not been cut short."""
    paid = ReplayModel(path, FakeModel(["a"], name="paid")).ask(ask_text())

    again = ReplayModel(path, FakeModel(name="paid"), continues=True).ask(ask_text())

    assert again == paid
    assert again.usage.calls == 1


def test_only_what_is_new_is_asked(path, ask_text):
    """In order, each distinct question once."""
    ReplayModel(path, FakeModel(["b"])).ask(ask_text("two"))
    fake = FakeModel(["a", "c"])

    results = ReplayModel(path, fake).ask_all([ask_text("one"), ask_text("two"), ask_text("three"), ask_text("one")])

    assert [result.answer for result in results] == ["a", "b", "c", "a"]
    assert [result.usage.calls for result in results] == [1, 0, 1, 0]
    assert fake.asked == [ask_text("one"), ask_text("three")]


def test_an_unknown_question_is_refused_without_a_model(path, ask_text):
    """It says that it was not recorded."""
    result = ReplayModel(path).ask(ask_text())

    assert result.failure is not None
    assert result.failure.kind == "refused"
    assert "not recorded" in result.failure.reason
    assert not path.exists()


def test_failures_are_not_recorded(path, ask_text):
    """A question that failed is asked again the next time."""
    ReplayModel(path, FakeModel([Failure("timeout", "slow")])).ask(ask_text())

    result = ReplayModel(path, FakeModel(["Hello."])).ask(ask_text())

    assert result.answer == "Hello."


def test_a_repeated_question_that_fails_fails_each_time(path, ask_text):
    """Both get the model's own failure."""
    results = ReplayModel(path, FakeModel([Failure("timeout", "slow")])).ask_all([ask_text(), ask_text()])

    assert [result.failure for result in results] == [Failure("timeout", "slow")] * 2


def test_an_incomplete_last_line_is_skipped_and_what_follows_is_kept(path, ask_text):
    """A process that died while it wrote costs its last answer alone."""
    ReplayModel(path, FakeModel(["a", "b"])).ask_all([ask_text("one"), ask_text("two")])
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])

    ReplayModel(path, FakeModel(["c"])).ask(ask_text("three"))

    results = ReplayModel(path).ask_all([ask_text("one"), ask_text("two"), ask_text("three")])
    assert [result.answer for result in results] == ["a", None, "c"]


def test_a_question_rendered_otherwise_is_another_question(path, ask_text, ask_note, note):
    """The key holds the question's name, its messages and its answer's shape."""
    ReplayModel(path, FakeModel(["a"])).ask(ask_text("one"))

    result = ReplayModel(path).ask(ask_text("one "))

    assert result.answer is None


def test_a_line_is_json(path, ask_text):
    """Other tools can read a recording."""
    ReplayModel(path, FakeModel(["a"])).ask(ask_text())

    [line] = path.read_text(encoding="utf-8").splitlines()

    assert json.loads(line)["question"] == "AskText"


def test_a_folder_is_no_recording(tmp_path):
    """The message names the path."""
    with pytest.raises(UnreadableFile, match="recording"):
        ReplayModel(tmp_path)
