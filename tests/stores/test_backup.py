"""A copy of a store that is in use opens, and holds what was acknowledged before it was begun."""

import sqlite3
import subprocess
import sys
import textwrap

import pytest

from langgraph_engram.cli.main import run
from langgraph_engram.embeddings.base import HashingEncoder
from langgraph_engram.errors import InvalidInput, StoreLocked, StoreUnwritable
from langgraph_engram.integrations.store import EngramStore
from langgraph_engram.memory import Memory
from langgraph_engram.schema import Scope
from langgraph_engram.settings import Settings, UpdateSettings
from langgraph_engram.stores import locks
from langgraph_engram.stores.base import Changes
from langgraph_engram.stores.folders import open_store

ANA = Scope(user_id="ana")
OTHER_PROCESS = """
    import sys
    from langgraph_engram.embeddings.base import HashingEncoder
    from langgraph_engram.schema import Scope, Turn
    from langgraph_engram.stores.base import Changes
    from langgraph_engram.stores.folders import open_store
    store = open_store(sys.argv[1], HashingEncoder(16))
    for start in range(0, 6000, 150):
        turns = [
            Turn(turn_id=f"t{seq}", session_id="s1", seq=seq, role="user", speaker="Ana", text=f"number {seq}")
            for seq in range(start, start + 150)
        ]
        store.commit(Scope(user_id="ana"), Changes(turns=turns))
        print(start + 150, flush=True)
    store.close()
"""


def sound_turns(folder):
    """Open a copy, and return how many turns it has; each has its row and its vector, and Chroma finds it."""
    with sqlite3.connect(folder / "chroma.sqlite3") as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    store = open_store(folder, HashingEncoder(16))
    index = store.index(ANA)
    assert [turn.seq for turn in index.turns.items] == list(range(len(index.turns)))
    assert index.turns.vectors.shape == (len(index.turns), 16)
    store.close()
    return len(index.turns)


def test_a_copy_made_while_another_process_writes_holds_whole_commits(tmp_path, capsys):
    """The command line needs no lock of the store, only the moments between two writes."""
    script = textwrap.dedent(OTHER_PROCESS)
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "store")], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    acknowledged = 0
    for number in range(3):
        acknowledged = int(process.stdout.readline())
        assert run(["backup", str(tmp_path / f"copy{number}"), "--store", str(tmp_path / "store")]) == 0
        found = sound_turns(tmp_path / f"copy{number}")
        assert found >= acknowledged
        assert found % 150 == 0
    process.communicate()

    assert process.returncode == 0
    assert "copied" in capsys.readouterr().out


def test_a_memory_is_copied_with_its_checkpoints_and_items(tmp_path):
    """What was remembered is recalled from the copy, and a run that waits for a person goes on there."""
    asking = Settings(update=UpdateSettings(approve=["SUPERSEDE"]))
    with Memory(tmp_path / "store", "rules", encoder="hashing", settings=asking) as memory:
        for day, home in enumerate(("Lisbon", "Porto"), start=1):
            said = [{"speaker": "Ana", "text": f"I live in {home}.", "said_at": f"2024-03-0{day}T09:00:00Z"}]
            memory.remember(said, user_id="ana", session_id=f"s{day}")
        with EngramStore(tmp_path / "store", index=False) as items:
            items.put(("a",), "key", {"text": "tea"})
            receipt = memory.backup(tmp_path / "copy")
            memory.remember([{"speaker": "Ana", "text": "We went to Lake Bohinj."}], user_id="ana", session_id="s1")

    with (
        Memory(tmp_path / "copy", "rules", encoder="hashing", settings=asking) as copy,
        EngramStore(tmp_path / "copy", index=False) as items,
    ):
        assert [turn.text for turn in copy.show("turns", "ana")] == ["I live in Lisbon.", "I live in Porto."]
        assert "Lisbon" in copy.search("Where does Ana live?", user_id="ana").evidence[0].text
        assert items.get(("a",), "key").value == {"text": "tea"}
        [waiting] = copy.approvals("ana")
        assert copy.approve(waiting.run_id, "approve", user_id="ana").pending == 0
    assert receipt.files > 2


def test_what_cannot_be_copied_is_said(tmp_path):
    """A folder that is taken, one inside of the store, no store, one in memory, a target that cannot be written."""
    with Memory(tmp_path / "store", "rules", encoder="hashing") as memory, Memory("memory:", encoder="hashing") as none:
        memory.backup(tmp_path / "copy")
        with pytest.raises(InvalidInput, match="is there already"):
            memory.backup(tmp_path / "copy")
        with pytest.raises(InvalidInput, match="inside of the store"):
            memory.backup(tmp_path / "store" / "copy")
        with pytest.raises(InvalidInput, match="no folder of its own"):
            none.backup(tmp_path / "other")
        (tmp_path / "file").write_text("")
        with pytest.raises(StoreUnwritable, match="choose another folder"):
            memory.backup(tmp_path / "file" / "copy")
    assert run(["backup", str(tmp_path / "more"), "--store", str(tmp_path / "nothing")]) == 2
    assert run(["backup", str(tmp_path / "more"), "--store", "http://localhost:1"]) == 2
    assert not (tmp_path / "more").exists()


def test_an_endless_write_is_said_and_leaves_no_copy(tmp_path, turn, monkeypatch):
    """A copy waits for the write that is under way, a minute at most."""
    monkeypatch.setattr(locks, "WRITE_SECONDS", 0.05)
    store = open_store(tmp_path / "store", HashingEncoder(16))
    store.commit(ANA, Changes(turns=[turn(0)]))

    with locks.write_lock(tmp_path / "store"), pytest.raises(StoreLocked, match="written to all the time"):
        store.back_up(tmp_path / "copy")

    assert not [path for path in tmp_path.iterdir() if "copy" in path.name]
    store.back_up(tmp_path / "copy")
    store.close()


def test_the_files_of_vectors_are_whole_when_they_are_rewritten(tmp_path, turn):
    """Chroma writes its vector index anew every thousand rows, and forgets its log of them then."""
    store = open_store(tmp_path / "store", HashingEncoder(16))
    store.commit(ANA, Changes(turns=[turn(seq, f"number {seq}") for seq in range(2000)]))
    store.back_up(tmp_path / "copy")
    store.commit(ANA, Changes(turns=[turn(seq, f"number {seq}") for seq in range(2000, 2100)]))
    store.close()

    assert sound_turns(tmp_path / "copy") == 2000
    assert sound_turns(tmp_path / "store") == 2100
