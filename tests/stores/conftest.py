"""Fixtures: stores at each location, scopes of their own, and one commit that holds something of every kind."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from langgraph_engram.embeddings.base import HashingEncoder
from langgraph_engram.schema import Boundary, Decision, Event, PendingTask, Record, Scope, Synthesis, Turn
from langgraph_engram.stores.base import Changes, Store
from langgraph_engram.stores.folders import open_store
from langgraph_engram.stores.rows import Rows
from tests.conftest import NOON
from tests.server.conftest import free_port, wait_until_up

OPEN = """
import sys
from langgraph_engram.errors import StoreLocked
from langgraph_engram.integrations.store import EngramStore
for line in sys.stdin:
    try:
        EngramStore(line.strip(), encoder="hashing").close()
        print("opened", flush=True)
    except StoreLocked as error:
        print(" ".join(str(error).split()), flush=True)
"""
StartServer = Callable[[], tuple[str, "subprocess.Popen[bytes]"]]


@pytest.fixture
def encoder() -> HashingEncoder:
    return HashingEncoder(64)


@pytest.fixture(scope="session")
def opened_elsewhere() -> Iterator[Callable[[Path], str]]:
    """Open and close a folder in another process, which goes on to the next; return "opened", or why it is not."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", OPEN], text=True, **pipes) as process:

        def attempt(folder: Path) -> str:
            process.stdin.write(f"{folder}\n")
            process.stdin.flush()
            return process.stdout.readline().strip()

        yield attempt


@pytest.fixture(scope="module")
def start_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartServer]:
    """Start a real Chroma server on loopback, over an empty folder; return its URL and its process."""
    processes: list[subprocess.Popen[bytes]] = []

    def start() -> tuple[str, "subprocess.Popen[bytes]"]:
        folder, url = tmp_path_factory.mktemp("server"), f"http://127.0.0.1:{(port := free_port())}"
        command = [str(Path(sys.executable).parent / "chroma"), "run", "--path", str(folder), "--host", "127.0.0.1"]
        log = folder / "log.txt"
        with log.open("w") as out:
            process = subprocess.Popen([*command, "--port", str(port)], stdout=out, stderr=subprocess.STDOUT)
        processes.append(process)
        wait_until_up(process, f"{url}/api/v2/heartbeat", log)
        return url, process

    yield start
    for process in processes:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def server(start_server: StartServer) -> str:
    """The URL of a Chroma server that the tests of a file share."""
    return start_server()[0]


@pytest.fixture(params=["folder", "server"])
def durable(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The location of a store that outlives its openers."""
    return str(request.getfixturevalue("server")) if request.param == "server" else str(tmp_path / "store")


@pytest.fixture(params=["folder", "memory:", "server"])
def store(request: pytest.FixtureRequest, tmp_path: Path, encoder: HashingEncoder) -> Iterator[Store]:
    """An open store at each location."""
    location = {"folder": str(tmp_path / "store"), "memory:": "memory:"}.get(request.param)
    opened = open_store(location or request.getfixturevalue("server"), encoder)
    yield opened
    opened.close()


@pytest.fixture
def read_rows(monkeypatch: pytest.MonkeyPatch) -> list[Scope]:
    """The scopes whose rows were read from the store, and not from a snapshot."""
    read: list[Scope] = []
    original = Rows.read

    def counted(self: Rows, scope: Scope) -> object:
        read.append(scope)
        return original(self, scope)

    monkeypatch.setattr(Rows, "read", counted)
    return read


@pytest.fixture
def everything(turn: Callable[..., Turn], record: Callable[..., Record]) -> Changes:
    """One commit with something of every kind, odd text and odd times among it."""
    zone = NOON + timedelta(microseconds=123456)
    full = {"memory_type": "episodic", "keywords": ["camp", "Zürich"], "event_start": zone, "location": "lake"}
    return Changes(
        turns=[turn(0), turn(1, "", captions=["a tent", "🏕"]), turn(2, "x\x00y", said_at=None)],
        events=[Event(event_id="e0", session_id="s1", seq=0, kind="event", turn_ids=["t0", "t1"], topics=["camp"])],
        boundaries=[Boundary(boundary_id="b0", session_id="s1", to_event_id="e0", kind="opening", text="It begins.")],
        records=[record(0, **full), record(1, "Ana swims.", valid_from=datetime(2024, 1, 1))],
        syntheses=[Synthesis(synthesis_id="y0", text="Ana likes lakes.", covered_record_ids=["r0", "r1"])],
        decisions=[Decision(decision_id="d0", run_id="x", pair=["r0", "r1"], jaccard=0.5, cosine=1, action="MERGE")],
        pending_tasks=[
            PendingTask(
                pending_id="p0", run_id="x", session_id="s1", turn_ids=["t2"], step="extract", reason="", since=NOON
            )
        ],
    )
