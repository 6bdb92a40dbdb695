"""A store moves to another encoder; what is cut off harms nothing."""

import pytest

from langgraph_engram.cli.main import run
from langgraph_engram.embeddings.base import HashingEncoder
from langgraph_engram.errors import EncoderMismatch, InvalidInput, StoreError, StoreLocked
from langgraph_engram.formats.export import export_file
from langgraph_engram.integrations.store import EngramStore
from langgraph_engram.memory import Memory
from langgraph_engram.schema import Scope
from langgraph_engram.stores.base import Changes
from langgraph_engram.stores.folders import open_store
from langgraph_engram.stores.reembed import reembed
from langgraph_engram.stores.rows import unused_collections

OLD, NEW = HashingEncoder(16), HashingEncoder(24)
MOVES = ("Quillhaven", "Brontavia", "Zephyrmoor")


@pytest.fixture
def older(tmp_path):
    """A folder with three sessions of Ana, who moves, and a turn of Cy, made with the older encoder."""
    with Memory(tmp_path / "older", "rules", encoder=OLD) as memory:
        for city in MOVES:
            memory.remember([{"speaker": "Ana", "text": f"I live in {city}."}], user_id="ana", session_id=city)
        memory.remember([{"speaker": "Cy", "text": "I keep bees."}], user_id="cy", session_id="s")
    return tmp_path / "older"


def exported(folder, encoder, name):
    store = open_store(folder, encoder)
    export_file(store, folder.parent / name, everyone=True)
    store.close()
    return (folder.parent / name).read_bytes()


def test_a_store_is_moved_to_another_encoder(older):
    """Nothing but the vectors changes, the old encoder is refused from then on, and nothing unused is left."""
    before = exported(older, OLD, "before.jsonl")

    receipt = reembed(str(older), NEW)

    assert (receipt.before, receipt.after) == ("hashing-16", "hashing-24")
    assert exported(older, NEW, "after.jsonl") == before
    with pytest.raises(EncoderMismatch, match="hashing-24"):
        open_store(older, OLD)
    store = open_store(older, NEW)
    assert store.index(Scope(user_id="ana")).turns.vectors.shape == (3, 24)
    assert unused_collections(store._rows) == []
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
    assert unused_collections(store._rows) != []
    store.close()
    reembed(str(older), NEW)
    assert exported(older, NEW, "again.jsonl") == before
    store = open_store(older, NEW)
    assert unused_collections(store._rows) == []
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


def test_the_command_line_moves_a_store(older, capsys):
    """And says with which encoder it opens from now on."""
    assert run(["reembed", "hashing", "--store", str(older)]) == 0

    assert "ENGRAM_ENCODER=hashing" in capsys.readouterr().out
    assert run(["reembed", "hashing", "--store", str(older)]) == 0
    assert "nothing to do" in capsys.readouterr().out
