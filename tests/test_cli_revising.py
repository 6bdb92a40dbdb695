"""The command line takes a run back and tells a record's history."""

import json

import pytest

from langgraph_engram.cli.main import run
from langgraph_engram.memory import Memory
from langgraph_engram.settings import Settings, UpdateSettings


@pytest.fixture
def engram(tmp_path, capsys, monkeypatch):
    """Run a command on a store of the test's own in which Ana has moved; gives the code, stdout and stderr."""
    monkeypatch.setenv("ENGRAM_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("ENGRAM_ENCODER", "hashing")
    for name in ("ENGRAM_MODEL", "ENGRAM_PRESET"):
        monkeypatch.delenv(name, raising=False)
    told = [
        {"session_id": home, "messages": [{"speaker": "Ana", "text": f"I live in {home}.", "said_at": f"{year}-01-01"}]}
        for year, home in ((2023, "Lisbon"), (2024, "Porto"))
    ]
    (tmp_path / "told.json").write_text(json.dumps({"sessions": told}))

    def command(*arguments):
        capsys.readouterr()
        code = run(arguments)
        out, err = capsys.readouterr()
        return code, out, err

    assert command("remember", str(tmp_path / "told.json"), "--user", "ana")[0] == 0
    return command


def listed(engram, kind):
    return json.loads(engram("show", "--user", "ana", "--kind", kind, "--json")[1])


def test_a_run_is_undone_by_its_id(engram):
    """`show` names the run; `undo` takes it back, once; --json gives the receipt."""
    (decision,) = listed(engram, "decisions")

    first = engram("undo", decision["run_id"], "--user", "ana")
    again = json.loads(engram("undo", decision["run_id"], "--user", "ana", "--json")[1])

    assert first[0] == 0
    assert "1 decision undone, 1 record active again" in first[1]
    assert again["already_undone"] is True
    assert {record["status"] for record in listed(engram, "records")} == {"active"}


def test_a_record_s_history_is_told(engram):
    """For people a table of records and decisions, for programs both lists."""
    first = listed(engram, "records")[0]["record_id"]

    table = engram("history", first, "--user", "ana")
    told = json.loads(engram("history", first, "--user", "ana", "--json")[1])

    assert table[0] == 0
    assert all(word in table[1] for word in ("Lisbon", "Porto", "superseded", "SUPERSEDE"))
    assert [one["content"] for one in told["records"]] == ["Ana: I live in Lisbon.", "Ana: I live in Porto."]
    assert len(told["decisions"]) == 1


@pytest.fixture
def waiting(engram, tmp_path):
    """Ana has moved once more, and a person is to approve it; gives the run that waits."""
    settings = Settings(update=UpdateSettings(approve=["SUPERSEDE"]))
    said = [{"speaker": "Ana", "text": "I live in Faro.", "said_at": "2025-01-01"}]
    with Memory(tmp_path / "store", "rules", encoder="hashing", settings=settings) as memory:
        return memory.remember(said, user_id="ana", session_id="Faro").run_id


def test_what_waits_for_a_person_is_listed(engram, waiting):
    """`status` names the command, and nothing is to be retried; it shows what would go and what would stand."""
    status = engram("status", "--user", "ana")[1]
    table = engram("approve", "--user", "ana")
    (told,) = json.loads(engram("approve", "--user", "ana", "--json")[1])

    assert "1 run waits for approval: engram approve --user ana" in status
    assert "engram retry" not in status
    assert all(part in table[1] for part in (waiting, "SUPERSEDE", "- Ana: I live in Porto.", "+ Ana: I live in Faro."))
    assert told["run_id"] == waiting
    assert told["decisions"][0]["new"] == "Ana: I live in Faro."


@pytest.mark.parametrize(("options", "homes"), [([], ["Faro"]), (["--reject"], ["Porto", "Faro"])])
def test_a_person_approves_or_rejects_on_the_command_line(engram, waiting, options, homes):
    """The run goes on as it was told to, though the command knows nothing of the settings it began under."""
    code, out, _ = engram("approve", waiting, "--user", "ana", *options)

    standing = [one["content"] for one in listed(engram, "records") if one["status"] == "active"]
    assert code == 0
    assert out.startswith("rejected" if options else "approved")
    assert standing == [f"Ana: I live in {home}." for home in homes]
    assert engram("approve", "--user", "ana")[1] == "no run waits for approval\n"
    assert json.loads(engram("status", "--user", "ana", "--json")[1])["pending"] == []


def test_an_approval_is_a_receipt_for_programs(engram, waiting):
    """--json gives the receipt of the run that went on."""
    receipt = json.loads(engram("approve", waiting, "--user", "ana", "--json")[1])

    assert (receipt["run_id"], receipt["decisions"]) == (waiting, 1)


def test_a_run_that_waits_holds_up_an_undo(engram, waiting):
    """Bad input, with the command that lets it go on."""
    (decision,) = listed(engram, "decisions")

    code, _, err = engram("undo", decision["run_id"], "--user", "ana")

    assert code == 2
    assert f"engram approve {waiting}" in err


@pytest.mark.parametrize("command", ["undo", "history"])
def test_an_unknown_id_is_bad_input(engram, command):
    """One line that says what to do, and exit code 2."""
    code, _, err = engram(command, "nothing", "--user", "ana")

    assert code == 2
    assert "engram show" in err
