"""One writer a scope, whoever shares the store; a lock is released with its block and leaves nothing behind."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from langgraph_engram.schema import Scope
from langgraph_engram.stores.chroma_files import writes_to
from langgraph_engram.stores.folders import open_store
from langgraph_engram.stores.locks import ScopeLocks, server_locks

ANA, BEN = Scope(user_id="ana"), Scope(user_id="ben")


def is_free(locks, kind, scope):
    """Return whether another thread gets a lock at once."""
    taken = Event()

    def take():
        with getattr(locks, kind)(scope):
            taken.set()

    pool = ThreadPoolExecutor(1)
    pool.submit(take)
    pool.shutdown(wait=False)
    return taken.wait(0.3)


@pytest.mark.parametrize("kind", ["writing", "committing"])
def test_a_lock_is_held_by_one_thread_at_a_time(kind):
    """Others wait for it; other scopes, and the other lock of the scope, are free."""
    locks = ScopeLocks()
    other = {"writing": "committing", "committing": "writing"}[kind]

    with getattr(locks, kind)(ANA):
        held = [is_free(locks, kind, ANA), is_free(locks, kind, BEN), is_free(locks, other, ANA)]

    assert held == [False, True, True]
    assert is_free(locks, kind, ANA)


def test_a_thread_may_take_its_lock_again():
    """A retry runs its runs while it holds the scope."""
    locks = ScopeLocks()

    with locks.writing(ANA), locks.writing(ANA):
        assert len(locks._locks) == 1

    assert len(locks._locks) == 0


def test_all_who_open_a_folder_share_its_locks(tmp_path, encoder):
    """Two stores on one folder hold one another off; two separate stores do not."""
    first, second = (open_store(tmp_path / "s", encoder) for _ in range(2))
    apart = open_store("memory:", encoder)

    with first.writing(ANA):
        held = [is_free(second, "writing", ANA), is_free(apart, "writing", ANA)]

    assert held == [False, True]
    for store in (first, second, apart):
        store.close()


@pytest.mark.parametrize(
    ("locks_of", "own", "same", "other"),
    [
        (server_locks, "http://localhost:8000", "http://localhost:8000/", "http://localhost:8001"),
        (writes_to, Path("a"), Path("a"), None),
        (writes_to, None, Path("b"), None),
    ],
)
def test_all_who_use_one_place_in_this_process_share_its_locks(locks_of, own, same, other):
    """The URL names a server; what one blanks in a folder, another may be writing; stores in memory share nothing."""
    first, second, third = locks_of(own), locks_of(same), locks_of(other)

    assert (first is second) is (own is not None)
    assert third is not first
