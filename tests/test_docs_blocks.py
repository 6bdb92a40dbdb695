"""Every block of Python and shell in the documentation runs as it stands, and prints what stands below it.

A page runs in an empty folder with `chat.json`, block after block, with the encoder that users get. A block that cannot
run here is marked `<!-- not run: why -->`. What installs is compared with the project, `engram bench` by its options.
"""

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import httpx
import pytest
from langgraph.store.memory import InMemoryStore
from pydantic import BaseModel

from langgraph_engram.cli.main import run
from langgraph_engram.memory import Memory
from langgraph_engram.testing import ScriptedChat

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(
    r"(?:<!-- not run: (?P<why>[^>]+) -->\n)?^```(?P<language>python|sh|bash|toml)\n(?P<code>.*?)^```"
    r"(?:\s*<!-- (?P<name>[\w ]*)output -->\n```text\n(?P<output>.*?)^```)?",
    re.MULTILINE | re.DOTALL,
)
HEREDOC = re.compile(r"cat > (\S+) <<'EOF'\n(.*?)^EOF\n", re.MULTILINE | re.DOTALL)
ASSIGNMENT = re.compile(r"(\w+)=(.*)", re.DOTALL)
CHAT = '[{"role": "user", "content": "I camped at Lake Bled."}, {"role": "user", "content": "I live in Porto."}]'
VARIABLES = ("STORE", "USER", "MODEL", "PRESET", "ENCODER", "SETTINGS", "CHAT", "TOKENS")
SERVERS = {"serve": "/memory", "inspect": "/memory"}
"""Commands that go on until they are stopped, and what they answer meanwhile."""
SERVED: set[str] = set()
"""Those that were started."""
PROGRAM = [sys.executable, "-c", "from langgraph_engram.cli.main import main; main()"]


@dataclass(frozen=True)
class Block:
    language: str
    code: str
    output: str | None
    why_not: str | None
    line: int


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(found["language"], found["code"], found["output"], found["why"], text[: found.start()].count("\n") + 1)
        for found in BLOCK.finditer(text)
    ]


RUN = [page for page in PAGES if blocks_of(page)]


class Context(BaseModel):
    user_id: str


class Mem0:
    """What `get_all` of mem0 returns."""

    def get_all(self, user_id):
        return {"results": [{"id": "1", "memory": "Keeps bees.", "user_id": user_id, "created_at": "2024-06-13"}]}


@contextlib.contextmanager
def names() -> Iterator[dict[str, object]]:
    """What the pages say that a reader has: a memory, a model, another's store."""
    store = InMemoryStore()
    store.put(("memories", "ana"), "1", {"content": "Keeps bees."})
    with Memory(store="memory:", encoder="hashing") as memory:
        memory.remember([{"speaker": "Ana", "text": "I camped at Lake Bled."}], user_id="ana", session_id="june")
        yield {
            "__name__": "page",
            "memory": memory,
            "model": ScriptedChat.of(*["At Lake Bled."] * 9),
            "Context": Context,
            "store": store,
            "mem0": Mem0(),
        }


@pytest.mark.timeout(300)
@pytest.mark.parametrize("page", RUN, ids=[str(page.relative_to(ROOT)) for page in RUN])
def test_the_blocks_of_a_page_run(page, tmp_path, monkeypatch):
    """From the first to the last, each with what is printed."""
    monkeypatch.chdir(tmp_path)
    for name in VARIABLES:
        monkeypatch.delenv(f"ENGRAM_{name}", raising=False)
    (tmp_path / "chat.json").write_text(CHAT, encoding="utf-8")
    with names() as given:
        for block in blocks_of(page):
            if block.why_not:
                continue
            place = f"{page.name}:{block.line}"
            printed = run_block(block, place, given, monkeypatch)
            if block.output is not None:
                pattern = re.escape(block.output).replace(re.escape("..."), ".*")
                assert re.fullmatch(pattern, printed, re.DOTALL), f"{place} printed\n{printed}"


