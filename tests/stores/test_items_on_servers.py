"""Items of LangGraph's store on a Chroma server: several processes at once, each sees what the others wrote."""

import pytest

from langgraph_engram.errors import StoreUnreachable
from langgraph_engram.integrations.store import EngramStore


@pytest.fixture
def pair(server):
    """Two clients of one server, as two processes have."""
    with EngramStore(server, encoder="hashing") as one, EngramStore(server + "/", encoder="hashing") as other:
        yield one, other


def keys(items):
    return sorted(item.key for item in items)


def test_each_sees_what_the_other_wrote(pair, scope):
    """By key, by search and by listing, though it had read before."""
    one, other = pair
    own = scope.user_id
    one.put((own, "a"), "mine", {"text": "camping"})
    assert keys(other.search((own,), query="camping")) == ["mine"]

    other.put((own, "a"), "theirs", {"text": "camping too"})
    other.put((own, "b"), "new", {"text": "dog"})
    one.put((own, "a"), "mine", {"text": "a garden"})

    for store in pair:
        assert keys(store.search((own,), query="camping")) == ["mine", "new", "theirs"]
        assert store.get((own, "a"), "mine").value == {"text": "a garden"}
        assert store.list_namespaces(prefix=(own,)) == [(own, "a"), (own, "b")]


def test_a_namespace_goes_and_comes_back(pair, scope):
    """Whoever took its last item away, and whoever puts another."""
    one, other = pair
    own = scope.user_id
    one.put((own,), "k", {"n": 1})
    assert keys(other.search((own,))) == ["k"]

    other.delete((own,), "k")
    assert (one.list_namespaces(prefix=(own,)), one.search((own,)), one.get((own,), "k")) == ([], [], None)

    one.put((own,), "k", {"n": 2})
    assert [item.value for item in other.search((own,))] == [{"n": 2}]


def test_times_to_live_are_the_server_s(pair, scope):
    """Who sweeps, sweeps for all."""
    one, other = pair
    own = scope.user_id
    one.put((own,), "short", {}, ttl=0)
    one.put((own,), "long", {}, ttl=60)

    assert keys(other.search((own,))) == ["long"]
    assert other.sweep_ttl() == 1
    assert one.list_namespaces(prefix=(own,)) == [(own,)]


def test_a_server_that_dies_is_told(start_server):
    """Nothing hangs."""
    url, process = start_server()
    with EngramStore(url, index=False) as store:
        store.put(("a",), "k", {})
        process.kill()
        process.wait()

        with pytest.raises(StoreUnreachable, match="chroma run --path"):
            store.get(("a",), "k")
        with pytest.raises(StoreUnreachable, match="chroma run --path"):
            store.put(("a",), "k", {})
