"""What Chroma's files hold of removed rows is overwritten, and what they hold of others is not."""

import sqlite3

import pytest

from langgraph_engram.stores.chroma_files import HEADER, blank_free_slots, secure_delete

SECRET = b"I live in Quillhaven."


@pytest.fixture
def index(tmp_path):
    """The files of a vector index of four slots of 40 bytes, some of them taken, all holding old memory."""

    def make(taken, version=1):
        (tmp_path / "header.bin").write_bytes(HEADER.pack(version, 0, 4, taken, 40) + bytes(64))
        for name, each in (("data_level0.bin", 40), ("length.bin", 4)):
            (tmp_path / name).write_bytes((SECRET * 8)[: 4 * each])
        return tmp_path / "header.bin"

    return make


@pytest.mark.parametrize(("taken", "version", "kept"), [(0, 1, 0), (1, 1, 1), (3, 1, 3), (4, 1, 4), (0, 2, 4)])
def test_slots_that_were_never_taken_are_blanked(index, taken, version, kept):
    """Others stay as they are, and no file changes its size; in another version the numbers may mean something else."""
    header = index(taken, version)
    before = {path.name: path.read_bytes() for path in header.parent.iterdir()}

    blank_free_slots(header)

    assert header.read_bytes() == before["header.bin"]
    for name, each in (("data_level0.bin", 40), ("length.bin", 4)):
        assert header.with_name(name).read_bytes() == before[name][: kept * each] + bytes((4 - kept) * each)


def test_a_database_of_another_kind_is_left_alone(tmp_path):
    """It cannot be overwritten: the function returns false, and changes nothing."""
    with sqlite3.connect(tmp_path / "chroma.sqlite3") as database:
        database.execute("CREATE TABLE other (text)")
    database.close()

    assert not secure_delete(tmp_path, "prefix:")
