"""A store in a folder is durable, beside a memory and never mixed with it."""

import sqlite3
from contextlib import closing

import pytest

from langgraph_engram.errors import EncoderMismatch, StoreError
from langgraph_engram.integrations.store import EngramStore, open_store_for_server
from langgraph_engram.memory import Memory


def test_a_closed_store_is_opened_again_as_it_was(folder):
    """Items, times, order, vectors and namespaces."""
    with EngramStore(folder, encoder="hashing") as store:
        store.put(("b",), "lake", {"text": "We camped at the lake."})
        store.put(("a", "x"), "dog", {"text": "A dog in the garden."})
        store.put(("a", "x"), "hidden", {"text": "a lake"}, index=False)
        store.put(("b",), "lake", {"text": "We camped at the sea."})
        before = [*store.search(()), *store.search((), query="the sea")], store.list_namespaces()

    with EngramStore(folder, encoder="hashing") as store:
        assert ([*store.search(()), *store.search((), query="the sea")], store.list_namespaces()) == before
        assert store.get(("a", "x"), "dog").value == {"text": "A dog in the garden."}


def test_an_item_whose_row_lost_a_key_is_one_error(folder):
    """A byte of the key's name is another, which SQLite cannot know."""
    with EngramStore(folder, index=False) as store:
        store.put(("a",), "k", {"n": 1})
    with closing(sqlite3.connect(folder / "chroma.sqlite3")) as database:
        assert database.execute("UPDATE embedding_metadata SET key = 'other' WHERE key = 'value'").rowcount == 1
        database.commit()

    with EngramStore(folder, index=False) as store, pytest.raises(StoreError, match="restore a copy"):
        store.get(("a",), "k")


def test_a_memory_and_stores_share_a_folder(folder, opened_elsewhere):
    """Under one lock, whichever comes first or goes last; a memory sees no item, and a store no memory.

    What one store writes another reads; closing twice counts once.
    """
    with Memory(folder, encoder="hashing") as memory:
        with EngramStore(folder, encoder="hashing") as store, EngramStore(str(folder), encoder="hashing") as other:
            memory.remember([{"speaker": "Ana", "text": "We camped at Lake Bled."}], user_id="ana")
            store.put(("ana",), "k", {"text": "A dog in the garden."})
            store.close()
            store.close()
            assert [item.key for item in other.search((), query="lake")] == ["k"]
            assert "dog" not in str(memory.search("dog garden", user_id="ana").evidence)
            with pytest.raises(StoreError, match="closed"):
                store.get(("ana",), "k")
        assert memory.status("ana").turns == 1
        assert "another process" in opened_elsewhere(folder)
    with EngramStore(folder, encoder="hashing") as store, Memory(folder, encoder="hashing") as memory:
        memory.close()
        assert store.get(("ana",), "k") is not None
        assert store.list_namespaces() == [("ana",)]
        assert "another process" in opened_elsewhere(folder)
    assert opened_elsewhere(folder) == "opened"


def constant(texts):
    return [[0.6, 0.8] for _ in texts]


def test_items_are_indexed_with_one_encoder(folder):
    """Another is refused, open or not; none at all is fine."""
    with EngramStore(folder, encoder="hashing") as store:
        store.put(("a",), "k", {"text": "camping"})
        with pytest.raises(EncoderMismatch, match=r"'hashing-256'.*constant:2'"):
            EngramStore(folder, index={"dims": 2, "embed": constant})
    with pytest.raises(EncoderMismatch, match=r"'hashing-256'.*constant:2'"):
        EngramStore(folder, index={"dims": 2, "embed": constant})

    with EngramStore(folder, index=False) as store:
        assert store.get(("a",), "k").value == {"text": "camping"}
        assert [item.score for item in store.search(("a",), query="camping")] == [None]


async def test_the_server_opens_what_the_environment_names(folder, monkeypatch, opened_elsewhere):
    """Once for each of its event loops, without an argument; what one writes the other reads; at last it is closed."""
    monkeypatch.setenv("ENGRAM_STORE", str(folder))
    monkeypatch.setenv("ENGRAM_ENCODER", "hashing")

    async with open_store_for_server() as first, open_store_for_server() as second:
        await first.aput(("a",), "k", {"text": "camping"})
        assert [item.key for item in await second.asearch(("a",), query="camping")] == ["k"]

    assert opened_elsewhere(folder) == "opened"
