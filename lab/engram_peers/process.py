"""Run a memory as a process of its own, within limits of time and of memory, in an environment with its own packages.

Whatever it does there is told by a `PeerFailure`: it does not install, fails, hangs, takes too much memory or dies.
"""

import hashlib
import json
import os
import subprocess
import sys
import venv
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, Queue
from shutil import rmtree
from threading import Thread
from time import monotonic
from typing import Any

from platformdirs import user_cache_path

from engram_peers.own import OWN, PAID
from langgraph_engram.errors import EngramError

DRIVERS = Path(__file__).resolve().parent
OTHERS = tuple(sorted(folder.parent.name for folder in DRIVERS.glob("*/driver.py")))
"""The memories of others that there are drivers for."""
HASH_CHARACTERS = 12
LOOK_SECONDS = 0.2
"""How often a process that is waited for is looked at."""
LAST_LINES = 40
INSTALL_SECONDS = 900
KEPT_CHARACTERS = 200


class PeerFailure(EngramError):
    """A memory that is compared failed, and how."""


@dataclass(frozen=True)
class Limits:
    """What a system may take."""

    seconds: float = 600
    """For one call: to write a conversation, or to search it once."""
    memory_mib: int = 8192


class Peer:
    """A process that answers a line of JSON with another."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], limits: Limits) -> None:
        self.limits = limits
        self.memory_mib = 0
        """The most memory that it was seen to hold."""
        self._said: deque[str] = deque(maxlen=LAST_LINES)
        self._replies: Queue[bytes] = Queue()
        piped = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self._process = subprocess.Popen(command, env=dict(environment), start_new_session=True, **piped)  # type: ignore[call-overload]
        self._readers = [Thread(target=read, daemon=True) for read in (self._read_replies, self._read_errors)]
        for thread in self._readers:
            thread.start()

    def ask(self, call: str, **request: Any) -> dict[str, Any]:
        """Return the reply to a call; what fails ends the process."""
        try:
            self._process.stdin.write(json.dumps({"call": call, **request}).encode() + b"\n")
            self._process.stdin.flush()
        except OSError as error:
            raise self._died() from error
        reply: dict[str, Any] = json.loads(self._wait(call))
        if "error" in reply:
            raise PeerFailure(f"{call}: {reply['error']}")
        return reply

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        for thread in self._readers:
            thread.join()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            stream.close()

    def _wait(self, call: str) -> bytes:
        end = monotonic() + self.limits.seconds
        while True:
            try:
                if line := self._replies.get(timeout=LOOK_SECONDS):
                    self._look()
                    return line
                raise self._died()
            except Empty:
                if self._look() > self.limits.memory_mib:
                    raise PeerFailure(f"{call}: held over {self.limits.memory_mib:,} MiB") from None
                if monotonic() > end:
                    raise PeerFailure(f"{call}: no answer within {self.limits.seconds:g} s") from None

    def _look(self) -> int:
        """Return the memory that it holds, in MiB; 0 where the system has no /proc."""
        status = Path(f"/proc/{self._process.pid}/statm")
        held = int(status.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 2**20 if status.exists() else 0
        self.memory_mib = max(self.memory_mib, held)
        return held

    def _died(self) -> PeerFailure:
        status = self._process.wait()
        self._readers[1].join()
        said = next((line for line in reversed(self._said) if line.strip()), "")[:KEPT_CHARACTERS]
        return PeerFailure(f"ended with status {status}{f': {said}' if said else ''}")

    def _read_replies(self) -> None:
        for line in self._process.stdout:
            self._replies.put(line)
        self._replies.put(b"")

    def _read_errors(self) -> None:
        for line in self._process.stderr:
            self._said.append(line.decode(errors="replace").strip())


def start_peer(name: str, limits: Limits) -> Peer:
    """Start a system: ours in this environment, one of others in its own, which is made where it is not there yet."""
    variables = {**os.environ, "PYTHONUNBUFFERED": "1", "TOKENIZERS_PARALLELISM": "false"}
    if name in (*OWN, PAID):
        here = os.pathsep.join([str(DRIVERS.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
        command = [sys.executable, "-m", "engram_peers.own", name]
        return Peer(command, {**variables, "PYTHONPATH": here}, limits)
    variables = {key: of for key, of in variables.items() if key != "PYTHONPATH" and not key.startswith("OPENAI_")}
    python = make_environment(name)
    return Peer([str(python), str(DRIVERS / name / "driver.py")], variables, limits)


def make_environment(name: str, environments: Path | None = None) -> Path:
    """Install what a driver requires into an environment of its own; return its interpreter.

    Raises:
        PeerFailure: It does not install, or not in time.
    """
    requirements = DRIVERS / name / "requirements.txt"
    pinned = hashlib.sha256(requirements.read_bytes()).hexdigest()[:HASH_CHARACTERS]
    home = environments or user_cache_path("langgraph-engram", appauthor=False) / "peers"
    folder = home / f"{name}-{pinned}"
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    if (folder / "installed").exists():
        return python
    rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=True, upgrade_deps=True)
    command = [str(python), "-m", "pip", "install", "--quiet", "--requirement", str(requirements)]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=INSTALL_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise PeerFailure(f"does not install within {INSTALL_SECONDS} s") from error
    except subprocess.CalledProcessError as error:
        lines = [line for line in error.stderr.splitlines() if "ERROR" in line] or ["pip failed"]
        raise PeerFailure(f"does not install: {lines[-1][:KEPT_CHARACTERS]}") from error
    (folder / "installed").touch()
    return python
