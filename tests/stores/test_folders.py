"""A store in a folder: one process at a time, shared within it, and nothing lost when it dies."""

import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from langgraph_engram.embeddings.base import HashingEncoder
from langgraph_engram.errors import EncoderUnavailable, StoreError, StoreLocked, StoreUnwritable
from langgraph_engram.integrations.store import EngramStore
from langgraph_engram.schema import Scope
from langgraph_engram.stores import snapshots
from langgraph_engram.stores.base import Changes
from langgraph_engram.stores.folders import open_store

PREAMBLE = """
import sys
from langgraph_engram.embeddings.base import HashingEncoder
from langgraph_engram.integrations.store import EngramStore
from langgraph_engram.schema import Scope, Turn
from langgraph_engram.stores.folders import open_store
from langgraph_engram.stores.base import Changes
"""


def python(script: str, folder: Path) -> "subprocess.Popen[str]":
    """Start another process that runs `script` with the folder as its argument."""
    command = [sys.executable, "-c", PREAMBLE + textwrap.dedent(script), str(folder)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_second_process_is_refused_at_once(tmp_path, encoder, opened_elsewhere):
    """The error names the folder and says how several processes can share one; a closed store can be opened."""
    store = open_store(tmp_path / "store", encoder)
    refused = opened_elsewhere(tmp_path / "store")
    store.close()

    opened = opened_elsewhere(tmp_path / "store")

    assert str(tmp_path / "store") in refused
    assert "chroma run --path" in refused
    assert "ENGRAM_STORE=http://localhost:8000" in refused
    assert opened == "opened"


def test_a_killed_process_loses_nothing_it_acknowledged(tmp_path, encoder):
    """Every commit and every item that returned is there, whole, and the folder can be had at once."""
    script = """
        store, items = open_store(sys.argv[1], HashingEncoder(64)), EngramStore(sys.argv[1], encoder="hashing")
        for number in range(10_000):
            turns = [Turn(turn_id=f"{number}-{seq}", session_id=str(number), seq=seq, role="user", speaker="Ana",
                          text=f"turn {number} {seq}") for seq in range(5)]
            store.commit(Scope(user_id="ana"), Changes(turns=turns))
            items.put(("a", str(number % 3)), str(number), {"n": number})
            print(number, flush=True)
    """
    process = python(script, tmp_path / "store")
    assert process.stdout
    acknowledged = [process.stdout.readline() for _ in range(12)]
    process.kill()
    acknowledged += process.stdout.read().splitlines(keepends=True)
    process.communicate()

    with EngramStore(tmp_path / "store", encoder="hashing") as items:
        found = {item.key: item.score for item in items.search((), query="any", limit=100_000)}
    store = open_store(tmp_path / "store", encoder)
    index = store.index(Scope(user_id="ana"))

    complete = [line.strip() for line in acknowledged if line.endswith("\n")]
    assert len(complete) >= 12
    for number in complete:
        assert [turn.seq for turn in index.session_turns(number)] == [0, 1, 2, 3, 4]
        assert found[number] is not None
    assert len(index.turns.vectors) == len(index.turns)
    store.close()


def test_openers_in_one_process_share_a_store(tmp_path, encoder, scope, turn):
    """What one writes the other reads; the last to close releases it, and closing twice counts once."""
    (tmp_path / "link").symlink_to(tmp_path / "store")
    first, second = open_store(tmp_path / "store", encoder), open_store(str(tmp_path / "link"), HashingEncoder(64))

    first.commit(scope, Changes(turns=[turn(0)]))
    first.close()
    first.close()

    assert [item.turn_id for item in second.index(scope).turns.items] == ["t0"]
    with pytest.raises(StoreError, match="closed"):
        first.index(scope)
    second.close()


def test_threads_may_write_and_read_at_once(tmp_path, encoder, scope, turn):
    """Nothing is lost, and every index is consistent."""
    store = open_store(tmp_path / "store", encoder)

    def write(seq):
        store.commit(scope, Changes(turns=[turn(seq, f"turn {seq}")]))

    def read(_):
        index = store.index(scope)
        return (
            len(index.turns) == len(index.turns.vectors) == len(index.turns.bm25(["turn"])) == len(index.turns.order())
        )

    with ThreadPoolExecutor(4) as pool:
        written, fits = pool.map(write, range(12)), list(pool.map(read, range(200)))
        list(written)

    assert all(fits)
    assert sorted(item.seq for item in store.index(scope).turns.items) == list(range(12))
    store.close()


@pytest.mark.parametrize("path", ["file", "file/below"])
def test_a_file_is_no_folder(tmp_path, encoder, path):
    """The error names the path and says what to do."""
    (tmp_path / "file").write_text("not a store")

    with pytest.raises(StoreUnwritable, match=r"file.*choose a folder"):
        open_store(tmp_path / path, encoder)

    assert (tmp_path / "file").read_text() == "not a store"


def test_an_opening_that_fails_leaves_nothing(tmp_path):
    """An encoder that cannot be loaded is found out before anything is written."""

    class Missing(HashingEncoder):
        def __init__(self) -> None:
            """Load nothing."""

        @property
        def name(self) -> str:
            raise EncoderUnavailable("no weights")

    with pytest.raises(EncoderUnavailable):
        open_store(tmp_path / "a" / "store", Missing())

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("is_written", [False, True])
def test_a_damaged_store_is_an_error(tmp_path, encoder, scope, turn, monkeypatch, is_written):
    """It is an error of ours, at once though a snapshot is beside it, and the lock is released."""
    monkeypatch.setattr(snapshots, "MIN_ITEMS", 1)
    if is_written:
        store = open_store(tmp_path, encoder)
        store.commit(scope, Changes(turns=[turn(0)]))
        store.index(scope)
        store.close()
    (tmp_path / "chroma.sqlite3").write_text("this is no database, but it is long enough to look like one" * 20)

    for _ in range(2):
        with pytest.raises(StoreError, match="damaged") as caught:
            open_store(tmp_path, encoder)
        assert not isinstance(caught.value, StoreLocked)


def test_a_store_of_another_schema_is_refused(tmp_path):
    """What another version wrote is neither read nor added to, and the error names both versions."""
    store = open_store(tmp_path, HashingEncoder())
    root = store._rows.root
    root.modify(metadata={**root.metadata, "schema": 1})
    store.close()

    with pytest.raises(StoreError, match="schema 1 and this version reads 4: export it"):
        open_store(tmp_path, HashingEncoder())
