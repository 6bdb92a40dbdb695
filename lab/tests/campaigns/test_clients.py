"""Several processes on one server lose and double nothing; a second one on a folder is refused at once."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import ExitStack
from random import Random

import pytest

from lab.tests.campaigns import clients
from lab.tests.campaigns.load import chroma, free_port
from langgraph_engram.embeddings.base import HashingEncoder
from langgraph_engram.memory import Memory


def client(*arguments):
    command = [sys.executable, clients.__file__, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize(
    ("count", "turns"), [(2, 20), pytest.param(4, 500, marks=[pytest.mark.campaign, pytest.mark.timeout(1800)])]
)
def test_what_several_processes_write_is_found_once(tmp_path, count, turns):
    """Each turn of each is stored once and found by its words; `doctor` finds nothing, and nothing is pending."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with chroma(tmp_path / "server", port):
        for writer in [client("write", url, writer, turns) for writer in range(count)]:
            _, problems = writer.communicate()
            assert writer.returncode == 0, problems

        assert examined(url, count, turns) == ([], [], [])


@pytest.mark.parametrize(
    ("turns", "most", "fewest"),
    [(20, 1, 1), pytest.param(1000, 100, 20, marks=[pytest.mark.campaign, pytest.mark.timeout(1800)])],
)
def test_a_server_that_stops_and_starts_again_loses_nothing(tmp_path, turns, most, fewest):
    """Killed at random moments of writes: what is sent again is stored once, and `retry` finishes what was begun."""
    rng, port, stops = Random(3), free_port(), 0
    url = f"http://127.0.0.1:{port}"
    with ExitStack() as servers:
        server = servers.enter_context(chroma(tmp_path / "server", port))
        writer = client("write", url, 0, turns)
        writer.stdout.readline()
        while writer.poll() is None and stops < most:
            time.sleep(rng.uniform(0.05, 1))
            os.kill(server, signal.SIGKILL)
            os.waitpid(server, 0)
            time.sleep(rng.uniform(0, 1))
            server = servers.enter_context(chroma(tmp_path / "server", port))
            stops += 1
        _, problems = writer.communicate()

        assert writer.returncode == 0, problems
        assert stops >= fewest
        with Memory(url, "rules", encoder=HashingEncoder()) as memory:
            for user in clients.USERS:
                memory.retry(user_id=user)
        assert examined(url, 1, turns) == ([], [], [])


def examined(url, writers, turns):
    """Return which turns are not found, what is pending, and what the doctor finds; each turn must be stored once."""
    with Memory(url, "rules", encoder=HashingEncoder()) as memory:
        stored = [(user, turn) for user in clients.USERS for turn in memory.show("turns", user)]
        lost = [turn.text for user, turn in stored if not _is_found(memory, user, turn)]
        pending = [task for user in clients.USERS for task in memory.status(user).pending]
        findings = memory.doctor().findings

    said = Counter(clients.text_of(writer, number) for writer in range(writers) for number in range(turns))
    assert Counter(turn.text for _, turn in stored) == said
    return lost, pending, findings


def _is_found(memory, user, turn):
    found = memory.search(turn.text, user_id=user, budget=300).evidence
    return sum(turn.text in passage.text for passage in found) >= 1


@pytest.mark.parametrize("tries", [10, pytest.param(100, marks=pytest.mark.campaign)])
def test_a_second_process_on_a_folder_is_refused_within_a_second(tmp_path, tries):
    """Each time, however often it tries, and the first one goes on."""
    with Memory(tmp_path / "s", "rules", encoder="hashing") as memory:
        second = client("open", tmp_path / "s", tries)
        printed, problems = second.communicate()

        assert memory.remember([{"speaker": "Ana", "text": "I keep bees."}], user_id="ana").records == 1

    assert second.returncode == 0, problems
    seconds = [float(line) for line in printed.split()]
    assert len(seconds) == tries
    assert max(seconds) < 1
