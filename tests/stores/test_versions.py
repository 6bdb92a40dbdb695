"""A store of an older version is copied and migrated; one moves to another encoder; what is cut off harms nothing.

`tests/data/store-schema-2.tar.xz` is a store that commit 8e5b68a wrote with `HashingEncoder(16)` and the rules: three
sessions of Ana, who moves from Quillhaven to Brontavia to Zephyrmoor, and a turn of Cy, without its checkpoints.
`store-schema-3.tar.xz` is the same one as commit ab0384d migrated it.
"""

import tarfile
from pathlib import Path

import chromadb
import pytest

from langgraph_engram.cli.main import run
from langgraph_engram.embeddings.base import HashingEncoder
from langgraph_engram.errors import (
    EncoderMismatch,
    EncoderUnavailable,
    InvalidInput,
    StoreError,
    StoreLocked,
    StoreOutdated,
)
from langgraph_engram.formats.export import export_file
from langgraph_engram.integrations.store import EngramStore
from langgraph_engram.memory import Memory
from langgraph_engram.schema import Scope
from langgraph_engram.stores.base import Changes
from langgraph_engram.stores.collections import KINDS, unused_collections
from langgraph_engram.stores.folders import open_store
from langgraph_engram.stores.index import DECISIONS
from langgraph_engram.stores.reembed import reembed

DATA = Path(__file__).parents[1] / "data"
OLD, NEW = HashingEncoder(16), HashingEncoder(24)


@pytest.fixture(params=[2, 3])
def version(request):
    """The schema of an older store."""
    return request.param


