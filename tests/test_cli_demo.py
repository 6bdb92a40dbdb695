"""`engram demo` answers its questions without a model, and says of the one that has no answer that it has none."""

import json
import re

from langgraph_engram.cli.demo import load_questions
from langgraph_engram.cli.main import run


def words_of(text):
    return set(re.findall(r"\w+", text.casefold())) - {"a", "and", "yes"}


def test_the_demo_answers_from_its_conversation(capsys, monkeypatch, tmp_path):
    """Each answer holds the expected words and cites evidence; exactly the unanswerable question is absent."""
    monkeypatch.setenv("ENGRAM_ENCODER", "hashing")
    monkeypatch.delenv("ENGRAM_MODEL", raising=False)
    monkeypatch.delenv("ENGRAM_PRESET", raising=False)
    monkeypatch.chdir(tmp_path)

    code = run(["demo", "--json"])

    told = json.loads(capsys.readouterr().out)
    assert code == 0
    assert (told["receipt"]["stored_turns"], told["receipt"]["pending"]) == (160, 0)
    assert told["receipt"]["usage"]["calls"] == 0
    for question, answer in zip(load_questions(), told["answers"], strict=True):
        assert answer["question"] == question.question
        assert answer["verdict"] == question.verdict
        assert words_of(question.expected) <= words_of(answer["answer"])
        assert (re.search(r"\[\d", answer["answer"]) and bool(answer["evidence"])) or question.verdict == "absent"
    assert list(tmp_path.iterdir()) == []
