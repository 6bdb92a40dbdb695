"""Real servers on loopback, one for each way of letting people in, shared by all tests of this folder."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from langgraph_sdk import get_sync_client

ROOT = Path(__file__).parent.parent.parent
OTHERS = ("ana", "eve", "typist", "sender", "toolsmith", "reader", "owner", "other")
TOKENS = {f"token-of-{name}": name for name in OTHERS} | {"token-of-ana-of-acme": {"user_id": "ana", "tenant": "acme"}}
PRINCIPALS = [
    *(("default", user) for user in ("paul", "acme/paul", "default/acme%2Fpaul", "acme%2Fpaul", '["acme", "paul"]')),
    *(("default", user) for user in ("Paul", "päul", "pa\N{COMBINING DIAERESIS}ul", "paul ", "paul.acme")),
    *(("acme", "paul"), ("acme/paul", "x"), ("acme", "paul/x")),
]
"""Users whose names are easily taken for one another's."""
TOKENS |= {
    f"token-of-{PRINCIPALS.index(pair)}": dict(zip(("tenant", "user_id"), pair, strict=True)) for pair in PRINCIPALS
}
FORM_TOKEN = re.compile(r'name="form_token" value="([^"]+)"')
"""What a form of the inspector sends to show that it is ours."""
PATIENCE = 120
"""Seconds until a server must be up: generous, since machines that run tests are busy."""
OWN_GRAPH = """
from typing_extensions import TypedDict

from langgraph.graph import START, StateGraph

from langgraph_engram.integrations.identity import resolve_scope
from langgraph_engram.server import factory


class State(TypedDict, total=False):
    question: str
    user: str
    found: str


def ask(state: State) -> State:
    scope = resolve_scope()
    found = factory.memory().search(state["question"], **dict(scope)).evidence
    return {"user": scope.user_id, "found": found[0].text if found else ""}


graph = StateGraph(State).add_node("ask", ask).add_edge(START, "ask").compile()
"""


@dataclass
class Served:
    """A server that is up."""

    url: str
    log: Path
    clients: ExitStack

    def client(self, user=None, token=None):
        """Return a client of LangGraph's SDK, with the token of a user."""
        one = get_sync_client(url=self.url, api_key=None, headers=headers_of(user, token), timeout=300)
        return self.clients.enter_context(one)

    def http(self, user=None, token=None):
        """Return a plain client, with the token of a user."""
        return self.clients.enter_context(httpx.Client(base_url=self.url, headers=headers_of(user, token), timeout=300))


def headers_of(user=None, token=None):
    shown = token or (f"token-of-{user}" if user else None)
    return {"Authorization": f"Bearer {shown}"} if shown else {}


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def serve(folder, command, page="/ok", **environment):
    """Start a server in a folder of its own, wait until it shows a page, and end it with SIGTERM at last."""
    port = free_port()
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("ENGRAM_", "LANG"))}
    settings = {
        "PYTHONPATH": str(ROOT),
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
        "LANGGRAPH_NO_VERSION_CHECK": "true",
        "LANGSMITH_TRACING": "false",
        "LANGGRAPH_STRICT_MSGPACK": "true",
        "ENGRAM_STORE": str(folder / "data"),
        "ENGRAM_ENCODER": "hashing",
    }
    log = folder / "log.txt"
    with log.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", *command, "--port", str(port)],
            cwd=folder,
            env={**inherited, **settings, **environment},
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        try:
            wait_until_up(process, f"http://127.0.0.1:{port}{page}", log)
            with ExitStack() as clients:
                yield Served(f"http://127.0.0.1:{port}", log, clients)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def wait_until_up(process, url, log):
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            if httpx.get(url, timeout=5).status_code == 200:
                return
        except httpx.HTTPError:
            time.sleep(0.1)
        assert process.poll() is None, log.read_text()
    pytest.fail(f"the server was not up after {PATIENCE} s:\n{log.read_text()}")


RUNNING = ExitStack()
"""The servers that all tests of this folder share."""


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(nextitem):
    """Stop them after the last of these tests: a server costs as well while nobody calls it."""
    if nextitem is None or Path(__file__).parent not in nextitem.path.parents:
        RUNNING.close()


@pytest.fixture(scope="session")
def opened(tmp_path_factory):
    """`langgraph dev` as the repository has it, without tokens; decisions wait for a person."""
    folder = tmp_path_factory.mktemp("opened")
    configuration = json.loads((ROOT / "langgraph.json").read_text(encoding="utf-8"))
    configuration["dependencies"] = [str(ROOT)]
    (folder / "langgraph.json").write_text(json.dumps(configuration))
    command = ["langgraph_cli", "dev", "--no-browser", "--no-reload", "--n-jobs-per-worker", "10"]
    waiting = json.dumps({"update": {"approve": ["SUPERSEDE", "MERGE"]}})
    with RUNNING:
        yield RUNNING.enter_context(contextmanager(serve)(folder, command, ENGRAM_SETTINGS=waiting))


@pytest.fixture(scope="session")
def guarded(tmp_path_factory):
    """`engram serve` with tokens, and a graph of a user's own."""
    folder = tmp_path_factory.mktemp("guarded")
    (folder / "mine.py").write_text(OWN_GRAPH)
    command = ["langgraph_engram.cli.main", "serve", "--graph", "mine=./mine.py:graph"]
    environment = {"CRON_SCHEDULER_SLEEP_TIME": "1", "ENGRAM_TOKENS": json.dumps(TOKENS)}
    with RUNNING:
        yield RUNNING.enter_context(contextmanager(serve)(folder, command, **environment))


def said(text, day=1, session="s1", **whose):
    """Ask the write graph to remember one sentence."""
    message = {"speaker": "Ana", "text": text, "said_at": f"2024-03-{day:02}T09:00:00Z"}
    return {"request": {"session_id": session, "messages": [message], "close_session": True, **whose}}


def asked(query, **more):
    """Ask the read graph."""
    return {"request": {"query": query, **more}}


def chat(text):
    """Say something to the agent."""
    return {"messages": [{"role": "user", "content": text}]}
