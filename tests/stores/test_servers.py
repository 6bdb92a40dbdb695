"""A store on a server: several processes at once, each sees what the others wrote."""

import time

import pytest

from langgraph_engram.errors import InvalidSetting, StoreError, StoreFailed, StoreUnreachable
from langgraph_engram.integrations.store import EngramStore
from langgraph_engram.pending import pending_task
from langgraph_engram.stores import rows
from langgraph_engram.stores.base import Changes
from langgraph_engram.stores.clients import translated_errors
from langgraph_engram.stores.folders import open_store


@pytest.fixture
def pair(server, encoder):
    """Two clients of one server, as two processes have."""
    stores = [open_store(server, encoder), open_store(server + "/", encoder)]
    yield stores
    for store in stores:
        store.close()


def ids(store, scope):
    return [turn.turn_id for turn in store.index(scope).turns.items]


def test_what_another_removed_is_not_served_any_more(pair, scope, turn):
    """Neither is it read from an index that was loaded before, nor does a commit after that bring it back.

    What stays when everything is removed, so that other processes see it, holds no name.
    """
    first, second = pair
    second.commit(scope, Changes(turns=[turn(0), turn(1)]))
    assert ids(first, scope) == ids(second, scope) == ["t0", "t1"]

    first.commit(scope, Changes(removed={"turns": ["t0"]}))

    assert ids(second, scope) == ["t1"]
    first.commit(scope, Changes(removed={"turns": ["t1"]}))
    rows = first._rows.root.get(include=["metadatas"])
    assert rows["ids"]
    assert scope.user_id not in str(rows)
    second.commit(scope, Changes(turns=[turn(2)]))
    assert ids(first, scope) == ids(second, scope) == ["t2"]


def test_pending_tasks_are_those_that_are_left(pair, scope, turn):
    """Another process may have completed some since the scope was read."""
    first, second = pair
    mine = [pending_task("run", [turn(number)], "extract", "it took too long") for number in range(2)]
    first.commit(scope, Changes(turns=[turn(0), turn(1)], pending_tasks=mine))
    assert second.pending_tasks(scope) == mine

    first._rows.remove(scope, {"pending_tasks": [mine[0].pending_id]})

    assert second.pending_tasks(scope) == mine[1:]


def test_writing_does_not_hide_what_another_wrote(pair, scope, turn):
    """A store that has an index and commits after another did has both commits; what is current is not read again."""
    first, second = pair
    assert ids(first, scope) == ids(second, scope) == []

    first.commit(scope, Changes(turns=[turn(0)]))
    second.commit(scope, Changes(turns=[turn(1)]))

    assert ids(first, scope) == ids(second, scope) == ["t0", "t1"]
    assert first.index(scope) is first.index(scope)


def test_silent_writers_are_removed(pair, scope, turn, monkeypatch):
    """Their rows go, their commits stay, and the other store still sees what is new."""
    first, second = pair
    first.commit(scope, Changes(turns=[turn(0)]))
    assert ids(second, scope) == ["t0"]

    monkeypatch.setattr(rows, "SILENT_MS", -1)
    time.sleep(0.01)
    second.commit(scope, Changes(turns=[turn(1)]))
    monkeypatch.undo()

    assert ids(first, scope) == ids(second, scope) == ["t0", "t1"]
    first.commit(scope, Changes(turns=[turn(2)]))
    assert ids(second, scope) == ["t0", "t1", "t2"]


def test_no_server_is_an_error(encoder):
    """The error names the URL and how to start one."""
    with pytest.raises(StoreUnreachable, match=r"127\.0\.0\.1:9'.*chroma run --path"):
        open_store("http://127.0.0.1:9", encoder)


def test_a_server_that_dies_is_an_error(encoder, scope, turn, start_server):
    """Reading and writing memories or items of LangGraph's store say that it does not answer; nothing hangs."""
    url, process = start_server()
    store, items = open_store(url, encoder), EngramStore(url, index=False)
    items.put(("a",), "k", {})
    store.commit(scope, Changes(turns=[turn(0)]))
    assert ids(store, scope) == ["t0"]
    process.kill()
    process.wait()

    for use in (
        lambda: store.index(scope),
        lambda: store.pending_tasks(scope),
        lambda: store.commit(scope, Changes(turns=[turn(1)])),
        lambda: items.get(("a",), "k"),
        lambda: items.put(("a",), "k", {}),
    ):
        with pytest.raises(StoreUnreachable, match="chroma run --path"):
            use()
    store.close()
    items.close()


@pytest.mark.parametrize("location", ["ftp://localhost", "http://", "http://host:port", ""])
def test_an_invalid_location_is_refused(encoder, location):
    """Before anything is opened."""
    with pytest.raises(InvalidSetting):
        open_store(location, encoder)


@pytest.mark.parametrize(
    ("raised", "expected"), [("InternalError", True), ("RateLimitError", True), ("NotFoundError", False)]
)
def test_trouble_that_may_pass_is_distinguished(raised, expected):
    """By the class of Chroma's error."""
    import chromadb.errors

    with pytest.raises(StoreError, match="it broke") as caught, translated_errors("here"):
        raise getattr(chromadb.errors, raised)("it broke")

    assert isinstance(caught.value, StoreFailed) == expected
