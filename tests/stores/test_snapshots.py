"""The index of a scope is kept in a file beside the store, which is used if it is sound and current, and never else."""

import errno
import json
import os
import shutil

import numpy as np
import pytest

from langgraph_engram.memory import Memory
from langgraph_engram.schema import Scope
from langgraph_engram.stores import snapshots
from langgraph_engram.stores.base import Changes
from langgraph_engram.stores.folders import open_store
from langgraph_engram.stores.kind_index import Column
from langgraph_engram.stores.kinds import SEARCHABLE
from langgraph_engram.stores.versions import AppendOnlyArray

SCOPE = Scope(user_id="ana")
SECRET = "The key is under the Vesperine pot."


@pytest.fixture(autouse=True)
def _small_scopes_too(monkeypatch):
    monkeypatch.setattr(snapshots, "MIN_ITEMS", 1)


@pytest.fixture
def changes(turn, record):
    turns = [turn(number, f"I planted tree {number} in Oslo.") for number in range(4)]
    return Changes(turns=turns, records=[record(number, f"Ana: tree {number}") for number in range(4)])


def write(folder, changes, encoder, scope=SCOPE):
    store = open_store(folder, encoder)
    store.index(scope)
    store.commit(scope, changes)
    store.close()


def files(folder):
    return sorted((folder / snapshots.FOLDER).glob("*.npz"))


def test_an_index_is_restored_as_it_was(folder, changes, encoder, turn, read_rows):
    """Items, vectors, order, terms and columns; and it grows as any other."""
    store = open_store(folder, encoder)
    store.commit(SCOPE, changes)
    before = store.index(SCOPE)
    before.records.mentioned_at  # noqa: B018  # a column that is there when it is written
    store.close()
    read_rows.clear()

    store = open_store(folder, encoder)
    after = store.index(SCOPE)

    assert read_rows == []
    for kind in SEARCHABLE:
        old, new = before.of_kind(kind), after.of_kind(kind)
        assert new.items == old.items
        assert np.array_equal(new.vectors, old.vectors)
        assert new.order().tolist() == old.order().tolist()
        assert new.bm25(["tree", "oslo"]).tolist() == old.bm25(["tree", "oslo"]).tolist()
    assert after.records.mentioned_at.tolist() == before.records.mentioned_at.tolist()
    archived = changes.records[0].model_copy(update={"status": "archived"})
    store.commit(SCOPE, Changes(turns=[turn(9)], changed=[archived]))
    grown = store.index(SCOPE)
    assert (grown.turns.order().tolist(), grown.records.active.tolist()) == ([0, 1, 2, 3, 4], [False] + [True] * 3)
    store.close()


@pytest.mark.parametrize("part", [0.0, 0.3, 0.99])
def test_a_torn_snapshot_is_ignored(folder, changes, encoder, read_rows, part):
    """The rows are read in its place."""
    write(folder, changes, encoder)
    (path,) = files(folder)
    path.write_bytes(path.read_bytes()[: int(part * path.stat().st_size)])
    snapshots.confirm_current(folder)
    read_rows.clear()

    store = open_store(folder, encoder)

    assert len(store.index(SCOPE).records) == 4
    assert read_rows == [SCOPE]
    store.close()
    assert snapshots.Snapshots(folder, encoder.name).read(SCOPE, "any") is not None


def test_a_snapshot_of_another_scope_is_ignored(folder, changes, encoder):
    """Nobody sees the memories of another, whatever a file is called."""
    write(folder, changes, encoder)
    (path,) = files(folder)
    other = Scope(user_id="ben")
    path.rename(path.with_name(f"{other.digest}.npz"))
    snapshots.confirm_current(folder)

    store = open_store(folder, encoder)

    assert len(store.index(other).records) == 0
    assert len(store.index(SCOPE).records) == 4
    store.close()


def test_snapshots_older_than_the_database_are_removed(folder, changes, encoder, read_rows):
    """Another program may have written to it, or put a backup in its place."""
    write(folder, changes, encoder)
    with (folder / snapshots.DATABASE).open("ab") as database:
        database.write(bytes(4096))
    read_rows.clear()

    store = open_store(folder, encoder)

    assert files(folder) == []
    assert len(store.index(SCOPE).records) == 4
    assert read_rows
    store.close()


def test_a_snapshot_newer_than_the_database_is_removed(folder, changes, encoder, read_rows, tmp_path):
    """A backup was copied over the folder, and what was written since is in no row; one of the backup is read."""
    other = Scope(user_id="ben")
    write(folder, changes, encoder)
    shutil.copytree(folder, tmp_path / "backup")
    write(folder, changes, encoder, other)
    shutil.copytree(tmp_path / "backup", folder, dirs_exist_ok=True)
    read_rows.clear()

    store = open_store(folder, encoder)

    assert [path.stem for path in files(folder)] == [SCOPE.digest]
    assert [len(store.index(scope).records) for scope in (other, SCOPE)] == [0, 4]
    assert read_rows == [other]
    store.close()