@pytest.fixture
def older(tmp_path, version):
    """The folder of an older store."""
    with tarfile.open(DATA / f"store-schema-{version}.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / f"store-schema-{version}"


def vectors(folder, kind):
    """Return the vectors of an older store by the ids of their items."""
    client = chromadb.PersistentClient(path=folder)
    rows = client.get_collection(f"engram-{kind}").get(include=["embeddings"])
    client.close()
    return {key.partition(":")[2]: vector.tolist() for key, vector in zip(rows["ids"], rows["embeddings"], strict=True)}


def exported(folder, encoder, name):
    store = open_store(folder, encoder)
    export_file(store, folder.parent / name, everyone=True)
    store.close()
    return (folder.parent / name).read_bytes()


def test_an_older_store_is_copied_then_migrated(older, version, caplog):
    """All of it is there, it can be written, the copy is of the old version, and it is not made twice."""
    with Memory(older, "rules", encoder=OLD) as memory:
        found = memory.search("Where does Ana live?", user_id="ana").evidence[0].text
        memory.remember([{"speaker": "Ana", "text": "I live in Mistelgau."}], user_id="ana", session_id="new")
        counts = [len(memory.show(kind, "ana")) for kind in ("turns", "events", "decisions")]
    with Memory(older, "rules", encoder=OLD) as memory:
        unused = unused_collections(memory.store._collections)

    assert unused == []
    assert "Zephyrmoor" in found
    assert counts == [7, 7, 3]
    assert "a copy is" in caplog.text
    copies = [path.name for path in older.parent.iterdir()]
    copy = f"{older.name}-schema-{version}"
    assert sorted(copies) == [older.name, copy]
    with pytest.raises(StoreOutdated, match=f"schema {version}"):
        open_store(older.with_name(copy), OLD, migrate=False)


def test_vectors_are_migrated_as_they_are(older):
    """No text is encoded again."""
    before = vectors(older, "turns")
    store = open_store(older, OLD)

    index = store.index(Scope(user_id="ana")).turns

    assert index.vectors.tolist() == [before[item.turn_id] for item in index.items]
    store.close()


def test_a_migration_that_was_cut_off_is_done_again(older, monkeypatch):
    """From the start; the first copy stays: it is the one of the store as it was."""
    modify = chromadb.Collection.modify

    def fail_at_the_switch(self, *arguments, **options):
        if self.name == "engram-revisions":
            raise chromadb.errors.InternalError("no space")
        return modify(self, *arguments, **options)

    monkeypatch.setattr(chromadb.Collection, "modify", fail_at_the_switch)
    with pytest.raises(StoreError, match="no space"):
        open_store(older, OLD)
    monkeypatch.undo()

    store = open_store(older, OLD)

    assert len(store.index(Scope(user_id="ana")).turns) == 6
    assert store.scopes() == [Scope(user_id="ana"), Scope(user_id="cy")]
    store.close()


def test_a_migration_that_was_cut_off_after_the_switch_leaves_nothing(older, monkeypatch):
    """The next to open the store drops the older collections, which hold words of everybody."""
    delete = chromadb.api.client.Client.delete_collection

    def fail_after_the_switch(self, name):
        if name == "engram-turns":
            raise chromadb.errors.InternalError("no space")
        delete(self, name)

    monkeypatch.setattr(chromadb.api.client.Client, "delete_collection", fail_after_the_switch)
    with pytest.raises(StoreError, match="no space"):
        open_store(older, OLD)
    monkeypatch.undo()

    store = open_store(older, OLD)

    assert unused_collections(store._collections) == []
    assert len(store.index(Scope(user_id="ana")).turns) == 6
    store.close()


class Unreachable:
    """An encoder that is out of reach."""

    name = OLD.name

    def encode(self, texts):
        """Fail."""
        raise EncoderUnavailable("no weights")


def test_a_store_without_vectors_is_migrated_whole(older):
    """Its decisions are kept, and it can be written; where the encoder is out of reach it stays as it was."""
    client = chromadb.PersistentClient(path=older)
    for kind in KINDS:
        rows = client.get_collection(f"engram-{kind.name}", embedding_function=None)
        if kind is not DECISIONS and rows.count():
            rows.delete(ids=rows.get()["ids"])
    decisions = client.get_collection("engram-decisions", embedding_function=None).count()
    client.close()

    with pytest.raises(EncoderUnavailable, match="no weights"):
        open_store(older, Unreachable())

    store = open_store(older, OLD)
    assert len(store.decisions(Scope(user_id="ana"))) == decisions > 0
    store.close()
    with Memory(older, "rules", encoder=OLD) as memory:
        assert memory.remember([{"speaker": "Ana", "text": "I live in Mistelgau."}], user_id="ana").stored_turns == 1


def test_a_version_that_is_unknown_is_refused(older):
    """A newer version's store is left alone."""
    store = open_store(older, OLD)
    root = store._collections.revisions
    root.modify(metadata={**root.metadata, "schema": 9})
    store.close()

    with pytest.raises(StoreError, match="schema 9"):
        open_store(older, OLD)


def test_a_store_is_moved_to_another_encoder(older):
    """Nothing but the vectors changes, the old encoder is refused from then on, and nothing unused is left."""
    before = exported(older, OLD, "before.jsonl")

    receipt = reembed(str(older), NEW)

    assert (receipt.before, receipt.after) == ("hashing-16", "hashing-24")
    assert exported(older, NEW, "after.jsonl") == before
    with pytest.raises(EncoderMismatch, match="hashing-24"):
        open_store(older, OLD)
    store = open_store(older, NEW)
    assert store.index(Scope(user_id="ana")).turns.vectors.shape == (6, 24)
    assert unused_collections(store._collections) == []
    store.close()
    assert reembed(str(older), NEW).items == 0
    assert reembed(str(older), OLD).items == receipt.items
    assert exported(older, OLD, "back.jsonl") == before


class Interrupted(Exception):
    """The process dies."""


@pytest.mark.parametrize("step", ["encoding", "switched"])
def test_a_move_that_is_cut_off_leaves_a_store_that_opens(older, step):
    """With the old encoder before the switch, with the new one after it; the next move clears up."""
    before = exported(older, OLD, "before.jsonl")

    def die(reached, done, total):
        if reached == step:
            raise Interrupted

    with pytest.raises(Interrupted):
        reembed(str(older), NEW, die)

    valid = NEW if step == "switched" else OLD
    assert exported(older, valid, "after.jsonl") == before
    store = open_store(older, valid)
    assert unused_collections(store._collections) != []
    store.close()
    reembed(str(older), NEW)
    assert exported(older, NEW, "again.jsonl") == before
    store = open_store(older, NEW)
    assert unused_collections(store._collections) == []
    store.close()


def test_items_of_langgraphs_store_are_no_leftovers(older):
    """They share the folder, and are not touched."""
    open_store(older, OLD).close()
    with EngramStore(older, encoder=OLD) as items:
        items.put(("a",), "key", {"text": "tea"})

    reembed(str(older), NEW)

    with EngramStore(older, encoder=OLD) as items:
        assert items.search(("a",), query="tea")[0].key == "key"


def test_what_cannot_be_moved_is_said(older, tmp_path):
    """A store that is open here, a folder that is none, a folder without memories."""
    with Memory(older, "rules", encoder=OLD), pytest.raises(StoreLocked, match="close it first"):
        reembed(str(older), NEW)
    with pytest.raises(InvalidInput, match="no store"):
        reembed(str(tmp_path / "nothing"), NEW)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidInput, match="no memory"):
        reembed(str(tmp_path / "empty"), NEW)


def test_a_server_is_moved_and_a_writer_meanwhile_is_noticed(server, turn, scope):
    """The old vectors stay in use if anybody wrote."""
    store = open_store(server, HashingEncoder(64))
    store.commit(scope, Changes(turns=[turn(0)]))

    def write(step, done, total):
        if step == "encoding":
            store.commit(scope, Changes(turns=[turn(1)]))

    with pytest.raises(StoreError, match="written to meanwhile"):
        reembed(server, NEW, write)
    assert len(store.index(scope).turns) == 2
    store.close()
    reembed(server, NEW)

    moved = open_store(server, NEW)
    assert moved.index(scope).turns.vectors.shape == (2, 24)
    moved.close()
    reembed(server, HashingEncoder(64))


def test_the_command_line_moves_a_store(older, version, capsys):
    """And says with which encoder it opens from now on."""
    assert run(["reembed", "hashing", "--store", str(older)]) == 1
    assert f"schema {version}" in capsys.readouterr().err
    open_store(older, OLD).close()

    assert run(["reembed", "hashing", "--store", str(older)]) == 0

    assert "ENGRAM_ENCODER=hashing" in capsys.readouterr().out
    assert run(["reembed", "hashing", "--store", str(older)]) == 0
    assert "nothing to do" in capsys.readouterr().out
