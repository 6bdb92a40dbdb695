"""A command line on a store of the test's own."""

import json

import pytest

from langgraph_engram.cli.main import run

CONVERSATION = {
    "sessions": [
        {
            "session_id": "one",
            "messages": [
                {"speaker": "Ana", "text": "I planted three apple trees yesterday.", "said_at": "2024-04-02T09:00:00Z"},
                {"speaker": "Ben", "text": "How lovely! I keep bees.", "said_at": "2024-04-02T09:01:00Z"},
            ],
        },
        {
            "session_id": "two",
            "messages": [
                {"speaker": "Ana", "text": "My sister Runa lives in Oslo.", "said_at": "2024-06-02T09:00:00Z"}
            ],
        },
    ]
}


@pytest.fixture
def engram(tmp_path, capsys, monkeypatch):
    """Run a command on a store of the test's own; gives the code, stdout and stderr."""
    monkeypatch.setenv("ENGRAM_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("ENGRAM_ENCODER", "hashing")
    monkeypatch.delenv("ENGRAM_MODEL", raising=False)
    monkeypatch.delenv("ENGRAM_PRESET", raising=False)

    def command(*arguments):
        capsys.readouterr()
        code = run(arguments)
        return code, *capsys.readouterr()

    return command


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "conversation.json"
    path.write_text(json.dumps(CONVERSATION))
    return str(path)


@pytest.fixture
def remembered(engram, file):
    """A command line whose user Ana has the conversation in memory."""
    code, _, _ = engram("remember", file, "--user", "ana")
    assert code == 0
    return engram


@pytest.fixture
def moved(engram, tmp_path):
    """A command line whose user Ana has moved from Lisbon to Porto."""
    sessions = [
        {"session_id": home, "messages": [{"speaker": "Ana", "text": f"I live in {home}.", "said_at": f"{year}-01-01"}]}
        for year, home in ((2023, "Lisbon"), (2024, "Porto"))
    ]
    path = tmp_path / "moves.json"
    path.write_text(json.dumps({"sessions": sessions}))
    assert engram("remember", str(path), "--user", "ana")[0] == 0
    return engram
