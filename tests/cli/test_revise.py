"""`engram approve`, `update`, `undo` and `forget` revise what is stored; only `forget` has no way back, and asks."""

import json
import shlex

import pytest

from langgraph_engram.memory import Memory
from langgraph_engram.settings import Settings, UpdateSettings

pytestmark = pytest.mark.usefixtures("syntheses_at_once")

MESSAGES = [
    {"speaker": "Ana", "text": "I live in Quillhaven.", "said_at": "2024-03-01T09:00:00Z", "id": "D1:1"},
    {"speaker": "Ana", "text": "My brother plays the cello.", "said_at": "2024-03-01T09:01:00Z", "id": "D1:2"},
]


@pytest.fixture
def waiting(moved, tmp_path):
    """Ana has moved once more, and a person is to approve it; gives the run that waits."""
    settings = Settings(update=UpdateSettings(approve=["SUPERSEDE"]))
    messages = [{"speaker": "Ana", "text": "I live in Faro.", "said_at": "2025-01-01"}]
    with Memory(tmp_path / "store", "rules", encoder="hashing", settings=settings) as memory:
        return memory.remember(messages, user_id="ana", session_id="Faro").run_id


@pytest.fixture
def two_turns(engram, tmp_path):
    """A command line whose user Ana has two turns in memory."""
    path = tmp_path / "messages.json"
    path.write_text(json.dumps(MESSAGES))
    assert engram("remember", str(path), "--user", "ana", "--session", "one")[0] == 0
    return engram


def listed(engram, kind):
    return json.loads(engram("show", "--user", "ana", "--kind", kind, "--json")[1])


def test_a_run_is_undone_by_its_id(moved):
    """`show` names the run; `undo` takes it back, once; --json gives the receipt."""
    (decision,) = listed(moved, "decisions")

    first = moved("undo", decision["run_id"], "--user", "ana")
    again = json.loads(moved("undo", decision["run_id"], "--user", "ana", "--json")[1])

    assert first[0] == 0
    assert "1 decision undone, 1 record active again" in first[1]
    assert again["already_undone"] is True
    assert {record["status"] for record in listed(moved, "records")} == {"active"}


def test_a_record_is_edited_and_taken_back(two_turns):
    """The command that takes it back is told; the same text again changes nothing; --json gives the receipt."""
    record = listed(two_turns, "records")[0]

    first = two_turns("update", record["record_id"], "Ana: I live in Quillhaven Bay.", "--user", "ana")
    edited = next(found for found in listed(two_turns, "records") if "Bay" in found["content"])
    again = two_turns("update", edited["record_id"], edited["content"], "--user", "ana")
    third = json.loads(two_turns("update", edited["record_id"], "Ana: I live.", "--user", "ana", "--json")[1])

    assert edited["record_id"] in first[1]
    assert "nothing to do" in again[1]
    assert third["record"]["content"] == "Ana: I live."
    assert two_turns("undo", third["run_id"], "--user", "ana")[0] == 0
    assert two_turns("update", "nobody's", "text", "--user", "ana")[0] == 2


def test_what_waits_for_a_person_is_listed(moved, waiting):
    """`status` names the command, and nothing is to be retried; it shows what would be replaced, and by what."""
    status = moved("status", "--user", "ana")[1]
    table = moved("approve", "--user", "ana")
    (approval,) = json.loads(moved("approve", "--user", "ana", "--json")[1])

    assert "1 run waits for approval: engram approve --user ana" in status
    assert "engram retry" not in status
    assert all(part in table[1] for part in (waiting, "SUPERSEDE", "- Ana: I live in Porto.", "+ Ana: I live in Faro."))
    assert approval["run_id"] == waiting
    assert approval["decisions"][0]["new"] == "Ana: I live in Faro."


@pytest.mark.parametrize(("options", "homes"), [([], ["Faro"]), (["--reject"], ["Porto", "Faro"])])
def test_a_person_approves_or_rejects_on_the_command_line(moved, waiting, options, homes):
    """The run goes on as decided, though the command does not know the settings it began with."""
    code, out, _ = moved("approve", waiting, "--user", "ana", *options)

    active = [record["content"] for record in listed(moved, "records") if record["status"] == "active"]
    assert code == 0
    assert out.startswith("rejected" if options else "approved")
    assert active == [f"Ana: I live in {home}." for home in homes]
    assert moved("approve", "--user", "ana")[1] == "no run waits for approval\n"
    assert json.loads(moved("status", "--user", "ana", "--json")[1])["pending"] == []


def test_a_turn_and_a_user_are_forgotten(two_turns, tmp_path):
    """As JSON the receipt is the whole answer, else one line says what is gone; nothing is left on disk.

    Where nobody can be asked it takes a word; of nobody there is nothing to forget.
    """
    (turn,) = (item for item in listed(two_turns, "turns") if "Quillhaven" in item["text"])
    unasked = [two_turns("forget", "--user", "ana", *options) for options in ((), ("--json",))]

    code, out, err = two_turns("forget", "--user", "ana", "--turn", turn["turn_id"], "--yes", "--json")
    left = [turn["text"] for turn in listed(two_turns, "turns")]
    whole = two_turns("forget", "--user", "ana", "--yes")

    assert [(refused[0], "--yes" in refused[2]) for refused in unasked] == [(2, True)] * 2
    receipt = json.loads(out)
    assert (code, err) == (0, "")
    assert (receipt["turns"], receipt["records"], receipt["residue"]) == (1, 1, [])
    assert receipt["scope"]["user_id"] == "ana"
    assert left == [MESSAGES[1]["text"]]
    assert (whole[0], whole[1].startswith("forgotten: 1 turn, ")) == (0, True)
    files = [path.read_bytes() for path in (tmp_path / "store").rglob("*") if path.is_file()]
    assert not any(b"Quillhaven" in file or b"cello" in file for file in files)
    assert listed(two_turns, "turns") == []
    nobody = two_turns("forget", "--user", "ana", "--yes")
    assert (nobody[0], nobody[1].strip()) == (0, "nothing to forget: nothing of it is stored")


@pytest.mark.parametrize("more", ["", "--store 'a store' --tenant acme --agent coach"])
def test_what_is_left_to_do_is_said(two_turns, tmp_path, monkeypatch, more):
    """Of a synthesis that went the rest is pending, and its command names the same memory; the record's turns stay."""
    monkeypatch.chdir(tmp_path)
    whose = ["--user", "ana", *shlex.split(more)]
    two_turns("remember", "messages.json", "--session", "one", *whose)
    (record,) = (item for item in json.loads(two_turns("show", *whose, "--json")[1]) if "cello" in item["content"])

    _, out, _ = two_turns("forget", *whose, "--record", record["record_id"], "--yes")
    _, found, _ = two_turns("recall", "cello", *whose, "--search")

    assert f"engram retry --user ana {more}".rstrip() + "\n" in out
    assert "the turns that it came from stay" in out
    assert "cello" in found


def test_what_was_written_free_is_improved_by_a_model_alone(two_turns):
    """Rules have nothing to add; `status` tells what writing has cost."""
    code, _, problem = two_turns("improve", "--user", "ana", "--budget", "500", "--model", "rules")

    assert code == 2
    assert "model=" in problem
    assert "0 calls, 0 tokens, 0 session notes" in two_turns("status", "--user", "ana")[1]
