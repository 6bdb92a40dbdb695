"""A store in memory is empty and its own, though Chroma's collections in memory serve one store after the other."""

import pytest

from langgraph_engram.schema import Scope
from langgraph_engram.stores import clients as memory_databases
from langgraph_engram.stores.base import Changes
from langgraph_engram.stores.clients import MemoryDatabases, open_memory
from langgraph_engram.stores.folders import open_store

ANA = Scope(user_id="ana")


@pytest.fixture
def lend(monkeypatch):
    """Open databases in memory that are this test's alone; gives the names of those lent, in order."""
    databases, names = MemoryDatabases(), []
    take = databases.take

    def taken(kind, settings):
        client, name = take(kind, settings)
        names.append(name)
        return client, name

    monkeypatch.setattr(databases, "take", taken)
    monkeypatch.setattr("langgraph_engram.stores.clients.MEMORY_DATABASES", databases)
    return names


def test_what_one_store_held_the_next_does_not(lend, encoder, turn):
    """A closed store's database serves the next one, without anything of it."""
    first = open_store("memory:", encoder)
    first.commit(ANA, Changes(turns=[turn(0, "Ana keeps bees.")]))
    first.close()
    second = open_store("memory:", encoder)

    assert lend[0] == lend[1]
    assert not len(second.index(ANA).turns)
    assert not second.contains_text("bees")
    assert list(second.rows(ANA)) == []
    second.commit(ANA, Changes(turns=[turn(0, "Ana skis.")]))
    assert [one.text for one in second.index(ANA).turns.items] == ["Ana skis."]
    second.close()


def test_stores_that_are_open_at_once_share_nothing(lend, encoder, turn):
    """Each has a database of its own."""
    one, other = open_store("memory:", encoder), open_store("memory:", encoder)
    one.commit(ANA, Changes(turns=[turn(0, "Ana keeps bees.")]))

    assert lend[0] != lend[1]
    assert not len(other.index(ANA).turns)
    one.close()
    other.close()


def test_a_large_database_is_dropped(lend, encoder, turn, monkeypatch):
    """Taking many rows away one by one would take longer than a new database."""
    monkeypatch.setattr(memory_databases, "MOST_ROWS", 1)
    store = open_store("memory:", encoder)
    store.commit(ANA, Changes(turns=[turn(0, "Ana keeps bees."), turn(1, "Two hives.")]))
    store.close()

    open_store("memory:", encoder).close()

    assert lend[0] != lend[1]


def test_only_a_store_of_the_same_kind_takes_an_emptied_database(lend):
    """What its collections were made for stays with it; a store that has no kind yet gets a fresh one."""
    for kind in ("by one encoder", "by another encoder", None, "by one encoder"):
        _, empty = open_memory(kind)
        empty()

    assert len(set(lend)) == 3
    assert lend[0] == lend[3]
