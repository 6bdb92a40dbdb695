"""`engram demo` quotes what answers its questions, and says of the one that has no answer that it has none."""

import json
import re

from langgraph_engram.cli.demo import load_questions
from langgraph_engram.cli.main import run


def words_of(text):
    return set(re.findall(r"\w+", text.casefold())) - {"a", "and"}


def test_the_demo_answers_from_its_conversation(capsys, monkeypatch, tmp_path):
    """Quotes hold the expected words, and the unanswerable question is absent; hashed words may miss one."""
    monkeypatch.setenv("ENGRAM_ENCODER", "hashing")
    monkeypatch.delenv("ENGRAM_MODEL", raising=False)
    monkeypatch.delenv("ENGRAM_PRESET", raising=False)
    monkeypatch.chdir(tmp_path)

    code = run(["demo", "--json"])

    told = json.loads(capsys.readouterr().out)
    assert code == 0
    assert (told["receipt"]["stored_turns"], told["receipt"]["pending"]) == (160, 0)
    assert told["receipt"]["usage"]["calls"] == 0
    as_expected = [
        answer["verdict"] == question.verdict and words_of(question.expected) <= words_of(answer["answer"])
        for question, answer in zip(load_questions(), told["answers"], strict=True)
    ]
    assert sum(as_expected) >= 9
    assert as_expected[-1]
    assert list(tmp_path.iterdir()) == []
