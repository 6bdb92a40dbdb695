"""A store holds in memory what its settings have room for, and finds the same whatever they say."""

import errno
import gc
import os
import tracemalloc
from weakref import ref

import numpy as np
import pytest

from langgraph_engram.embeddings.base import HashingEncoder
from langgraph_engram.memory import Memory
from langgraph_engram.schema import Scope
from langgraph_engram.settings import Settings, StorageSettings
from langgraph_engram.stores import snapshots
from langgraph_engram.stores.arrays import AppendOnlyArray, FileBacked
from langgraph_engram.stores.base import Changes
from langgraph_engram.stores.collections import Collections
from langgraph_engram.stores.folders import open_store
from langgraph_engram.stores.kinds import SEARCHABLE

SCOPES = [Scope(user_id=name) for name in ("ana", "ben", "cem", "dan", "eve", "fay")]
SAID = ["I moved to Oslo in 1998.", "My sister Vera lives in Turin.", "I prefer trains to planes.", "We adopted a cat."]
ASKED = ["Where did I move?", "Who lives in Turin?", "What do I prefer to travel by?", "Which animal do we have?"]


@pytest.fixture
def changes(turn, record):
    """A hundred turns and as many records."""
    turns = [turn(number, f"I planted tree {number} in Oslo.") for number in range(100)]
    return Changes(turns=turns, records=[record(number, f"Ana planted tree {number}.") for number in range(100)])


