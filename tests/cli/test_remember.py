"""`engram remember` writes a file's conversations, and `engram retry` finishes what is pending."""

import json
from datetime import UTC, datetime
from io import BytesIO, TextIOWrapper

import pytest

from langgraph_engram.cli.options import Defaults, Invocation
from langgraph_engram.cli.remember import print_receipt
from langgraph_engram.results import Receipt
from langgraph_engram.rule_model.model import RuleModel
from langgraph_engram.schema import PendingTask


def test_a_file_is_remembered(engram, file):
    """A receipt is one document of counts; the same file a second time stores nothing, and says so."""
    code, out, err = engram("remember", file, "--user", "ana", "--json")
    again = engram("remember", file, "--user", "ana")

    receipt = json.loads(out)
    assert (code, err, again[0]) == (0, "", 0)
    assert (receipt["stored_turns"], receipt["known_turns"], receipt["pending"]) == (3, 0, 0)
    assert receipt["usage"]["calls"] == 0
    assert again[1].startswith("read as messages, 3 messages in 2 sessions\nnothing new: all 3 turns were known\n")


def test_nothing_pending_needs_no_retry(remembered, tmp_path):
    """A retry without anything to do says so, and makes no store: a mistyped folder is no empty memory."""
    code, out, _ = remembered("retry", "--user", "ana")
    elsewhere, _, _ = remembered("retry", "--user", "ana", "--store", str(tmp_path / "mistyped"))

    assert (code, out) == (0, "nothing is pending\n")
    assert elsewhere == 2
    assert not (tmp_path / "mistyped").exists()


def test_a_model_out_of_reach_fails_the_command(engram, file, monkeypatch):
    """Nothing was extracted: code 1, one document, how to go on. Turns are found meanwhile, and finished by a retry.

    Remembering again reports what is pending.
    """
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")

    failed, out, err = engram(
        "remember", file, "--user", "ana", "--model", "openai:none", "--preset", "dimmem", "--json"
    )
    _, found, _ = engram("recall", "apple trees", "--user", "ana", "--search")
    _, _, again = engram("remember", file, "--user", "ana")
    code, _, _ = engram("retry", "--user", "ana")
    after = json.loads(engram("status", "--user", "ana", "--json")[1])

    assert (failed, code) == (1, 0)
    assert "engram retry --user ana" in json.loads(out)["error"]
    assert err.startswith("engram: nothing was extracted")
    assert "apple trees" in found
    assert "3 turns can be found, but later steps are pending" in again
    assert after["pending"] == []
    assert after["records"]["active"] >= 2


def test_a_bug_is_set_aside(engram, file, monkeypatch):
    """Status says it, and how to try it again."""
    monkeypatch.setattr(RuleModel, "ask_all", None)
    with pytest.raises(TypeError):
        engram("remember", file, "--user", "ana")

    code, _, err = engram("retry", "--user", "ana", "--skip")
    _, listed, _ = engram("status", "--user", "ana")

    assert code == 1
    assert "set aside: TypeError: 'NoneType' object is not callable" in " ".join(listed.split())
    assert "engram retry --skip --user ana" in " ".join(err.split())


def test_standard_input_is_remembered(engram, monkeypatch):
    """A dash reads from standard input, and errors name it; bare messages are a session of the name that is given."""

    def piped(text):
        monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(text.encode())))
        return engram("remember", "-", "--user", "ana", "--session", "garden", "--json")

    code, out, _ = piped('[{"role": "user", "content": "I live in Porto."}]')
    bad_code, _, err = piped("Porto")
    (turn,) = json.loads(engram("show", "--user", "ana", "--kind", "turns", "--json")[1])

    assert (code, json.loads(out)["stored_turns"], turn["session_id"]) == (0, 1, "garden")
    assert (bad_code, err.startswith("engram: standard input: the format cannot be told")) == (2, True)


def test_a_chat_is_recognised_and_asked_about(engram, tmp_path):
    """The format is said; a date that may be two days is one line of error, and nothing is stored."""
    chat = tmp_path / "_chat.txt"
    chat.write_text("03/04/24, 09:15 - Ana: I keep bees.\n04/04/24, 09:15 - Ben: Since when?\n")

    asked = engram("remember", str(chat), "--user", "ana")
    told = engram("remember", str(chat), "--user", "ana", "--date-order", "day_first")

    assert (asked[0], asked[1], asked[2].count("\n")) == (2, "", 1)
    assert "line 1: '03/04/24, 09:15' may be 3 April 2024 or 4 March 2024" in asked[2]
    assert told[1].splitlines()[0] == "read as whatsapp, 2 messages in 2 sessions"
    assert told[1].splitlines()[1].startswith("2 turns stored")


def test_a_write_that_is_done_in_part_says_what_is_left(capsys):
    """Records came of it: it is done, and what waits in a checkpoint is told apart from what is stored."""
    known = {"pending_id": "p", "run_id": "r", "session_id": "one", "since": datetime(2024, 5, 1, tzinfo=UTC)}
    waiting = PendingTask(turn_ids=["c"], step="receive", reason="said in thread t", **known)
    pending = PendingTask(turn_ids=["a", "b"], step="extract", reason="nothing answers at localhost", **known)
    receipt = Receipt(run_id="r", stored_turns=9, records=4, pending=3)

    print_receipt(receipt, [waiting, pending], Invocation(Defaults({}, "", frozenset()), "ana"))

    printed = capsys.readouterr().out
    assert printed.startswith("9 turns stored")
    assert "1 turn not stored (said in thread t); 2 turns can be found, but later steps are pending (nothing" in printed
