"""Run benchmarks by rules in processes that kill themselves: `mortal.py` reads one a line.

A line is `[COMMAND, FILE, OUT, CALL, NUMBER]`. At its NUMBER-th CALL ("remember" of a session, or "recall" of a
question) a process is gone, as in a power cut; what it ended with is printed.
"""

import json
import os
import signal
import sys
from itertools import count

import chromadb  # noqa: F401 - what opens a memory, which the children would each import

from engram_lab.benches import run_locomo, run_longmemeval
from engram_lab.harness import Setup
from engram_lab.reading import run_reading
from langgraph_engram.embeddings.base import HashingEncoder
from langgraph_engram.memory import Memory
from langgraph_engram.runner import add_receipts

DYING = {}
"""At which call this process dies."""
CALLS = count(1)


class MortalMemory(Memory):
    """Die at one call."""

    def remember_sessions(self, sessions, *, user_id, progress=None):
        receipts = []
        for session in sessions:
            receipts.append(super().remember_sessions([session], user_id=user_id))
            die_at("remember")
        return add_receipts(receipts)

    def recall(self, query, *, user_id, now=None):
        recollection = super().recall(query, user_id=user_id, now=now)
        die_at("recall")
        return recollection


def die_at(call):
    if call in DYING and next(CALLS) == DYING[call]:
        os.kill(os.getpid(), signal.SIGKILL)


def setup(kind=Memory):
    """Memories that write and read by rules."""

    def open_memory(folder):
        return kind(folder, "rules", encoder=HashingEncoder())

    return Setup(open_memory, open_memory, preset="engram", writer="rules", reader="rules", encoder="hashing")


RUNS = {
    "locomo": run_locomo,
    "longmemeval": run_longmemeval,
    "reading": lambda file, opened, **options: run_reading(file, [opened], **options),
}

if __name__ == "__main__":
    for line in sys.stdin:
        command, file, out, call, number = json.loads(line)
        if not os.fork():
            DYING[call] = number
            RUNS[command](file, setup(MortalMemory), out=out)
            os._exit(0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(os.wait()[1])}\n")
        sys.stdout.flush()