def descriptors():
    return set(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else set()


@pytest.mark.parametrize("location", ["memory:", "folder"])
def test_without_room_one_scope_is_held_and_nothing_is_lost(tmp_path, encoder, changes, turn, location):
    """The index of the scope used before is freed, and comes back with what was committed."""
    place = location if location == "memory:" else tmp_path / location
    store = open_store(place, encoder, settings=StorageSettings(memory_limit_mb=0))
    for scope in SCOPES:
        store.commit(scope, changes)
    held = [ref(store.index(scope)) for scope in SCOPES]

    assert [index() is None for index in held] == [True] * 5 + [False]
    assert store.index(SCOPES[-1]) is held[-1]()
    store.commit(SCOPES[0], Changes(turns=[turn(200, "And a fig.")]))
    assert [len(store.index(scope).turns) for scope in SCOPES] == [101, 100, 100, 100, 100, 100]
    assert store.index(SCOPES[0]).turns.items[-1].text == "And a fig."
    store.close()


def test_scopes_in_memory_keep_to_the_limit(tmp_path, encoder, changes):
    """As many stay as fit, those used last, also where reading is what made them large."""
    limit = 1_000_000
    store = open_store(tmp_path / "store", encoder, settings=StorageSettings(memory_limit_mb=1))
    for scope in SCOPES:
        store.commit(scope, Changes(turns=changes.turns[:60], records=changes.records[:60]))
    held = [ref(store.index(scope)) for scope in SCOPES]
    assert sum(index() is not None for index in held) > 1

    for scope in (*SCOPES, *SCOPES):
        index = store.index(scope)
        list(index.turns.items), list(index.records.items)
        held.append(ref(index))
        del index
        store.index(SCOPES[0])
        sizes = {id(index()): index().nbytes for index in held if index() is not None}
        assert sum(sizes.values()) <= limit
    store.close()


def test_a_scope_that_left_is_read_from_its_snapshot(tmp_path, encoder, changes, turn, monkeypatch):
    """It is written when the scope leaves, is as new as its rows, and is gone once something is forgotten."""
    monkeypatch.setattr(snapshots, "MIN_ITEMS", 1)
    read, original = [], Collections.read
    monkeypatch.setattr(Collections, "read", lambda self, scope: read.append(scope) or original(self, scope))
    ana, ben = SCOPES[:2]
    store = open_store(tmp_path / "store", encoder, settings=StorageSettings(memory_limit_mb=0))
    store.index(ana)
    store.commit(ana, changes)
    store.index(ben)
    read.clear()

    back = store.index(ana)

    assert (read, len(back.turns), len(back.records)) == ([], 100, 100)
    store.commit(ana, Changes(turns=[turn(200, "And a fig.")]))
    store.index(ben)
    assert store.index(ana).turns.get("t200").text == "And a fig."
    store.commit(ana, Changes(removed={"turns": ["t200"]}))
    assert list((tmp_path / "store" / snapshots.FOLDER).glob("*.npz")) == []
    assert "t200" not in store.index(ana).turns
    store.close()


def test_closing_frees_the_indexes(tmp_path, encoder, changes):
    """Though the closed store is still held by somebody."""
    stores = [open_store(place, encoder) for place in ("memory:", tmp_path / "store", tmp_path / "store")]
    for store in stores:
        store.commit(SCOPES[0], changes)
    held = [ref(store.index(SCOPES[0])) for store in stores]

    for store in stores[:2]:
        store.close()
    shared = held[2]() is not None
    stores[2].close()

    assert shared
    assert [index() for index in held] == [None, None, None]


def test_the_estimate_is_near_what_an_index_takes(encoder, changes, turn, record):
    """Within a third of what Python counts, with all items read."""
    many = Changes(
        turns=[turn(number, f"I planted tree {number} in Oslo.") for number in range(400)],
        records=[record(number, f"Ana planted tree {number}.", keywords=[f"tree{number}"]) for number in range(400)],
    )
    store = open_store("memory:", encoder)
    store.commit(SCOPES[1], changes)
    store.index(SCOPES[1])
    store.commit(SCOPES[0], many)
    del many
    gc.collect()
    tracemalloc.start()

    index = store.index(SCOPES[0])
    list(index.turns.items), list(index.records.items)
    gc.collect()
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()

    assert 0.67 < index.nbytes / taken < 1.5
    store.close()


def test_vectors_in_a_file_are_the_same_in_all_that_is_done(tmp_path, encoder, changes, turn):
    """Added, replaced and read again; the process holds none of them, and no file has a name."""
    on_disk, in_memory = (
        open_store(tmp_path / name, encoder, settings=StorageSettings(vectors_on_disk_from=rows))
        for name, rows in (("disk", 50), ("memory", 10_000))
    )
    query = encoder.encode(["Which tree?"])
    for step in (
        Changes(turns=changes.turns[:40]),
        changes,
        Changes(turns=[turn(3, "Another text."), turn(200, "And a fig.")]),
        Changes(changed=[changes.records[0].model_copy(update={"content": "Ana cut a tree."})]),
        Changes(removed={"turns": ["t0"]}),
    ):
        for store in (on_disk, in_memory):
            store.commit(SCOPES[0], step)
        ours, theirs = (store.index(SCOPES[0]) for store in (on_disk, in_memory))
        for kind in SEARCHABLE:
            assert np.array_equal(ours.of_kind(kind).vectors, theirs.of_kind(kind).vectors)
            assert np.array_equal(ours.of_kind(kind).cosine(query), theirs.of_kind(kind).cosine(query))

    assert ours.turns.vectors.nbytes > 0
    assert theirs.nbytes - ours.nbytes == ours.turns.vectors.nbytes + ours.records.vectors.nbytes
    names = [{path.name for path in (tmp_path / name).iterdir() if not path.is_dir()} for name in ("disk", "memory")]
    assert names[0] == names[1]
    for store in (on_disk, in_memory):
        store.close()


def test_a_search_finds_the_same_with_vectors_in_files(tmp_path):
    """Passages, scores, relevance and notes."""
    found = []
    for name, rows in (("disk", 1), ("memory", 10_000)):
        settings = Settings(storage=StorageSettings(vectors_on_disk_from=rows, memory_limit_mb=0))
        for texts in (SAID, []):  # the second time from what is stored
            with Memory(tmp_path / name, "rules", encoder=HashingEncoder(64), settings=settings) as memory:
                messages = [{"speaker": "Ana", "text": text, "said_at": "2024-05-01T12:00:00Z"} for text in texts]
                for user in ("ana", "ben") if texts else ():
                    memory.remember(messages, user_id=user, session_id="s")
                searched = [memory.search(query, user_id=user) for query in ASKED for user in ("ana", "ben")]
                found.append([one.model_dump(exclude={"run_id", "step_seconds", "usage"}) for one in searched])

    assert all(search["evidence"] for search in found[0])
    assert found[0] == found[1] == found[2] == found[3]


def test_an_array_in_a_file_is_freed_with_its_last_version(tmp_path):
    """Readers keep the version they began with; then neither file nor descriptor is left."""
    before = descriptors()
    first = AppendOnlyArray(np.ones((8, 4), dtype=np.float32), FileBacked(tmp_path, 8))
    second = first.extended(np.full((1, 4), 2, dtype=np.float32)).replaced([0], np.zeros((1, 4), dtype=np.float32))
    rows = second.rows
    second.release_pages()
    assert (first.nbytes, second.nbytes) == (0, 0)
    assert list(tmp_path.iterdir()) == []

    del first, second

    assert rows[:, 0].tolist() == [0, *[1] * 7, 2]
    del rows
    assert descriptors() == before


def test_a_full_disk_leaves_vectors_in_memory(tmp_path, monkeypatch, caplog):
    """And says so."""

    def full(*_):
        raise OSError(errno.ENOSPC, "no space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)

    array = AppendOnlyArray(np.ones((8, 4), dtype=np.float32), FileBacked(tmp_path, 1))

    assert (array.nbytes, array.rows.sum()) == (128, 32)
    assert "no space left on device" in caplog.text


def test_a_large_array_has_little_room_to_grow():
    """Memory that is only set aside is taken from others."""
    array = AppendOnlyArray(np.ones((40_000, 2), dtype=np.float32)).extended(np.ones((1, 2), dtype=np.float32))

    assert len(array._buffer.rows) <= 1.125 * 40_001
