"""Load a served memory: clients of a user each, through several server workers, on one Chroma server.

python -m lab.tests.campaigns.load --clients 50 --seconds 60 --workers 2    needs the extra server
python -m lab.tests.campaigns.load --postgres --threads    needs langgraph-checkpoint-postgres and PostgreSQL as well

Everything runs on this machine: the Chroma server, the workers (`engram serve`) and the clients. Each client first
remembers a conversation, then goes on as an agent's user does: mostly searches, now and then two new messages, each
request to a worker by turns. With `--postgres`, the workers (`langgraph dev`) keep their checkpoints in one PostgreSQL
server; with `--threads`, each run is on a thread of its client's, and its checkpoints stay. The two go together:
LangGraph's development server (0.16) deletes a wrong thread where it waits for a database while several runs without
one end. The report has requests a second, milliseconds, errors, who used the processor, and rows of checkpoints.
"""

import argparse
import asyncio
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

from engram_lab.harness import percentile

BIN = Path(sys.executable).parent
ROOT = Path(__file__).parents[3]
ENGRAM = [sys.executable, "-c", "from langgraph_engram.cli.main import main; main()"]
HOST = "127.0.0.1"
START_SECONDS, REQUEST_SECONDS = 180, 120
SHARE_OF_WRITES, MOST_CHARACTERS = 0.2, 300
CITIES = ("Lisbon", "Oslo", "Boston", "Kyoto", "Lima", "Dublin", "Quito", "Perth", "Turin", "Accra")
THINGS = ("bike", "piano", "boat", "garden", "camera", "violin", "tent", "kayak", "clock", "oven")


@dataclass
class Measured:
    """What the requests of one kind took."""

    milliseconds: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)

    def summary(self, seconds: float) -> dict[str, object]:
        """Return requests a second, percentiles of milliseconds, and errors by kind."""
        times = self.milliseconds
        return {
            "requests": len(times),
            "per_second": round(len(times) / seconds, 1),
            **{f"p{share}_ms": round(percentile(times, share) or 0.0) for share in (50, 95, 99) if times},
            "errors": self.errors,
        }


@dataclass
class Client:
    """One user, whose requests go to the workers by turns."""

    http: httpx.AsyncClient
    workers: list[str]
    token: str
    chance: random.Random
    keeps_threads: bool = False
    sent: int = 0
    threads: dict[tuple[str, str], str] = field(default_factory=dict)
    """The client's thread of each graph at each worker."""

    async def remember(self, count: int) -> httpx.Response:
        """Tell `count` new things."""
        numbers = self.chance.sample(range(10, 9999), count)
        texts = [f"I bought a {self.chance.choice(THINGS)} in {self.chance.choice(CITIES)} for {n}." for n in numbers]
        said = [{"role": "user", "text": text} for text in texts]
        return await self._run("remember", {"messages": said, "session_id": f"session-{self.sent // 10}"})

    async def search(self) -> httpx.Response:
        """Ask where something was bought; no model is asked."""
        query = f"Where did I buy the {self.chance.choice(THINGS)}?"
        return await self._run("recall", {"query": query, "mode": "search"})

    async def _run(self, graph: str, request: dict[str, object]) -> httpx.Response:
        self.sent += 1
        worker = self.workers[self.sent % len(self.workers)]
        body = {"assistant_id": graph, "input": {"request": request}}
        path = await self._thread(worker, graph) if self.keeps_threads else ""
        return await self.http.post(f"{worker}{path}/runs/wait", json=body, headers={"X-Api-Key": self.token})

    async def _thread(self, worker: str, graph: str) -> str:
        """Return the path of the client's thread of a graph at a worker."""
        if (worker, graph) not in self.threads:
            made = await self.http.post(f"{worker}/threads", json={}, headers={"X-Api-Key": self.token})
            self.threads[worker, graph] = made.raise_for_status().json()["thread_id"]
        return f"/threads/{self.threads[worker, graph]}"


async def use(client: Client, until: float, measured: dict[str, Measured]) -> None:
    """Send requests one after the other until then."""
    while time.monotonic() < until:
        kind = "remember" if client.chance.random() < SHARE_OF_WRITES else "search"
        begun = time.monotonic()
        try:
            response = await (client.remember(2) if kind == "remember" else client.search())
            error = "" if response.status_code == httpx.codes.OK else str(response.status_code)
            error = error or str(response.json().get("__error__", ""))[:MOST_CHARACTERS]
        except (httpx.HTTPError, ValueError) as failure:
            error = type(failure).__name__
        if error:
            measured[kind].errors[error] += 1
        else:
            measured[kind].milliseconds.append(1000 * (time.monotonic() - begun))


async def measure(workers: list[str], tokens: list[str], seconds: int, *, threads: bool) -> dict[str, Measured]:
    """Fill the memories, then load the workers for so long."""
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(timeout=REQUEST_SECONDS, limits=limits) as http:
        clients = [Client(http, workers, token, random.Random(token), threads) for token in tokens]
        for filled in await asyncio.gather(*(client.remember(8) for client in clients)):
            if filled.is_error:
                sys.exit(f"a worker refuses to remember: {filled.text[:500]}")
        measured = {"search": Measured(), "remember": Measured()}
        until = time.monotonic() + seconds
        await asyncio.gather(*(use(client, until, measured) for client in clients))
        return measured


@contextmanager
def process(command: list[str], address: str, environment: dict[str, str], log: Path) -> Iterator[int]:
    """Run a server in the folder of its log until the end of the context; gives its process id once it answers."""
    run = partial(subprocess.Popen, command, env=environment, cwd=log.parent)
    with log.open("w") as output, run(stdout=output, stderr=output) as running:
        try:
            for _ in range(START_SECONDS * 5):
                try:
                    httpx.get(address)
                    break
                except httpx.TransportError:
                    time.sleep(0.2)
                if running.poll() is not None:
                    sys.exit(f"{command[-3:]} ended: {log.read_text()[-2000:]}")
            else:
                sys.exit(f"{address} does not answer")
            yield running.pid
        finally:
            running.terminate()


