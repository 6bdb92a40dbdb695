"""A store holds in memory what its settings have room for, and finds the same whatever they say."""

import sys
from concurrent.futures import ThreadPoolExecutor
from weakref import ref

import pytest

from langgraph_engram.schema import Scope
from langgraph_engram.settings import StorageSettings
from langgraph_engram.stores import index, snapshots
from langgraph_engram.stores.base import Changes
from langgraph_engram.stores.folders import open_store
from langgraph_engram.stores.index import IndexCache, ScopeIndex

SCOPES = [Scope(user_id=name) for name in ("ana", "ben", "cem", "dan", "eve", "fay")]


@pytest.fixture
def changes(turn, record):
    """A hundred turns and as many records."""
    turns = [turn(number, f"I planted tree {number} in Oslo.") for number in range(100)]
    return Changes(turns=turns, records=[record(number, f"Ana planted tree {number}.") for number in range(100)])


@pytest.mark.parametrize("location", ["memory:", "folder"])
@pytest.mark.parametrize(("most_scopes", "memory_mb"), [(64, 0), (1, 512)])
def test_without_room_one_scope_is_held_and_nothing_is_lost(
    tmp_path, encoder, changes, turn, monkeypatch, location, most_scopes, memory_mb
):
    """The index of the scope used before is freed, and comes back with what was committed."""
    monkeypatch.setattr(index, "MAX_SCOPES", most_scopes)
    place = location if location == "memory:" else tmp_path / location
    store = open_store(place, encoder, settings=StorageSettings(memory_limit_mb=memory_mb))
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


def test_many_threads_may_use_indexes_at_once():
    """Who looks whether there is room is not disturbed by who takes another scope's index."""
    cache, interval = IndexCache(512), sys.getswitchinterval()
    for scope in SCOPES:
        cache.put(scope, ScopeIndex())

    def use(first):
        held = [cache.get(SCOPES[(first + number) % len(SCOPES)]) for number in range(5_000) if not cache.is_over_limit]
        return all(held)

    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(use, range(4))) == [True] * 4
    finally:
        sys.setswitchinterval(interval)


def test_a_scope_that_left_is_read_from_its_snapshot(tmp_path, encoder, changes, turn, monkeypatch, read_rows):
    """It is written when the scope leaves, is as new as its rows, and is gone once something is forgotten."""
    monkeypatch.setattr(snapshots, "MIN_ITEMS", 1)
    ana, ben = SCOPES[:2]
    store = open_store(tmp_path / "store", encoder, settings=StorageSettings(memory_limit_mb=0))
    store.index(ana)
    store.commit(ana, changes)
    store.index(ben)
    read_rows.clear()

    back = store.index(ana)

    assert (read_rows, len(back.turns), len(back.records)) == ([], 100, 100)
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
