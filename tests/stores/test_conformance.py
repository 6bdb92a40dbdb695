"""What every store does, whatever its location."""

from contextlib import closing

import numpy as np
import pytest

from langgraph_engram.embeddings.base import CachingEncoder, HashingEncoder
from langgraph_engram.errors import EncoderMismatch, InvalidMessages, StoreError
from langgraph_engram.schema import Scope
from langgraph_engram.stores.base import Changes
from langgraph_engram.stores.folders import open_store
from langgraph_engram.stores.index import PENDING_TASKS, TURNS
from tests.conftest import NOON

SEARCHABLE = ("turns", "events", "boundaries", "records", "syntheses")


def held(store, scope):
    """Everything a store has of a scope, as plain values."""
    index = store.index(scope)
    items = {name: getattr(index, name).items for name in SEARCHABLE}
    return items | {"decisions": store.decisions(scope), "pending_tasks": store.pending_tasks(scope)}


def given(changes):
    return {name: list(getattr(changes, name)) for name in (*SEARCHABLE, "decisions", "pending_tasks")}


def test_what_is_written_is_read_field_for_field(store, scope, everything):
    """With one unit vector an item; the same commit again, in the index or not, and an empty one change nothing."""
    store.commit(scope, Changes())
    assert set(map(len, held(store, scope).values())) == {0}
    store.drop_index(scope)
    store.commit(scope, everything)
    store.commit(scope, everything)

    index = store.index(scope)

    assert held(store, scope) == given(everything)
    store.commit(scope, everything)
    assert held(store, scope) == given(everything)
    for name in SEARCHABLE:
        lengths = np.linalg.norm(getattr(index, name).vectors, axis=1)
        assert lengths == pytest.approx(np.ones(len(getattr(everything, name))), abs=1e-6)


def test_an_index_handed_out_stays_as_it_is(store, scope, everything, turn):
    """A reader sees one moment, whatever is committed meanwhile."""
    store.commit(scope, everything)
    index = store.index(scope)
    scores = index.turns.bm25(["camp"])

    store.commit(scope, Changes(turns=[turn(0, "changed"), turn(3)]))

    assert len(index.turns) == len(index.turns.vectors) == 3
    assert index.turns.bm25(["camp"]).tolist() == scores.tolist()
    assert len(store.index(scope).turns) == 4


def test_scopes_are_apart(store, everything, turn):
    """The same ids in two scopes are two items, and no scope sees another's."""
    ana, ben = Scope(tenant="acme", user_id="ana"), Scope(user_id="ana", tenant="acme", agent_id="bot")
    store.commit(ana, everything)

    store.commit(ben, Changes(turns=[turn(0, "Ben's own")]))

    assert held(store, ana) == given(everything)
    assert [turn.text for turn in store.index(ben).turns.items] == ["Ben's own"]
    assert len(store.index(Scope(user_id="nobody")).turns) == 0


def test_a_task_is_completed_with_what_is_written(store, scope, everything, turn):
    """It is in no list and under no id, and may be pending again; a commit that removes completes it as well.

    To complete an unknown one is harmless.
    """
    store.commit(scope, everything)

    store.commit(scope, Changes(completed=["p9"]))
    store.commit(scope, Changes(turns=[turn(3)], completed=["p0"]))
    store.drop_index(scope)
    completed = store.pending_tasks(scope), store.stored(scope, PENDING_TASKS, ["p0"])
    store.commit(scope, Changes(turns=[turn(3)], pending_tasks=everything.pending_tasks))
    store.drop_index(scope)
    again = store.pending_tasks(scope)
    store.commit(scope, Changes(turns=[turn(4)], removed={"turns": ["t0"]}, completed=["p0"]))

    assert completed == ([], {})
    assert again == list(everything.pending_tasks)
    assert (store.pending_tasks(scope), len(store.index(scope).turns)) == ([], 4)


def test_nothing_is_left_of_a_scope_whose_tasks_were_completed(store, scope, everything, turn):
    """Its rows are all gone, those of completed tasks too, and so is the scope."""
    store.commit(scope, everything)
    store.commit(scope, Changes(turns=[turn(3)], completed=["p0"]))
    others = {"events": ["e0"], "boundaries": ["b0"], "syntheses": ["y0"], "decisions": ["d0"]}

    store.commit(scope, Changes(removed={**others, "turns": ["t0", "t1", "t2", "t3"], "records": ["r0", "r1"]}))

    assert list(store.rows(scope)) == []
    assert scope not in store.scopes()


