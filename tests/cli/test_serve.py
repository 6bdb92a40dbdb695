"""`engram serve` never serves strangers unasked, and says what is missing."""

import socket
import sys

import pytest

from langgraph_engram.cli import serve
from langgraph_engram.cli.main import run
from tests.server.conftest import free_port


@pytest.fixture(autouse=True)
def started(monkeypatch):
    """No tokens, and no server that would start."""
    for name in ("ENGRAM_TOKENS", "ENGRAM_JWT_SECRET", "ENGRAM_JWT_PUBLIC_KEY"):
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


@pytest.mark.parametrize(
    ("arguments", "extra"), [(["serve"], "server"), (["inspect"], "inspect"), (["mcp", "--user", "a"], "mcp")]
)
def test_a_missing_extra_is_named(arguments, extra, monkeypatch, capsys):
    """With what to install."""
    monkeypatch.setattr(serve, "find_spec", lambda name: None)

    code = run(arguments)

    assert code == 1
    assert f"pip install 'langgraph-engram[{extra}]'" in capsys.readouterr().err


def test_the_addresses_of_what_is_served_are_printed(started, capsys):
    """A line each, without colours where the output is no terminal."""
    port = free_port()
    assert run(["serve", "--port", str(port)]) == 0

    lines = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()]
    addresses = "\n".join(address for *_, address in lines)
    for path in ("  (graphs: remember, recall, agent, improve)", "/docs", "/memory", "/mcp"):
        assert f"http://127.0.0.1:{port}{path}" in addresses
    assert f"studio/?baseUrl=http://127.0.0.1:{port}" in addresses
    assert "\033" not in addresses


def test_graphs_of_ones_own_are_served_beside(started, tmp_path, monkeypatch):
    """From modules and from files of the working directory."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "chat.py").write_text("graph = None")

    arguments = ["--graph", "mine=app.mine:make", "--graph", "chat=./chat.py:graph"]
    assert run(["serve", "--port", str(free_port()), *arguments]) == 0

    graphs = started[0][3]["graphs"]
    assert graphs["mine"] == {"path": "app.mine:make"}
    assert graphs["chat"] == {"path": f"{tmp_path / 'chat.py'}:graph"}
    assert {"remember", "recall", "agent"} < graphs.keys()
    assert str(tmp_path) in sys.path


@pytest.mark.parametrize(
    "arguments",
    [
        ["--graph", "mine"],
        ["--graph", "=app:graph"],
        ["--graph", "mine=app"],
        ["--graph", "mine=app:"],
        ["--graph", "mine=./missing.py:graph"],
        ["--graph", "recall=app:graph"],
        ["--graph", "mine=app:graph", "--graph", "mine=app:other"],
        ["--port", "{taken}"],
        [],
    ],
)
def test_what_cannot_be_served_is_told(arguments, started, monkeypatch, capsys):
    """In one line, and nothing is served: neither without tokens that cannot be read, nor by a port that is taken."""
    if not arguments:
        monkeypatch.setenv("ENGRAM_TOKENS", "not JSON")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        code = run(["serve", *(part.format(taken=taken.getsockname()[1]) for part in arguments)])

    err = capsys.readouterr().err
    assert code == 2
    assert started == []
    assert err.count("\n") == 1
    assert arguments or "ENGRAM_TOKENS" in err