def test_a_store_that_was_written_to_and_not_closed_leaves_no_current_snapshot(folder, changes, encoder):
    """What a killed process wrote last is in the rows alone; one that only read leaves them as they were."""
    stamp = folder / snapshots.FOLDER / snapshots.STAMP
    write(folder, changes, encoder)
    store = open_store(folder, encoder)
    store.index(SCOPE)
    assert stamp.exists()

    store.commit(SCOPE, Changes(removed={"records": [changes.records[0].record_id]}))

    assert not stamp.exists()
    store.close()
    assert stamp.exists()


def test_a_snapshot_stays_till_another_is_written(folder, changes, encoder, monkeypatch, caplog):
    """A search derives more than is in it, and the scope is too small to write it anew, or the disk is full."""
    write(folder, changes, encoder)
    (path,) = files(folder)
    before = path.read_bytes()
    monkeypatch.setattr(snapshots, "MIN_ITEMS", 500)
    store = open_store(folder, encoder)
    store.index(SCOPE).records.mentioned_at  # noqa: B018  # a column that it lacks
    store.index(Scope(user_id="ben"))
    store.close()
    assert path.read_bytes() == before

    store = open_store(folder, encoder)
    store.index(SCOPE).records.mentioned_at  # noqa: B018
    monkeypatch.setattr(snapshots.os, "fsync", full_disk)
    store.close()

    assert path.read_bytes() == before
    assert list(path.parent.glob("*.tmp")) == []
    assert "No space left" in caplog.text


def test_what_a_snapshot_took_on_the_disk_is_overwritten_when_another_is_written(folder, changes, encoder, tmp_path):
    """A later erasure could not find it."""
    write(folder, changes, encoder)
    (path,) = files(folder)
    os.link(path, tmp_path / "its blocks")

    store = open_store(folder, encoder)
    store.index(SCOPE).records.mentioned_at  # noqa: B018  # a column that it lacks
    store.close()

    assert set((tmp_path / "its blocks").read_bytes()) == {0}
    assert files(folder) == [path]


def full_disk(_):
    """Fail as a write to a full disk."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("is_dropped", [False, True])
def test_a_commit_or_a_drop_removes_the_snapshot_of_its_scope_alone(folder, changes, encoder, read_rows, is_dropped):
    """Until the store is closed the rows are newer than it was, and are read."""
    other = Scope(user_id="ben")
    write(folder, changes, encoder)
    write(folder, changes, encoder, other)
    assert len(files(folder)) == 2
    store = open_store(folder, encoder)
    read_rows.clear()

    store.drop_index(SCOPE) if is_dropped else store.commit(SCOPE, changes)

    assert [path.stem for path in files(folder)] == [other.digest]
    assert len(store.index(SCOPE).records) == 4
    assert read_rows == [SCOPE]
    store.close()


class Changed:
    """An encoder that makes other vectors than it did, under its old name."""

    def __init__(self, encoder):
        """Take the encoder that it was."""
        self.inner, self.name = encoder, encoder.name

    def encode(self, texts):
        """Return the vectors turned by five dimensions."""
        return np.roll(self.inner.encode(texts), 5, axis=1)


def test_a_repair_of_the_rows_leaves_no_snapshot_of_what_they_were(folder, changes, encoder):
    """The vectors that are made anew are those that are searched, at once and from then on."""
    write(folder, changes, encoder)
    changed = Changed(encoder)
    expected = changed.encode([changes.turns[0].indexed_text])[0]

    store = open_store(folder, changed)
    store.index(SCOPE)
    assert any(store.examine(fix=True).found.values())
    at_once = store.index(SCOPE).turns.vectors[0]
    store.close()

    store = open_store(folder, changed)
    assert np.allclose(at_once, expected, atol=1e-6)
    assert np.allclose(store.index(SCOPE).turns.vectors[0], expected, atol=1e-6)
    store.close()


def test_what_is_forgotten_is_in_no_snapshot(folder):
    """Neither while the store is open nor after it was closed; what is left is found as before."""
    with Memory(folder, "rules", encoder="hashing") as memory:
        memory.remember([{"speaker": "Ana", "text": SECRET}], user_id="ana", session_id="secret")
        memory.remember([{"speaker": "Ana", "text": "I planted a pear tree."}], user_id="ana", session_id="tree")
    assert SECRET.encode() in files(folder)[0].read_bytes()

    with Memory(folder, "rules", encoder="hashing") as memory:
        receipt = memory.forget(user_id="ana", session_id="secret")
        assert receipt.residue == []
        held = [path for path in folder.rglob("*") if path.is_file() and b"Vesperine" in path.read_bytes()]
        assert held == []

    assert not any(b"Vesperine" in path.read_bytes() for path in files(folder))
    with Memory(folder, "rules", encoder="hashing") as memory:
        assert memory.search("What did I plant?", user_id="ana").evidence
        assert memory.forget(user_id="ana").residue == []
    assert files(folder) == []


@pytest.mark.parametrize("given", [None, frozenset(), frozenset({"Ben", "Ana"})])
def test_what_a_column_depends_on_is_saved(given):
    """Nothing, no name, or several."""
    head, values = snapshots._packed_column(Column(AppendOnlyArray(np.arange(2)), given))

    read = snapshots._unpacked_column(json.loads(json.dumps(head)), values)

    assert (read.given, read.values.rows.tolist()) == (given, [0, 1])
