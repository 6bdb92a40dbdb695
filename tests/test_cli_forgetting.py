"""The command line forgets, after asking whether it is meant."""

import json

import pytest

from langgraph_engram.cli.main import run

MESSAGES = [
    {"speaker": "Ana", "text": "I live in Quillhaven.", "said_at": "2024-03-01T09:00:00Z", "id": "D1:1"},
    {"speaker": "Ana", "text": "My brother plays the cello.", "said_at": "2024-03-01T09:01:00Z", "id": "D1:2"},
]


@pytest.fixture
def engram(tmp_path, capsys, monkeypatch):
    """Run a command on a store in which Ana's two sentences are kept; gives the code, stdout and stderr."""
    monkeypatch.setenv("ENGRAM_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("ENGRAM_ENCODER", "hashing")
    file = tmp_path / "messages.json"
    file.write_text(json.dumps(MESSAGES))

    def command(*arguments):
        capsys.readouterr()
        code = run(arguments)
        told = capsys.readouterr()
        return code, told.out, told.err

    assert command("remember", str(file), "--user", "ana", "--session", "one")[0] == 0
    return command


def shown(engram, kind):
    return json.loads(engram("show", "--user", "ana", "--kind", kind, "--json")[1])


def test_a_user_is_forgotten(engram, tmp_path):
    """One line says what is gone, and nothing is left on disk."""
    code, out, _ = engram("forget", "--user", "ana", "--yes")

    assert code == 0
    assert out.startswith("forgotten: 2 turns, ")
    files = [path for path in (tmp_path / "store").rglob("*") if path.is_file()]
    assert not [path.name for path in files if b"Quillhaven" in path.read_bytes()]
    assert shown(engram, "turns") == []


def test_a_turn_is_forgotten_by_its_own_name(engram):
    """As JSON, the receipt is the whole answer."""
    (turn,) = (one for one in shown(engram, "turns") if "Quillhaven" in one["text"])

    code, out, err = engram("forget", "--user", "ana", "--turn", turn["turn_id"], "--yes", "--json")

    receipt = json.loads(out)
    assert (code, err) == (0, "")
    assert (receipt["turns"], receipt["records"], receipt["residue"]) == (1, 1, [])
    assert receipt["scope"]["user_id"] == "ana"
    assert [one["text"] for one in shown(engram, "turns")] == [MESSAGES[1]["text"]]


@pytest.mark.parametrize("option", ["--session", "--turn", "--record"])
def test_an_unknown_name_is_an_error(engram, option):
    """It names what is not kept, and nothing changes."""
    code, out, err = engram("forget", "--user", "ana", option, "nothing", "--yes")

    assert (code, out) == (2, "")
    assert "unknown" in err
    assert len(shown(engram, "turns")) == 2


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_nobody_is_forgotten_unasked(engram, options):
    """Where nobody can be asked it takes a word: --yes."""
    code, _, err = engram("forget", "--user", "ana", *options)

    assert code == 2
    assert "--yes" in err
    assert len(shown(engram, "turns")) == 2


def test_what_is_left_to_do_is_said(engram):
    """Of a synthesis that went the rest is pending."""
    (record,) = (one for one in shown(engram, "records") if "cello" in one["content"])

    _, out, _ = engram("forget", "--user", "ana", "--record", record["record_id"], "--yes")

    assert "engram retry --user ana" in out


def test_of_nobody_there_is_nothing_to_forget(engram):
    """It is no error, and not said to be done."""
    code, out, _ = engram("forget", "--user", "nobody", "--yes")

    assert (code, out.strip()) == (0, "nothing to forget: nothing is kept of it")
