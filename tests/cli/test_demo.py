"""The sample conversation is what `engram demo` promises, and the demo answers its questions by quotes."""

import json
import re
import shlex

import pytest

from langgraph_engram.cli.demo import load_questions


@pytest.fixture(autouse=True)
def here(monkeypatch, tmp_path):
    """The demo keeps its memory in the working directory, whatever else names a store."""
    monkeypatch.chdir(tmp_path)


def words_of(text):
    return set(re.findall(r"\w+", text.casefold())) - {"a", "and"}


def test_the_demo_answers_from_its_conversation(engram, monkeypatch):
    """With the encoder that it is run with, all quotes hold the expected words; the unanswerable question is absent."""
    monkeypatch.setenv("ENGRAM_ENCODER", "minilm")

    code, out, _ = engram("demo", "--json")

    report = json.loads(out)
    assert code == 0
    assert (report["receipt"]["stored_turns"], report["receipt"]["pending"]) == (160, 0)
    assert report["receipt"]["usage"]["calls"] == 0
    as_expected = [
        answer["verdict"] == question["verdict"] and words_of(question["expected"]) <= words_of(answer["answer"])
        for question, answer in zip(load_questions(), report["answers"], strict=True)
    ]
    assert all(as_expected)
    assert report["answers"][-1]["verdict"] == "absent"


def test_the_memory_stays_for_the_next_command(engram):
    """The commands that the demo prints find its year, and nothing else; a second demo stores nothing anew."""
    printed = engram("demo")[1]
    commands = [shlex.split(line)[1:] for line in printed.splitlines() if line.strip().startswith("engram ")]

    then, (code, recalled, _) = engram(*commands[0])[1], engram(*commands[1])
    stored = json.loads(engram(*commands[2], "--json")[1])
    again, out, _ = engram("demo", "--json")

    assert (code, again) == (0, 0)
    assert "14 September" in then
    assert "12 October" not in then
    assert "Biscuit" in recalled
    assert (stored["turns"], stored["pending"]) == (160, [])
    assert json.loads(out)["receipt"]["stored_turns"] == 0
