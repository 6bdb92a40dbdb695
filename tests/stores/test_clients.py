"""A store in memory starts empty and is shared with nobody, though its database is used again."""

import pytest

from langgraph_engram.schema import Scope
from langgraph_engram.stores import clients
from langgraph_engram.stores.base import Changes
from langgraph_engram.stores.clients import MemoryDatabases, open_memory
from langgraph_engram.stores.folders import open_store

ANA = Scope(user_id="ana")


@pytest.fixture
def acquired(monkeypatch):
    """Return the names of the databases in memory that this test acquires, in order; no other test shares them."""
    databases, names = MemoryDatabases(), []
    acquire = databases.acquire

    def recorded(purpose, settings):
        client, name = acquire(purpose, settings)
        names.append(name)
        return client, name

    monkeypatch.setattr(databases, "acquire", recorded)
    monkeypatch.setattr("langgraph_engram.stores.clients.MEMORY_DATABASES", databases)
    return names


def test_a_database_that_is_used_again_is_empty(acquired, encoder, turn):
    """A closed store's database serves the next store, with nothing of the first."""
    first = open_store("memory:", encoder)
    first.commit(ANA, Changes(turns=[turn(0, "Ana keeps bees.")]))
    first.close()
    second = open_store("memory:", encoder)

    assert acquired[0] == acquired[1]
    assert not len(second.index(ANA).turns)
    assert not second.contains_text("bees")
    assert list(second.rows(ANA)) == []
    second.commit(ANA, Changes(turns=[turn(0, "Ana skis.")]))
    assert [turn.text for turn in second.index(ANA).turns.items] == ["Ana skis."]
    second.close()


def test_stores_that_are_open_at_once_share_nothing(acquired, encoder, turn):
    """Each has a database of its own."""
    first, second = open_store("memory:", encoder), open_store("memory:", encoder)
    first.commit(ANA, Changes(turns=[turn(0, "Ana keeps bees.")]))

    assert acquired[0] != acquired[1]
    assert not len(second.index(ANA).turns)
    first.close()
    second.close()


def test_a_large_database_is_dropped(acquired, encoder, turn, monkeypatch):
    """Removing many rows would take longer than a new database."""
    monkeypatch.setattr(clients, "MAX_REUSED_ROWS", 1)
    store = open_store("memory:", encoder)
    store.commit(ANA, Changes(turns=[turn(0, "Ana keeps bees."), turn(1, "Two hives.")]))
    store.close()

    open_store("memory:", encoder).close()

    assert acquired[0] != acquired[1]


def test_an_emptied_database_serves_only_its_purpose(acquired):
    """Its collections stay; a store whose purpose is not known yet gets a fresh database."""
    for purpose in ("by one encoder", "by another encoder", None, "by one encoder"):
        _, close = open_memory(purpose)
        close()

    assert len(set(acquired)) == 3
    assert acquired[0] == acquired[3]
