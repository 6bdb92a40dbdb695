"""Damage the files of a store at random, and see what becomes of it.

`python -m lab.tests.campaigns.damage TRIALS SEED`: a file is cut off, or some of its bytes are others.
Whoever opens the store then is told so in one line, or is answered as before; where an answer differs, `doctor` finds
something. Each trial runs in a process of its own, for a damaged index may take the process with it: that is counted,
and is no wrong answer. The figures are printed as JSON; the exit status is 1 if anything was served wrongly.
"""

import json
import shutil
import tempfile
from collections import Counter
from pathlib import Path
from random import Random

from lab.tests.campaigns.children import in_child, main
from langgraph_engram.embeddings.base import HashingEncoder
from langgraph_engram.errors import EngramError
from langgraph_engram.integrations.store import EngramStore
from langgraph_engram.memory import Memory
from langgraph_engram.stores import snapshots

QUESTIONS = ("Where do I live?", "What did I plant?", "How many tulips?", "Who is my neighbour?")
LOCK = ".engram.lock"


def build(folder):
    """Write a store whose indexes are all in files; a run in it waits for nothing."""
    with Memory(folder, "rules", encoder=HashingEncoder()) as memory, EngramStore(folder, encoder="hashing") as items:
        for day in range(12):
            said = [f"I planted {day} tulips, row {part}, with neighbour Kim{day}." for part in range(4)]
            messages = [{"speaker": "Ana", "text": text} for text in [*said, f"I live in Town{day}."]]
            memory.remember(messages, user_id="ana", session_id=f"s{day}", close_session=day % 3 == 0)
        memory.recall(QUESTIONS[0], user_id="ana")
        for number in range(10):
            items.put(("notes",), str(number), {"text": f"note {number}"})


def answers(folder):
    """Return all that is stored and found, and whether `doctor` finds nothing."""
    with Memory(folder, "rules", encoder=HashingEncoder()) as memory:
        found = [memory.search(question, user_id="ana") for question in QUESTIONS]
        shown = [memory.show(kind, "ana") for kind in ("turns", "records", "events", "syntheses", "decisions")]
        answered = memory.recall(QUESTIONS[1], user_id="ana")
        parts = [
            [one.verdict, one.answer, *sorted(passage.text for passage in one.evidence)] for one in [*found, answered]
        ]
        parts += [item.model_dump_json() for items in shown for item in items]
    with EngramStore(folder, encoder="hashing") as items:
        parts += sorted(json.dumps([item.key, item.value]) for item in items.search(("notes",), query="3", limit=20))
    return parts


def finding(folder):
    """Return what the doctor says: the checks that found something, or the error that it ended with."""
    with Memory(folder, "rules", encoder=HashingEncoder()) as memory:
        return sorted({found.check for found in memory.doctor().findings})


def outcome(ask, folder):
    """Return what is answered, or the one error that it ends with; another one is named as it is."""
    try:
        return {"answer": ask(folder)}
    except EngramError as error:
        return {"error": str(error)}
    except BaseException as error:  # noqa: BLE001 - a panic of Chroma's is no `Exception`
        return {"traceback": f"{type(error).__name__}: {error}"}


def damage(path, rng):
    """Cut off a file, or change bytes of it, and return what was done."""
    content = bytearray(path.read_bytes())
    if not content or rng.random() < 0.5:
        size = rng.randrange(len(content)) if content else 0
        path.write_bytes(content[:size])
        return f"{path.name} cut off at {size} of {len(content)}"
    start = rng.randrange(len(content))
    length = min(rng.choice([1, 16, 4096]), len(content) - start)
    content[start : start + length] = rng.randbytes(length)
    path.write_bytes(content)
    return f"{path.name}: {length} bytes at {start} of {len(content)}"


def campaign(trials, seed):
    """Damage as many stores, and return the figures."""
    rng, kinds, wrong, ended = Random(seed), Counter(), [], []
    snapshots.MIN_ITEMS = 1
    with tempfile.TemporaryDirectory() as home:
        whole, folder = Path(home) / "whole", Path(home) / "damaged"
        in_child(lambda: build(whole))
        shutil.copytree(whole, folder)
        expected = in_child(lambda: outcome(answers, folder))["answer"]
        for trial in range(trials):
            shutil.rmtree(folder)
            shutil.copytree(whole, folder)  # the time of the database is kept, by which its snapshots are known
            paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != LOCK)
            by_name = sorted({path.name for path in paths})
            name = rng.choice(by_name)
            path = rng.choice([path for path in paths if path.name == name])
            done = damage(path, rng)
            if path.suffix == ".npz":
                snapshots.confirm_current(folder)  # it is read, where another time of it would have it removed
            seen = in_child(lambda: outcome(answers, folder))
            found = in_child(lambda: outcome(finding, folder))
            kind, problem = judge(seen, found, expected)
            kinds[kind] += 1
            if seen is None or found is None:
                ended.append(done)
            if problem:
                wrong.append(f"trial {trial}: {done}: {problem}")
    return {"trials": trials, "seed": seed, "outcomes": dict(kinds), "ended": ended, "wrong": wrong}


def judge(seen, found, expected):
    """Return the kind of an outcome, and what is wrong with it."""
    if seen is None or found is None:
        return "the process ended", ""
    for returned in (seen, found):
        if "traceback" in returned:
            return "another error", returned["traceback"]
    is_found = found.get("answer") != []
    if "error" in seen:
        return "one error", "" if is_found else f"the doctor finds nothing, but: {seen['error']}"
    if seen["answer"] == expected:
        return "as before, and found" if is_found else "as before", ""
    return ("differs, and found", "") if is_found else ("differs", "answers differ, and the doctor finds nothing")


if __name__ == "__main__":
    main(campaign)