def chroma(folder: Path, port: int) -> AbstractContextManager[int]:
    """Run a Chroma server over a folder."""
    command = [str(BIN / "chroma"), "run", "--path", str(folder), "--host", HOST, "--port", str(port)]
    return process(command, f"http://{HOST}:{port}/api/v2/heartbeat", dict(os.environ), folder.with_suffix(".log"))


@contextmanager
def postgres(folder: Path) -> Iterator[tuple[str, int]]:
    """Run a PostgreSQL server over a new folder; gives its address and its process id. As root, as user postgres."""
    port, user = free_port(), {"user": "postgres"} if os.geteuid() == 0 else {}
    folder.mkdir()
    if user:
        folder.parent.chmod(0o711)
        shutil.chown(folder, **user)
    data, run = str(folder / "data"), partial(subprocess.run, check=True, stdout=subprocess.DEVNULL, **user)
    run(["initdb", "-D", data, "-U", "engram", "-A", "trust"])
    options = f"-p {port} -h {HOST} -k {folder}"
    run(["pg_ctl", "-D", data, "-w", "-l", str(folder / "log"), "-o", options, "start"])
    try:
        yield (
            f"postgresql://engram@{HOST}:{port}/postgres",
            int((folder / "data/postmaster.pid").read_text().split()[0]),
        )
    finally:
        run(["pg_ctl", "-D", data, "-m", "fast", "stop"])


def checkpoints_in(uri: str) -> dict[str, int]:
    """Return how many rows LangGraph's tables in PostgreSQL have."""
    import psycopg

    tables = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")
    with psycopg.connect(uri) as opened:
        rows = [opened.execute(f"SELECT count(*) FROM {table}").fetchone() for table in tables]
    return {table: row[0] if row else 0 for table, row in zip(tables, rows, strict=True)}


def processor_seconds(pid: int) -> float:
    """Return what a process and its children, those of PostgreSQL, used of the processor so far; 0 without /proc."""
    used = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if pid in (int(stat.parent.name), int(fields[1])):
            used += int(fields[11]) + int(fields[12])
    return used / os.sysconf("SC_CLK_TCK")


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as listening:
        listening.bind((HOST, 0))
        return int(listening.getsockname()[1])


def command_of(folder: Path, port: int, jobs: int, *, has_postgres: bool) -> list[str]:
    """Return what starts a worker: with checkpoints in PostgreSQL `langgraph dev`, which takes a checkpointer."""
    if not has_postgres:
        return [*ENGRAM, "serve", "--port", str(port), "--jobs", str(jobs)]
    served = json.loads((ROOT / "langgraph.json").read_text())
    served |= {"dependencies": ["."], "checkpointer": {"path": "lab.tests.campaigns.checkpoints.open_checkpointer"}}
    (folder / "langgraph.json").write_text(json.dumps(served))
    options = ["--config", str(folder / "langgraph.json"), "--port", str(port), "--n-jobs-per-worker", str(jobs)]
    return [str(BIN / "langgraph"), "dev", "--no-browser", "--no-reload", "--allow-blocking", *options]


def load(
    clients: int, seconds: int, workers: int, jobs: int, *, has_postgres: bool = False, threads: bool = False
) -> dict[str, object]:
    """Start everything, load it, and return the report."""
    tokens = {f"token-{number}": f"user-{number}" for number in range(clients)}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="engram-load-", ignore_cleanup_errors=True)))
        port = free_port()
        pids = {"chroma": stack.enter_context(chroma(folder / "chroma", port))}
        environment = os.environ | {"ENGRAM_STORE": f"http://{HOST}:{port}", "ENGRAM_TOKENS": json.dumps(tokens)}
        if has_postgres:
            environment["POSTGRES_URI"], pids["postgres"] = stack.enter_context(postgres(folder / "postgres"))
            environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
        addresses = []
        for number in range(workers):
            address = f"http://{HOST}:{(port := free_port())}"
            home = folder / f"worker-{number}"
            home.mkdir()
            command = command_of(home, port, jobs, has_postgres=has_postgres)
            server = process(command, f"{address}/ok", environment | {"XDG_DATA_HOME": str(home)}, home / "log")
            pids[f"worker {number + 1}"] = stack.enter_context(server)
            addresses.append(address)
        before = {name: processor_seconds(pid) for name, pid in pids.items()}
        begun = time.monotonic()
        measured = asyncio.run(measure(addresses, list(tokens), seconds, threads=threads))
        used = {name: round(processor_seconds(pid) - before[name], 1) for name, pid in pids.items()}
        whole = round(time.monotonic() - begun, 1)
        rows = checkpoints_in(environment["POSTGRES_URI"]) if has_postgres else {}
    given = {"clients": clients, "seconds": seconds, "workers": workers, "jobs": jobs, "postgres": has_postgres}
    return {
        **given,
        "threads": threads,
        "cores": os.cpu_count(),
        **{kind: figures.summary(seconds) for kind, figures in measured.items()},
        "processor_seconds": used,
        "seconds_with_filling": whole,
        **rows,
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Load a served memory, and report what its requests took.")
    for name, default in {"clients": 50, "seconds": 60, "workers": 2, "jobs": 10}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--postgres", action="store_true", dest="has_postgres")
    parser.add_argument("--threads", action="store_true")
    sys.stdout.write(json.dumps(load(**vars(parser.parse_args())), indent=2) + "\n")