def run_block(block: Block, place: str, given: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a block, and return what it printed."""
    if block.language == "toml":
        tomllib.loads(block.code)
        return ""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        if block.language == "python":
            exec(compile(block.code, place, "exec"), given)
        else:
            for written, content in HEREDOC.findall(block.code):
                Path(written).write_text(content, encoding="utf-8")
            for line in HEREDOC.sub("", block.code).replace("\\\n", " ").splitlines():
                run_line(line, place, monkeypatch)
    return printed.getvalue()


def run_line(line: str, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a line of a shell: ours in this process or, if they serve, in one of their own; others by what they are."""
    words = shlex.split(line, comments=True)
    if "&&" in words:
        for part in line.split("&&"):
            run_line(part, place, monkeypatch)
        return
    if "|" in words:
        first, line = line.split("|")
        piped = subprocess.run(["bash", "-c", first], check=True, capture_output=True).stdout
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(piped)))
        words = shlex.split(line, comments=True)
    settings = {}
    while words and (found := ASSIGNMENT.fullmatch(words[0])):
        settings[found[1]] = found[2]
        words = words[1:]
    match words:
        case []:
            pass
        case ["export", *assignments]:
            for name, _, value in (assignment.partition("=") for assignment in assignments):
                monkeypatch.setenv(name, value)
        case ["engram", "bench", *arguments]:
            # The lab is a distribution of its own.
            assert find_spec("engram_lab") is None or run(["bench", *arguments[:1], "--help"]) == 0, place
        case ["engram", command, *arguments] if command in SERVERS:
            serve(command, arguments, settings, place)
        case ["engram", "mcp", *arguments]:
            subprocess.run([*PROGRAM, "mcp", *arguments], check=True, stdin=subprocess.DEVNULL, capture_output=True)
        case ["engram", *arguments]:
            confirmed = ["--yes"] if arguments[0] == "forget" else []  # what a person answers at a terminal
            assert run([*map(filled_in, arguments), *confirmed]) == 0, f"{place}: {line}"
        case ["pip", "install", what, *_]:
            assert extras_of(what) <= extras(), place
        case ["make", target, *_]:
            assert f"\n{target}:" in (ROOT / "Makefile").read_text(encoding="utf-8"), place
        case ["langgraph", "dockerfile", file]:
            shutil.copy(ROOT / "langgraph.json", ".")
            subprocess.run([sys.executable, "-m", "langgraph_cli", "dockerfile", file], check=True)
        case ["docker", "compose", "up", *_]:
            assert (ROOT / "compose.yaml").exists(), place
        case ["git" | "mkdir" | "cd" | ".", *_]:
            pass
        case ["printf" | "cat", *_]:
            subprocess.run(["bash", "-c", line], check=True)
        case _:
            pytest.fail(f"{place}: nothing here runs {line!r}")


def filled_in(word: str) -> str:
    """Return the id that a word in capitals stands for: the newest of its kind that is stored."""
    kinds = {"RECORD_ID": "records", "RUN_ID": "decisions"}
    if word not in kinds:
        return word
    with Memory() as memory:
        newest = [item for item in memory.show(kinds[word], "ana") if getattr(item, "status", "active") == "active"][-1]
    return newest.run_id if word == "RUN_ID" else newest.record_id


def serve(command: str, arguments: list[str], settings: dict[str, str], place: str) -> None:
    """Start a server on a port of its own, and ask it once; where another page has, look at the options alone."""
    if command in SERVED:
        assert run([command, *arguments, "--help"]) == 0, place
        return
    SERVED.add(command)
    port = 21000 + os.getpid() % 1000
    environment = os.environ | settings | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [*PROGRAM, command, *arguments, "--port", str(port)],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            token = {"Authorization": "Bearer a-long-random-token"}
            assert answers(process, f"http://127.0.0.1:{port}{SERVERS[command]}", token), f"{place}: no answer"
        finally:
            process.terminate()


def answers(process: subprocess.Popen, address: str, headers: dict[str, str]) -> bool:
    until = time.monotonic() + 90
    while time.monotonic() < until and process.poll() is None:
        with contextlib.suppress(httpx.TransportError):
            return httpx.get(address, headers=headers).status_code < 400
        time.sleep(0.2)
    return False


def extras() -> set[str]:
    return set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])


def extras_of(what: str) -> set[str]:
    return set(re.findall(r"\w+", what.partition("[")[2]))


def test_what_is_not_run_says_why():
    """The mark is for what needs a model or a machine that is not here, and nothing else."""
    marked = [(page.name, block.why_not) for page in RUN for block in blocks_of(page) if block.why_not]

    assert all("needs" in why for _, why in marked)
    assert len(marked) <= 6
