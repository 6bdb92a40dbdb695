"""`engram serve` never serves strangers unasked, and says what is missing."""

import pytest

from langgraph_engram.cli import serve
from langgraph_engram.cli.main import run


@pytest.fixture(autouse=True)
def started(monkeypatch):
    """No tokens, and no server that would start."""
    for name in ("ENGRAM_TOKENS", "ENGRAM_TOKENS_FILE", "ENGRAM_JWT_SECRET", "ENGRAM_JWT_PUBLIC_KEY"):
        monkeypatch.delenv(name, raising=False)
    calls = []
    monkeypatch.setattr(serve, "_run", lambda *arguments: calls.append(arguments))
    return calls


@pytest.mark.parametrize("command", ["serve", "inspect"])
@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.com"])
def test_without_tokens_it_listens_on_this_machine_alone(command, host, started, capsys):
    """Anything else is bad usage."""
    code = run([command, "--host", host])

    assert code == 2
    assert started == []
    assert "no tokens are configured" in capsys.readouterr().err


def test_with_tokens_it_may_listen_anywhere(started, monkeypatch):
    """Then everybody has to show one."""
    monkeypatch.setenv("ENGRAM_TOKENS", '{"one": "ana"}')

    code = run(["serve", "--host", "0.0.0.0", "--port", "8123"])

    assert code == 0
    assert started[0][:2] == ("0.0.0.0", 8123)


def test_tokens_that_cannot_be_read_are_no_tokens(started, monkeypatch, capsys):
    """It does not start, rather than start without them."""
    monkeypatch.setenv("ENGRAM_TOKENS", "not JSON")

    code = run(["serve"])

    assert code == 2
    assert started == []
    assert "ENGRAM_TOKENS" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "extra"), [(["serve"], "server"), (["inspect"], "inspect"), (["mcp", "--user", "a"], "mcp")]
)
def test_a_missing_extra_is_named(arguments, extra, monkeypatch, capsys):
    """With what to install."""
    monkeypatch.setattr(serve, "find_spec", lambda name: None)

    code = run(arguments)

    assert code == 1
    assert f"pip install 'langgraph-engram[{extra}]'" in capsys.readouterr().err
