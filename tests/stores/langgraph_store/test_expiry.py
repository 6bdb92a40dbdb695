"""An item may have a time to live, which restarts when it is read or written."""

import pytest

from langgraph_engram.integrations.store import EngramStore


@pytest.fixture
def timed(make_ours, clock):
    """Open a store of ours with the clock of the test, which leaves out what has expired."""

    def make(**ttl):
        store = make_ours(ttl={"omit_expired": True, **ttl})
        store.clock = clock
        return store

    return make


def test_an_item_expires(timed, clock):
    """After its minutes, for every read; others stay."""
    store = timed()
    store.put(("a",), "short", {"n": 1}, ttl=1)
    store.put(("b",), "long", {"n": 2}, ttl=10)
    store.put(("b",), "ever", {"n": 3})

    clock.pass_minutes(2)

    assert store.supports_ttl
    assert store.get(("a",), "short") is None
    assert [item.key for item in store.search(())] == ["ever", "long"]
    assert store.list_namespaces() == [("b",)]


def test_reading_restarts_the_time_to_live(timed, clock):
    """By get and by search, unless the read opts out."""
    store = timed()
    for key in ("got", "found", "seen", "left"):
        store.put(("a",), key, {"key": key}, ttl=10)
    clock.pass_minutes(6)

    store.get(("a",), "got")
    store.search(("a",), filter={"key": "found"})
    store.get(("a",), "seen", refresh_ttl=False)
    store.search(("a",), filter={"key": "seen"}, refresh_ttl=False)
    clock.pass_minutes(6)

    assert [item.key for item in store.search(("a",), refresh_ttl=False)] == ["found", "got"]
    clock.pass_minutes(6)
    assert store.search(("a",)) == []


def test_the_store_may_have_a_default_time_to_live(timed, clock):
    """For puts without one; None is for ever."""
    store = timed(default_ttl=5, refresh_on_read=False)
    store.put(("a",), "default", {})
    store.put(("a",), "own", {}, ttl=20)
    store.put(("a",), "ever", {}, ttl=None)

    clock.pass_minutes(4)
    store.search(())
    clock.pass_minutes(4)
    assert [item.key for item in store.search(())] == ["ever", "own"]
    clock.pass_minutes(100)
    assert [item.key for item in store.search(())] == ["ever"]


def test_sweeping_removes_what_has_expired(timed, clock):
    """And returns how many there were; vectors and namespaces go with them."""
    store = timed()
    for number in range(5):
        store.put(("a", str(number)), "k", {}, ttl=number + 1)
    clock.pass_minutes(3)

    assert store.sweep_ttl() == 3
    assert store.sweep_ttl() == 0
    assert store.list_namespaces() == [("a", "3"), ("a", "4")]


def test_times_to_live_outlast_the_store(tmp_path, clock):
    """They are kept with the items, refreshed as they were."""
    with EngramStore(tmp_path, index=False) as store:
        store.clock = clock
        store.put(("a",), "k", {}, ttl=10)
        store.put(("a",), "unread", {}, ttl=10)
        clock.pass_minutes(6)
        store.get(("a",), "k")
    clock.pass_minutes(6)

    with EngramStore(tmp_path, index=False, ttl={"omit_expired": True}) as store:
        store.clock = clock
        assert [item.key for item in store.search(("a",))] == ["k"]
        assert store.sweep_ttl() == 1


def test_sweeps_happen_by_themselves(make_ours, clock):
    """With the first call after each interval."""
    store = make_ours(ttl={"sweep_interval_minutes": 5})
    store.clock = clock
    store.put(("a",), "k", {}, ttl=1)

    clock.pass_minutes(4)
    assert store.list_namespaces() == [("a",)]
    clock.pass_minutes(1)
    assert store.list_namespaces() == []
