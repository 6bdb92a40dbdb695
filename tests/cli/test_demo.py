"""The sample conversation is what `engram demo` promises, and the demo answers its questions by quotes."""

import json
import re
import shlex

from langgraph_engram.cli.demo import load_questions, load_sessions
from langgraph_engram.cli.main import run


def test_exactly_one_question_has_no_answer():
    """Ten questions of ten kinds, of a conversation that holds the evidence of all others."""
    messages = {session.session_id: session.messages for session in load_sessions()}
    questions = load_questions()

    absent = [question for question in questions if question["verdict"] == "absent"]

    assert len({question["asks_for"] for question in questions}) == len(questions) == 10
    assert [(question["expected"], question["evidence"]) for question in absent] == [("", [])]
    assert all(messages[turn["session_id"]][turn["turn"]] for question in questions for turn in question["evidence"])


def words_of(text):
    return set(re.findall(r"\w+", text.casefold())) - {"a", "and"}


def test_the_demo_answers_from_its_conversation(capsys, monkeypatch, tmp_path):
    """Quotes hold the expected words, and the unanswerable question is absent; hashed words may miss one."""
    monkeypatch.setenv("ENGRAM_ENCODER", "hashing")
    monkeypatch.delenv("ENGRAM_MODEL", raising=False)
    monkeypatch.delenv("ENGRAM_PRESET", raising=False)
    monkeypatch.chdir(tmp_path)

    code = run(["demo", "--json"])

    report = json.loads(capsys.readouterr().out)
    assert code == 0
    assert (report["receipt"]["stored_turns"], report["receipt"]["pending"]) == (160, 0)
    assert report["receipt"]["usage"]["calls"] == 0
    as_expected = [
        answer["verdict"] == question["verdict"] and words_of(question["expected"]) <= words_of(answer["answer"])
        for question, answer in zip(load_questions(), report["answers"], strict=True)
    ]
    assert sum(as_expected) >= 9
    assert as_expected[-1]


def test_the_memory_stays_for_the_next_command(capsys, monkeypatch, tmp_path):
    """The commands that the demo prints find its year, and nothing else; a second demo stores nothing anew."""
    monkeypatch.setenv("ENGRAM_ENCODER", "hashing")
    monkeypatch.chdir(tmp_path)
    run(["demo"])
    printed = capsys.readouterr().out
    commands = [shlex.split(line)[1:] for line in printed.splitlines() if line.strip().startswith("engram ")]

    run(commands[0])
    then = capsys.readouterr().out
    code = run(commands[1])
    recalled = capsys.readouterr().out
    run([*commands[2], "--json"])
    stored = json.loads(capsys.readouterr().out)
    again = run(["demo", "--json"])

    assert (code, again) == (0, 0)
    assert "14 September" in then
    assert "12 October" not in then
    assert "Biscuit" in recalled
    assert (stored["turns"], stored["pending"]) == (160, [])
    assert json.loads(capsys.readouterr().out)["receipt"]["stored_turns"] == 0
