"""Export a memory, load it elsewhere and export that: `moving.py RECORDS`; print what each took, as JSON.

Each step is done by a process of its own: the most megabytes are those of the process, what it imports included; its
seconds begin when the store is open. Two steps are done again to see the most that Python's own objects took, which is
slower. The exit status is 1 if the two files differ.
"""

import json
import resource
import subprocess
import sys
import tempfile
import tracemalloc
from pathlib import Path
from random import Random
from time import perf_counter, process_time

from langgraph_engram.benchmarks.speed import Writer, fill
from langgraph_engram.embeddings.base import HashingEncoder
from langgraph_engram.memory import Memory
from langgraph_engram.schema import Scope

UNIT = 1024 if sys.platform == "linux" else 1
"""Bytes in which a system counts the most that a process had."""


def write(memory, records):
    """Store conversations of one user that hold so many records."""
    fill(memory, Scope(user_id="ana"), int(records), Writer(Random(0)))


def export(memory, path):
    """Export everybody's memories."""
    memory.export(path, everyone=True)


def load(memory, path):
    """Load a file into an empty memory."""
    assert memory.load(path).known == 0


def step(name, folder, argument, *, traced):
    """Do one step, and return what it took: the process's most before it is what the imports take."""
    with Memory(folder, "rules", encoder=HashingEncoder()) as memory:
        before, start, used = peak(), perf_counter(), process_time()
        if traced:
            tracemalloc.start()
        {"write": write, "export": export, "load": load}[name](memory, argument)
        seconds, cpu = round(perf_counter() - start, 1), round(process_time() - used, 1)
        if traced:
            return {"python_megabytes": round(tracemalloc.get_traced_memory()[1] / 1e6, 1)}
    return {"seconds": seconds, "cpu_seconds": cpu, "megabytes_before": before, "megabytes": peak()}


def peak():
    """Return the most megabytes that this process had so far."""
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * UNIT / 1e6)


def in_process(name, folder, argument, *traced):
    """Do a step in a process of its own, and return what it printed."""
    command = [sys.executable, __file__, name, folder, str(argument), *traced]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def campaign(records):
    """Move so many records, and return the figures."""
    with tempfile.TemporaryDirectory() as root:
        home = Path(root)
        first, second = home / "first.jsonl", home / "second.jsonl"
        figures = {
            "write": in_process("write", home / "store", records),
            "export": in_process("export", home / "store", first),
            "load": in_process("load", home / "elsewhere", first),
            "export again": in_process("export", home / "elsewhere", second),
        }
        figures["export"] |= in_process("export", home / "store", home / "traced", "traced")
        figures["load"] |= in_process("load", home / "traced-store", first, "traced")
        lines = first.read_bytes().splitlines()
        return {
            **figures,
            "items": len(lines) - 2,
            "records": sum(line.startswith(b'{"kind":"records"') for line in lines),
            "bytes": first.stat().st_size,
            "identical": first.read_bytes() == second.read_bytes(),
        }


if __name__ == "__main__":
    if len(sys.argv) == 2:
        figures = campaign(int(sys.argv[1]))
        sys.stdout.write(json.dumps(figures, indent=1) + "\n")
        sys.exit(not figures["identical"])
    sys.stdout.write(json.dumps(step(*sys.argv[1:4], traced=len(sys.argv) > 4)))
