"""A change that is cut off at any write is finished by doing it again."""

from contextlib import suppress

import pytest

from langgraph_engram.errors import InvalidInput, StoreError
from langgraph_engram.memory import Memory
from langgraph_engram.stores.collections import Collections

HOMES = ("Lisbon", "Porto")
MOST_WRITES = 12


class Cut:
    """Let some writes to the collections of a store through, and fail at those that follow."""

    def __init__(self, monkeypatch):
        self.left = None
        for name in ("write", "remove"):
            monkeypatch.setattr(Collections, name, self._counted(getattr(Collections, name)))

    def _counted(self, method):
        def counted(*args, **kwargs):
            if self.left is not None:
                if not self.left:
                    raise StoreError("cut off")
                self.left -= 1
            return method(*args, **kwargs)

        return counted


@pytest.fixture
def cut(monkeypatch):
    return Cut(monkeypatch)


def remember_homes(memory):
    """Remember two homes, each in a session that ends with a synthesis; return the last receipt."""
    receipts = [
        memory.remember(
            [{"speaker": "Ana", "text": f"I live in {home}.", "said_at": f"2024-03-0{day}T09:00:00Z"}],
            user_id="ana",
            session_id=f"day-{day}",
            close_session=True,
        )
        for day, home in enumerate(HOMES, start=1)
    ]
    return receipts[-1]


def edit(memory, receipt):
    record = next(record for record in memory.show("records", "ana") if record.status == "active")
    memory.update(record.record_id, "Ana: I live in Faro.", user_id="ana")


def undo(memory, receipt):
    memory.undo(receipt.run_id, user_id="ana")


def forget(memory, receipt):
    memory.forget(user_id="ana", session_id="day-2")


@pytest.mark.parametrize("change", [edit, undo, forget])
def test_a_change_cut_off_at_any_write_is_finished_by_doing_it_again(tmp_path, cut, change):
    """Wherever it was cut off: afterwards, and after a retry, `doctor` finds nothing."""
    for writes in range(MOST_WRITES):
        with Memory(tmp_path / str(writes), "rules", encoder="hashing") as memory:
            receipt = remember_homes(memory)
            cut.left = writes
            with suppress(StoreError):
                change(memory, receipt)
            is_whole, cut.left = cut.left > 0, None

            with suppress(InvalidInput):
                change(memory, receipt)
            memory.retry(user_id="ana")

            assert memory.doctor().findings == []
    assert is_whole


def test_forgetting_again_overwrites_what_a_kill_left(tmp_path, monkeypatch):
    """The rows are gone and their words are still in Chroma's log: the same call overwrites them, and then refuses."""
    with Memory(tmp_path / "store", "rules", encoder="hashing") as memory:
        receipt = remember_homes(memory)
        with monkeypatch.context() as killed:
            killed.setattr(type(memory.store), "secure_delete", lambda store, scope: [])
            forget(memory, receipt)
        assert [finding.check for finding in memory.doctor().findings] == ["residue in the log"]

        with pytest.raises(InvalidInput):
            forget(memory, receipt)

        assert memory.doctor().findings == []