def test_what_is_removed_is_gone(store, scope, everything, turn):
    """From the index, its postings and what lies in the store; another scope keeps its own under the same id."""
    other = Scope(user_id=f"{scope.user_id}-2")
    for each in (scope, other):
        store.commit(each, everything)
        store.index(each)

    store.commit(scope, Changes(turns=[turn(4, f"The word is {scope.user_id}.")]))
    found = store.contains_text(f"The word is {scope.user_id}.")

    store.commit(scope, Changes(turns=[turn(3)], removed={"records": ["r0", "r9"], "turns": ["t0", "t4"]}))

    index = store.index(scope)
    assert [turn.turn_id for turn in index.turns.items] == ["t1", "t2", "t3"]
    assert [record.record_id for record in index.records.items] == ["r1"]
    assert (len(index.turns.vectors), len(index.turns.bm25(["camp"]))) == (3, 3)
    rows = list(store.rows(scope))
    ids = {texts[0].rpartition(":")[2] for kind, texts in rows if kind in ("turns", "records")}
    assert ids == {"t1", "t2", "t3", "r1"}
    assert any("Ana swims." in texts for _, texts in rows)
    assert held(store, other) == given(everything)
    assert found
    assert not store.contains_text(f"The word is {scope.user_id}.")


def test_files_hold_nothing_of_what_is_removed(durable, encoder, scope, turn):
    """An embedded store overwrites it, and works as before; a server's files are its own."""
    word = f"Quillhaven-{scope.user_id}"
    store = open_store(durable, encoder)
    store.commit(scope, Changes(turns=[turn(0, f"I live in {word}."), turn(1, "I keep bees.")]))
    store.commit(scope, Changes(removed={"turns": ["t0"]}))

    files = store.secure_delete(scope)

    store.commit(scope, Changes(turns=[turn(2, "I swim.")]))
    store.close()
    store = open_store(durable, encoder)
    assert bool(files) == ("://" not in durable)
    assert not [path.name for path in files if word.encode() in path.read_bytes()]
    assert [turn.turn_id for turn in store.index(scope).turns.items] == ["t1", "t2"]
    store.close()


def test_what_was_evidence_is_counted(durable, encoder, scope, event, turn):
    """A result counts one, shared by its turns; of what was forgotten since, and of who has nothing, nothing is kept.

    A folder keeps it as it is closed, a server where it is told to. More scopes than are held in memory lose the counts
    of those that were asked longest ago, and only those.
    """
    others = [Scope(user_id=str(number)) for number in range(70)]
    with closing(open_store(durable, encoder)) as store:
        for whose in (scope, others[0]):
            store.commit(whose, Changes(turns=[turn(0), turn(1), turn(2)], events=[event(0, 0), event(1, 1, 2)]))
        store.commit(scope, Changes(removed={"events": ["e1"]}))
        for whose in (*others, scope):
            store.index(whose)
            store.note_recalled(whose, {"t0", "t1"})
        store.note_recalled(scope, {"t0"})
        store.note_recalled(scope, set())
        if durable.startswith("http"):
            store.keep_recalled(scope)
            store.note_recalled(scope, {"t0"})

    with closing(open_store(durable, encoder)) as store:
        assert {event.event_id: event.recalled for event in store.index(scope).events.items} == {"e0": 1.5}
        assert {event.recalled for event in store.index(others[0]).events.items} == {0}


def test_half_a_character_is_refused(store, scope, turn):
    """A text that is not valid Unicode is the caller's mistake, and the store goes on."""
    with pytest.raises(InvalidMessages, match="half a character"):
        store.commit(scope, Changes(turns=[turn(0, "a \ud83d b")]))

    store.commit(scope, Changes(turns=[turn(0)]))

    assert len(store.index(scope).turns) == 1


def test_an_index_is_handed_out_again_by_its_revision(store, scope, turn):
    """What a run began on is there after further commits, and gone with what is removed: then it is the present one."""
    store.commit(scope, Changes(turns=[turn(0)]))
    began = store.index(scope)

    store.commit(scope, Changes(turns=[turn(1)]))
    again = store.index(scope, began.revision)
    store.commit(scope, Changes(removed={"turns": ["t0"]}))
    removed = store.index(scope, began.revision)

    assert [len(again.turns), len(store.index(scope, "unknown").turns)] == [1, 1]
    assert removed.turns.ids() == ["t1"]


def test_using_a_closed_store_is_an_error(store, scope, turn):
    """Closing twice is harmless; who is reading a page or the next one is told as well."""
    store.commit(scope, Changes(turns=[turn(0), turn(1)]))
    turns, rows = store.items(scope, TURNS), store.rows(scope)
    assert (next(turns).turn_id, next(rows)[0]) == ("t0", "turns")

    store.close()
    store.close()

    for use in (store.index, store.pending_tasks, store.drop_index, lambda _: store.scopes()):
        with pytest.raises(StoreError, match="closed"):
            use(scope)
    for left in (turns, rows):
        with pytest.raises(StoreError, match="closed"):
            next(left)


