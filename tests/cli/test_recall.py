"""`engram recall` answers a question or shows the evidence for one."""

import json
import re

from tests.cli.conftest import CONVERSATION


def test_a_question_is_answered(remembered):
    """Quotes come with a verdict and the evidence that they are from; for people a line each, and the cost."""
    code, out, err = remembered("recall", "What did Ana plant?", "--user", "ana", "--json")
    lines = remembered("recall", "What did Ana plant?", "--user", "ana")[1].splitlines()

    answer = json.loads(out)
    assert (code, err) == (0, "")
    assert "apple trees" in answer["answer"]
    assert (answer["verdict"], answer["quoted"]) == ("partial", True)
    assert any("apple trees" in evidence["text"] for evidence in answer["evidence"])
    assert re.fullmatch(r"Ana.*apple trees.*\]", lines[0])
    assert "partial" in lines
    assert lines[-1] == "cost: no model was called"


def test_a_search_has_no_answer(remembered):
    """--search finds evidence within its budget and answers nothing."""
    _, out, _ = remembered("recall", "apple trees", "--user", "ana", "--search", "--budget", "60", "--json")

    found = json.loads(out)
    assert found["answer"] is None
    assert found["evidence"]
    assert sum(-(-len(evidence["text"]) // 4) for evidence in found["evidence"]) <= 60


def test_recall_as_of_a_day(remembered, monkeypatch):
    """A date stands for the end of its day: what was said in its morning counts, what was said later does not."""
    monkeypatch.setenv("ENGRAM_SETTINGS", '{"retrieve": {"stop": 0}}')

    def turns_as_of(day):
        question = "Who planted trees, keeps bees or lives in Oslo?"
        code, out, _ = remembered("recall", question, "--search", "--user", "ana", "--as-of", day, "--json")
        assert code == 0
        return {turn["text"] for evidence in json.loads(out)["evidence"] for turn in evidence["turns"]}

    assert turns_as_of("2024-04-01") == set()
    assert turns_as_of("2024-04-02") == {message["text"] for message in CONVERSATION["sessions"][0]["messages"]}
    assert "My sister Runa lives in Oslo." in turns_as_of("2024-06-02T10:00:00Z")
