"""A store in memory starts empty, is shared with nobody, and leaves nothing behind."""

from chromadb.api.shared_system_client import SharedSystemClient

from langgraph_engram.integrations.store import EngramStore
from langgraph_engram.schema import Scope
from langgraph_engram.stores.base import Changes
from langgraph_engram.stores.folders import open_store

ANA = Scope(user_id="ana")


def test_stores_share_nothing(encoder, turn):
    """Neither those that are open at once nor one that is opened after another; closing one leaves the others."""
    first, second = open_store("memory:", encoder), open_store("memory:", encoder)
    first.commit(ANA, Changes(turns=[turn(0, "Ana keeps bees.")]))
    assert not len(second.index(ANA).turns)
    first.close()
    second.commit(ANA, Changes(turns=[turn(0, "Ana skis.")]))
    third = open_store("memory:", encoder)

    assert [turn.text for turn in second.index(ANA).turns.items] == ["Ana skis."]
    assert not len(third.index(ANA).turns)
    assert not third.contains_text("bees")
    assert list(third.rows(ANA)) == []
    second.close()
    third.close()


def test_stores_that_are_closed_hold_nothing_of_chroma(encoder, turn):
    """Chroma frees its memory once no client is left; memories and LangGraph's items leave none."""
    clients = SharedSystemClient._identifier_to_refcount.get("ephemeral", 0)
    store, items = open_store("memory:", encoder), EngramStore("memory:", index=False)
    store.commit(ANA, Changes(turns=[turn(0, "Ana keeps bees.")]))
    items.put(("ana",), "hobby", {"text": "bees"})

    store.close()
    assert items.get(("ana",), "hobby").value == {"text": "bees"}
    items.close()

    assert SharedSystemClient._identifier_to_refcount.get("ephemeral", 0) == clients
