"""The command line takes a run back and tells a record's history."""

import json

import pytest

from langgraph_engram.cli import run


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


@pytest.mark.parametrize("command", ["undo", "history"])
def test_an_unknown_id_is_bad_input(engram, command):
    """One line that says what to do, and exit code 2."""
    code, _, err = engram(command, "nothing", "--user", "ana")

    assert code == 2
    assert "engram show" in err