def test_a_reopened_store_has_the_same_index(durable, encoder, scope, everything, turn):
    """Order, neighbours, vectors and postings come out as they were."""
    store = open_store(durable, encoder)
    store.index(scope)
    store.commit(scope, everything)
    store.commit(scope, Changes(turns=[turn(7), turn(5), turn(6, "elsewhere", session_id="s2")]))
    before, had = store.index(scope), held(store, scope)
    store.close()

    store = open_store(durable, encoder)
    after = store.index(scope)

    assert held(store, scope) == had
    assert after.turns.order().tolist() == before.turns.order().tolist() == [2, 0, 1, 4, 5, 3]
    assert after.turns.following.tolist() == before.turns.following.tolist() == [1, 4, 0, -1, 3, -1]
    assert after.turns.vectors == pytest.approx(before.turns.vectors, abs=1e-6)
    assert after.turns.bm25(["camp", "lake"]).tolist() == before.turns.bm25(["camp", "lake"]).tolist()
    store.close()


def test_more_than_one_page_is_read_whole(durable, encoder, scope, turn):
    """A scope larger than one request comes back whole and in order."""
    store = open_store(durable, encoder)
    turns = [turn(seq, f"turn {seq}") for seq in range(2_100)]
    store.commit(scope, Changes(turns=turns))

    items = store.index(scope).turns.items

    assert items == turns
    store.close()


def test_another_encoder_is_refused(durable, encoder, scope, everything):
    """Open or not; the error names both encoders, nothing is held open, and the store is as it was."""
    store = open_store(durable, encoder)
    store.commit(scope, everything)
    with pytest.raises(EncoderMismatch, match=r"'hashing-64'.*'hashing-32'"):
        open_store(durable, HashingEncoder(32))
    store.close()

    with pytest.raises(EncoderMismatch, match=r"'hashing-64'.*'hashing-32'"):
        open_store(durable, HashingEncoder(32))

    store = open_store(durable, encoder)
    assert held(store, scope) == given(everything)
    store.close()


def test_a_commit_writes_all_rows_in_one_request(store, scope, everything, monkeypatch):
    """A message costs a request for what was said and one for what was made of it, and nothing is written in part."""
    requests = []
    memories = store._rows.memories
    upsert = type(memories).upsert

    def counted(self, ids, **rows):
        requests.append(len(ids))
        return upsert(self, ids=ids, **rows)

    monkeypatch.setattr(type(memories), "upsert", lambda self, **rows: counted(self, **rows))

    store.commit(scope, everything)

    size = sum(len(items) for items in given(everything).values())
    assert requests[0] == size
    assert all(count == 1 for count in requests[1:])  # on a server the revision


def test_an_open_event_is_found_by_its_title_or_by_all_that_was_noted(scope, event):
    """One that its keywords name has its title's vector until it is closed; one with noted topics has all of both."""
    encoded = []

    class Recorded(HashingEncoder):
        def encode(self, texts):
            encoded.extend(texts)
            return super().encode(texts)

    store = open_store("memory:", CachingEncoder(Recorded()))

    def commit(*topics, keywords, status="open"):
        title = {"topics": [*topics], "keywords": keywords, "summary": "; ".join(topics)}
        store.commit(scope, Changes(events=[event(0, 0, status=status, **title)]))

    commit("lake, tent, fire, rain", keywords=["lake", "tent", "fire", "rain", "Oslo"])
    commit("lake, tent, fire, rain", keywords=["lake", "tent", "fire", "rain", "Oslo", "fish"])
    commit("lake, tent, fire, rain", keywords=["lake", "tent", "fire", "rain", "Oslo", "fish"], status="closed")
    commit("a tent", "rain", keywords=["lake"])

    assert encoded == ["lake, tent, fire, rain", "lake, tent, fire, rain (Oslo, fish)", "a tent; rain (lake)"]


def test_equal_ids_of_two_kinds_are_two_rows_and_of_one_kind_the_last_counts(store, scope, turn, record):
    """A record may be called as a turn is, and be new and changed in one commit; a commit may name a turn twice.

    A field that becomes unknown is unknown when it is read.
    """
    said, new = turn(0, "last"), record(0, record_id=turn(0).turn_id, event_start=NOON, keywords=["lake"])
    merged = new.model_copy(update={"status": "merged", "event_start": None, "keywords": []})

    store.commit(scope, Changes(turns=[turn(0, "first"), said], records=[new], changed=[merged]))
    store.commit(scope, Changes(records=[record(1)]))
    index = store.index(scope)
    store.drop_index(scope)

    for held_index in (index, store.index(scope)):
        assert held_index.turns.items == [said]
        assert held_index.records.items == [merged, record(1)]
        assert held_index.records.active.tolist() == [False, True]
