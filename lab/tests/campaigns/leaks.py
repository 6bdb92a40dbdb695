"""Open and close stores, or call an open memory, again and again, and print what of the process grew.

python lab/tests/campaigns/leaks.py stores 1000 50
python lab/tests/campaigns/leaks.py calls 1000 50
"""

import ctypes
import gc
import json
import os
import sys
import tracemalloc
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
    """Return what the process holds: threads, open files, Python's objects and megabytes, and megabytes in all."""
    gc.collect()
    if sys.platform == "linux":
        ctypes.CDLL(None).malloc_trim(0)
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    megabytes = int(status["RssAnon"].split()[0]) / 1000
    return {
        "threads": int(status["Threads"]),
        "files": len(os.listdir("/proc/self/fd")),
        "objects": len(gc.get_objects()),
        "python_megabytes": tracemalloc.get_traced_memory()[0] / 1e6,
        "megabytes": megabytes,
    }


def growth(call, times, ahead):
    """Return by how much each figure grew while `call` was called, after so many calls ahead."""
    for number in range(ahead):
        call(number)
    tracemalloc.start()
    before = figures()
    for number in range(ahead, times):
        call(number)
    after = figures()
    tracemalloc.stop()
    return {name: round(value - before[name], 3) for name, value in after.items()}


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
    with TemporaryDirectory() as root:
        return {
            f"{name} in {where}": grown
            for where, place in (("a folder", root), ("memory", "memory:"))
            for name, grown in calls_in(place, times, ahead).items()
        }


def calls_in(place, times, ahead):
    """Return how each figure grew with each call of one memory."""
    query = "Where did Ana move in 1998?"
    with Memory(place, "rules", encoder=ENCODER) as memory:
        return {
            "remember": growth(lambda _: memory.remember([MESSAGE], user_id="ana", session_id="s"), times, ahead),
            "recall": growth(lambda _: memory.recall(query, user_id="ana"), times, ahead),
            "search": growth(lambda _: memory.search(query, user_id="ana"), times, ahead),
        }


if __name__ == "__main__":
    *what, times, ahead = sys.argv[1:]
    grown = [{"stores": stores, "calls": calls}[name](int(times), int(ahead)) for name in what]
    sys.stdout.write(json.dumps({name: value for part in grown for name, value in part.items()}) + "\n")
