"""Open and close stores, or call an open memory, again and again, and print what of the process grew.

python tests/campaign/leaks.py stores 1000
python tests/campaign/leaks.py calls 1000
"""

import ctypes
import gc
import json
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from langgraph_engram.embeddings.base import HashingEncoder
from langgraph_engram.memory import Memory
from langgraph_engram.schema import Scope, Turn
from langgraph_engram.stores.base import Changes
from langgraph_engram.stores.folders import open_store

ENCODER = HashingEncoder(64)
SCOPE = Scope(user_id="ana")
TURN = Turn(turn_id="t", session_id="s", seq=0, role="user", speaker="Ana", text="I moved to Oslo.")
MESSAGE = {"speaker": "Ana", "text": "I moved to Oslo in 1998.", "said_at": "2024-05-01T12:00:00Z"}


def figures():
    """Return what the process holds: threads, open files, objects of Python, and megabytes."""
    gc.collect()
    if sys.platform == "linux":
        ctypes.CDLL(None).malloc_trim(0)
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    megabytes = int(status["RssAnon"].split()[0]) / 1000
    files = len(os.listdir("/proc/self/fd"))
    return {"threads": int(status["Threads"]), "files": files, "objects": len(gc.get_objects()), "megabytes": megabytes}


def growth(call, times, ahead):
    """Return by how much each figure grew while `call` was called, after so many calls ahead."""
    for number in range(ahead):
        call(number)
    before = figures()
    for number in range(ahead, times):
        call(number)
    return {name: round(value - before[name], 1) for name, value in figures().items()}


def stores(times, ahead):
    """Open, fill, read and close a store of its own each time, in a folder and in memory in turns."""
    with TemporaryDirectory() as root:

        def call(number):
            store = open_store("memory:" if number % 2 else Path(root) / str(number), ENCODER)
            store.commit(SCOPE, Changes(turns=[TURN]))
            assert len(store.index(SCOPE).turns) == 1
            store.close()

        return {"stores": growth(call, times, ahead)}


def calls(times, ahead):
    """Remember what is known, recall and search, in a folder and in memory."""
    found = {}
    with TemporaryDirectory() as root:
        for place in (root, "memory:"):
            with Memory(place, "rules", encoder=ENCODER) as memory:
                whose = {"user_id": "ana"}
                call_of = {
                    "remember": lambda number: memory.remember([MESSAGE], session_id="s", **whose),
                    "recall": lambda number: memory.recall("Where did Ana move in 1998?", **whose),
                    "search": lambda number: memory.search("Where did Ana move in 1998?", **whose),
                }
                for name, call in call_of.items():
                    found[f"{name} in {'memory' if place == 'memory:' else 'a folder'}"] = growth(call, times, ahead)
    return found


if __name__ == "__main__":
    print(json.dumps({"stores": stores, "calls": calls}[sys.argv[1]](int(sys.argv[2]), int(sys.argv[3]))))
