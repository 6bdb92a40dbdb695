"""Items of LangGraph's store on a Chroma server: several processes at once, each sees what the others wrote."""

import pytest

from langgraph_engram.integrations.store import EngramStore


@pytest.fixture
def pair(server):
    """Two clients of one server, as two processes have."""
    with EngramStore(server, encoder="hashing") as first, EngramStore(server + "/", encoder="hashing") as second:
        yield first, second


def keys(items):
    return sorted(item.key for item in items)


def test_each_sees_what_the_other_wrote(pair, scope):
    """By key, by search and by listing, though it had read before."""
    first, second = pair
    own = scope.user_id
    first.put((own, "a"), "mine", {"text": "camping"})
    assert keys(second.search((own,), query="camping")) == ["mine"]

    second.put((own, "a"), "theirs", {"text": "camping too"})
    second.put((own, "b"), "new", {"text": "dog"})
    first.put((own, "a"), "mine", {"text": "a garden"})

    for store in pair:
        assert keys(store.search((own,), query="camping")) == ["mine", "new", "theirs"]
        assert store.get((own, "a"), "mine").value == {"text": "a garden"}
        assert store.list_namespaces(prefix=(own,)) == [(own, "a"), (own, "b")]
