"""The compose file names an image that can be built, and its commands run as processes: a server on a Chroma server."""

import os
import re
import subprocess
import sys
import time
import tomllib
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest
import yaml

from tests.server.conftest import ROOT, free_port

COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
TOKENS = '{"a-long-random-token":"ana"}'
PROGRAMS = {
    "chroma": [str(Path(sys.executable).parent / "chroma")],
    "engram": [sys.executable, "-c", "from langgraph_engram.cli.main import main; main()"],
    "python": [sys.executable],
}


def here(command, ports, folder):
    """A command of a service as a process of this machine has it."""
    program, *arguments = command
    for name, port in ports.items():
        arguments = [re.sub(rf"\b{name}\b", str(port), argument) for argument in arguments]
    return PROGRAMS[program] + [argument.replace("/data", str(folder)) for argument in arguments]


@contextmanager
def service(name, ports, folder, **variables):
    """Run a service until the end of the context, from when its health check passes."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "ENGRAM_ENCODER": "hashing"} | variables
    described = COMPOSE["services"][name]
    check = here(described["healthcheck"]["test"][1:], ports, folder)
    with subprocess.Popen(
        here(described["command"], ports, folder),
        env=environment,
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            until = time.monotonic() + 120
            while subprocess.run(check, env=environment, capture_output=True).returncode:
                assert process.poll() is None, f"{name} ended"
                assert time.monotonic() < until, f"{name} is not healthy"
                time.sleep(0.3)
            yield
        finally:
            process.terminate()


@pytest.mark.timeout(300)
def test_the_services_run_and_keep_a_memory(tmp_path):
    """What a token's user says is found again, by their token alone, and lies in the Chroma server's folder."""
    ports = {"8000": free_port(), "2024": free_port()}
    written = COMPOSE["services"]["engram"]["environment"]
    store = written["ENGRAM_STORE"].replace("chroma:8000", f"127.0.0.1:{ports['8000']}")
    said = {"request": {"session_id": "june", "messages": [{"role": "user", "text": "I camped at Lake Bled."}]}}
    asked = {"request": {"query": "Where did I camp?", "mode": "search"}}
    headers = {"X-Api-Key": "a-long-random-token"}
    with ExitStack() as stack:
        stack.enter_context(service("chroma", ports, tmp_path))
        stack.enter_context(service("engram", ports, tmp_path, ENGRAM_STORE=store, ENGRAM_TOKENS=TOKENS))
        client = stack.enter_context(httpx.Client(base_url=f"http://127.0.0.1:{ports['2024']}", timeout=60))

        refused = client.post("/runs/wait", json={"assistant_id": "recall", "input": asked})
        client.post("/runs/wait", json={"assistant_id": "remember", "input": said}, headers=headers).raise_for_status()
        found = client.post("/runs/wait", json={"assistant_id": "recall", "input": asked}, headers=headers).json()

    assert refused.status_code == 401
    assert "Lake Bled" in found["recollection"]["evidence"][0]["text"]
    assert (tmp_path / "chroma" / "chroma.sqlite3").exists()


def test_the_image_installs_what_the_commands_need():
    """Extras that exist, the torch that the Makefile pins, and the port that is published."""
    build = COMPOSE["services"]["chroma"]["build"]["dockerfile_inline"]
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    [pinned] = re.findall(r"torch==[\d.]+", (ROOT / "Makefile").read_text(encoding="utf-8"))

    assert set(re.search(r"/src\[([\w,]+)\]", build)[1].split(",")) <= set(extras)
    assert pinned in build
    assert len({service["image"] for service in COMPOSE["services"].values()}) == 1
    assert COMPOSE["services"]["engram"]["depends_on"]["chroma"] == {"condition": "service_healthy"}
