"""A change that is cut off at any write is finished by doing it again."""

from contextlib import suppress
from shutil import copytree

import pytest

from langgraph_engram.errors import InvalidInput, StoreError
from langgraph_engram.memory import Memory
from langgraph_engram.stores.rows import Rows

HOMES = ("Lisbon", "Porto")
MOST_WRITES = 12


class Cut:
    """Let some writes to the collections of a store through, and fail at those that follow."""

    def __init__(self, monkeypatch):
        self.left = None
        for name in ("write", "remove"):
            monkeypatch.setattr(Rows, name, self._counted(getattr(Rows, name)))

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


@pytest.fixture(scope="module")
def at_home(tmp_path_factory):
    """The folder of a memory of two homes, for tests to copy, and the last receipt."""
    folder = tmp_path_factory.mktemp("homes") / "store"
    with Memory(folder, "rules", encoder="hashing") as memory:
        return folder, remember_homes(memory)


@pytest.mark.parametrize("change", [edit, undo, forget])
def test_a_change_cut_off_at_any_write_is_finished_by_doing_it_again(at_home, tmp_path, cut, change):
    """Wherever it was cut off: afterwards, and after a retry, `doctor` finds nothing."""
    folder, receipt = at_home
    for writes in range(MOST_WRITES):
        with Memory(copytree(folder, tmp_path / str(writes)), "rules", encoder="hashing") as memory:
            cut.left = writes
            with suppress(StoreError):
                change(memory, receipt)
            is_whole, cut.left = cut.left > 0, None

            with suppress(InvalidInput):
                change(memory, receipt)
            memory.retry(user_id="ana")

            assert memory.doctor().findings == []
        if is_whole:
            return
    pytest.fail(f"not whole after {MOST_WRITES} writes")


TOWNS = ("I live in Lisbon.", "I live in Quillhaven.")


@pytest.mark.parametrize("named", [{}, {"session_id": "day-2"}, {"record_id": None}], ids=str)
def test_a_forgetting_that_nobody_repeats_is_finished_by_a_retry(tmp_path, cut, named):
    """Wherever it was cut off once it was announced: nothing of it is found, linked or pending, nor in any file."""
    with Memory(tmp_path, "rules", encoder="hashing") as memory:
        for writes in range(3, 8):
            user = f"user {writes}"
            for day, text in enumerate(TOWNS, start=1):
                said = {"speaker": "Ana", "text": text, "said_at": f"2024-03-01T0{day}:00:00Z"}
                memory.remember([said], user_id=user, session_id=f"day-{day}", close_session=True)
            contradicted, record = memory.show("records", user)
            assert record.conflicts_with == [contradicted.record_id]
            cut.left = writes
            with suppress(StoreError):
                memory.forget(
                    user_id=user, **(dict.fromkeys(named, record.record_id) if "record_id" in named else named)
                )
            is_whole, cut.left = cut.left > 0, None
            memory.remember([{"speaker": "Ana", "text": "I keep bees."}], user_id=user, session_id="day-2")

            memory.retry(user_id=user)

            assert memory.status(user).pending == []
            assert "Quillhaven" not in " ".join(record.content for record in memory.show("records", user))
            assert "I keep bees." in [turn.text for turn in memory.show("turns", user)]
        assert memory.doctor().findings == []
    assert is_whole
    files = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert (b"Quillhaven" in files) is ("record_id" in named)


@pytest.mark.parametrize("is_repeated", [False, True])
def test_files_that_a_killed_forgetting_left_are_overwritten(tmp_path, monkeypatch, is_repeated):
    """The rows are gone, and their words are still in Chroma's log: the same call overwrites them, and then refuses.

    Nothing is pending; who opens the store does the same.
    """
    folder = tmp_path / "store"
    with Memory(folder, "rules", encoder="hashing") as memory:
        receipt = remember_homes(memory)
        with monkeypatch.context() as killed:
            killed.setattr(type(memory.store), "secure_delete", lambda store, scope: [])
            forget(memory, receipt)
        assert [finding.check for finding in memory.doctor().findings] == ["residue in the log"]
        if is_repeated:
            with pytest.raises(InvalidInput):
                forget(memory, receipt)
            assert memory.doctor().findings == []

    with Memory(folder, "rules", encoder="hashing") as memory:
        assert memory.doctor().findings == []
    assert not list(folder.glob(".engram.erasing-*"))
    assert b"Porto" not in b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """The folder of a memory of many turns, and what is found there, for tests to copy."""
    folder = tmp_path_factory.mktemp("planted") / "store"
    said = [{"speaker": "Ana", "text": f"On day {number} I planted {number} tulips."} for number in range(120)]
    with Memory(folder, "rules", encoder="hashing") as memory:
        memory.remember(said, user_id="ana", session_id="s1")
        return folder, memory.search("How many tulips on day 7?", user_id="ana").evidence


@pytest.mark.parametrize(
    ("file", "kept"),
    [
        ("index_metadata.pickle", 0),
        ("index_metadata.pickle", 1000),
        ("header.bin", 0),
        ("header.bin", 92),
        ("data_level0.bin", 637),
        ("length.bin", 10),
    ],
)
def test_an_index_that_a_kill_cut_off_is_made_anew_once(planted, tmp_path, caplog, file, kept):
    """Chroma cannot read a store whose list of vectors is not whole, and ends the process over its other files.

    The rows are there, and are encoded again.
    """
    folder, before = copytree(planted[0], tmp_path / "store"), planted[1]
    [path] = folder.glob(f"*/{file}")
    path.write_bytes(path.read_bytes()[:kept])

    for _ in range(2):
        with Memory(folder, "rules", encoder="hashing") as memory:
            assert memory.search("How many tulips on day 7?", user_id="ana").evidence == before
            assert memory.doctor().findings == []
    assert caplog.text.count("made anew") == 1
    assert not list(folder.glob(".engram.without*"))


def test_an_index_that_is_newer_than_its_list_is_made_anew(planted, tmp_path, caplog):
    """A kill came after Chroma had written the slots, and before the list of what is in them."""
    folder, found = copytree(planted[0], tmp_path / "store"), planted[1]
    [listed] = folder.glob("*/index_metadata.pickle")
    before = listed.read_bytes()
    with Memory(folder, "rules", encoder="hashing") as memory:
        dug = [{"speaker": "Ana", "text": f"On day {number} I dug up {number} tulips."} for number in range(120)]
        memory.remember(dug, user_id="ana", session_id="s2")
    assert listed.read_bytes() != before
    listed.write_bytes(before)

    with Memory(folder, "rules", encoder="hashing") as memory:
        assert memory.doctor().findings == []
        memory.forget(user_id="ana", session_id="s2")
        assert memory.search("How many tulips on day 7?", user_id="ana").evidence == found
    assert caplog.text.count("made anew") == 1
