"""Files that are damaged, and a disk that is full: one error that says so, or what was served before; never less."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from langgraph_engram.embeddings.base import HashingEncoder
from langgraph_engram.memory import Memory

ROOT = Path(__file__).parents[3]
SCRIPT = ["-m", "lab.tests.campaigns.damage"]
FULL = """
import json, resource, sys
from pathlib import Path
from langgraph_engram.embeddings.base import HashingEncoder
from langgraph_engram.errors import EngramError
from langgraph_engram.memory import Memory


def fill(folder, room):
    stored, problem = [], ""
    with Memory(folder, "rules", encoder=HashingEncoder()) as memory:
        memory.remember([{"speaker": "Ana", "text": "I live in Lisbon."}], user_id="ana", session_id="first")
        largest = max(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest + room, resource.RLIM_INFINITY))
        for number in range(200):
            text = f"I planted {number} tulips and {number + 3} roses beside the wall."
            try:
                memory.remember([{"speaker": "Ana", "text": text}], user_id="ana", session_id=f"s{number}")
            except EngramError as error:
                problem = str(error)
                break
            stored.append(text)
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    return stored, problem

print(json.dumps([fill(Path(sys.argv[1]) / room, int(room)) for room in sys.argv[2:]]))
"""


@pytest.mark.parametrize(
    ("trials", "seed"), [(2, 1), pytest.param(300, 2, marks=[pytest.mark.campaign, pytest.mark.timeout(3600)])]
)
def test_no_damage_is_served_in_silence(trials, seed):
    """Whatever byte is another and wherever a file ends, nobody is given less without being told."""
    done = subprocess.run([sys.executable, *SCRIPT, str(trials), str(seed)], capture_output=True, check=False, cwd=ROOT)

    assert done.returncode == 0, (done.stdout + done.stderr).decode()
    figures = json.loads(done.stdout)
    assert (figures["trials"], figures["wrong"]) == (trials, [])


@pytest.mark.parametrize(
    "rooms", [(0, 40_000), *(pytest.param((kilo * 8_000,), marks=pytest.mark.campaign) for kilo in range(1, 40))]
)
def test_a_disk_that_is_full_loses_nothing_that_was_acknowledged(tmp_path, rooms):
    """The call that does not fit raises one error; with room again a retry finishes, and the doctor finds nothing."""
    arguments = [sys.executable, "-c", FULL, str(tmp_path), *map(str, rooms)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    for room, (stored, problem) in zip(rooms, json.loads(done.stdout), strict=True):
        assert problem, "the disk was never full"
        with Memory(tmp_path / str(room), "rules", encoder=HashingEncoder()) as memory:
            memory.retry(user_id="ana")
            texts = [turn.text for turn in memory.show("turns", "ana")]
            assert set(texts) >= {"I live in Lisbon.", *stored}
            assert len(texts) == len(set(texts))
            assert memory.status("ana").pending == []
            assert memory.doctor().findings == []
