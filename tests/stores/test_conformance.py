"""What every store does, whatever it stands on."""

import numpy as np
import pytest

from langgraph_engram.embeddings.hashing import HashingEncoder
from langgraph_engram.errors import EncoderMismatch, InvalidMessages, StoreError
from langgraph_engram.schema import Scope
from langgraph_engram.stores.base import Changes
from langgraph_engram.stores.folders import open_store

SHELVES = ("turns", "events", "boundaries", "records", "syntheses")


def held(store, scope):
    """Everything a store has of a scope, as plain values."""
    index = store.index(scope)
    shelves = {name: getattr(index, name).items for name in SHELVES}
    return shelves | {"decisions": store.decisions(scope), "pending_tasks": store.pending_tasks(scope)}


def given(changes):
    return {name: list(getattr(changes, name)) for name in (*SHELVES, "decisions", "pending_tasks")}


def test_what_is_written_is_read_field_for_field(store, scope, everything):
    """A fresh index holds what was committed, with one unit vector a thing."""
    store.commit(scope, everything)

    index = store.index(scope)

    assert held(store, scope) == given(everything)
    for name in SHELVES:
        lengths = np.linalg.norm(getattr(index, name).vectors, axis=1)
        assert lengths == pytest.approx(np.ones(len(getattr(everything, name))), abs=1e-6)


def test_an_index_grows_with_commits(store, scope, everything, turn):
    """An index asked for before a commit and one filled after it come out the same."""
    store.index(scope)

    store.commit(scope, everything)
    store.commit(scope, Changes(turns=[turn(3, "Another day.")]))

    assert [one.turn_id for one in store.index(scope).turns.items] == ["t0", "t1", "t2", "t3"]
    assert store.index(scope).turns.bm25(["dai"]).argmax() == 3


def test_an_index_handed_out_stays_as_it_is(store, scope, everything, turn):
    """A reader sees one moment, whatever is committed meanwhile."""
    store.commit(scope, everything)
    index = store.index(scope)
    scores = index.turns.bm25(["camp"])

    store.commit(scope, Changes(turns=[turn(0, "changed"), turn(3)]))

    assert len(index.turns) == len(index.turns.vectors) == 3
    assert index.turns.bm25(["camp"]).tolist() == scores.tolist()
    assert len(store.index(scope).turns) == 4


def test_committing_twice_changes_nothing(store, scope, everything):
    """The same commit again, in the index or not, leaves everything as it was."""
    store.commit(scope, everything)
    store.index(scope)

    store.commit(scope, everything)

    assert held(store, scope) == given(everything)


def test_scopes_are_apart(store, everything, turn):
    """The same ids in two scopes are two things, and no scope sees another's."""
    ana, ben = Scope(tenant="acme", user_id="ana"), Scope(user_id="ana", tenant="acme", agent_id="bot")
    store.commit(ana, everything)

    store.commit(ben, Changes(turns=[turn(0, "Ben's own")]))

    assert held(store, ana) == given(everything)
    assert [one.text for one in store.index(ben).turns.items] == ["Ben's own"]
    assert len(store.index(Scope(user_id="nobody")).turns) == 0


def test_a_change_marks_what_stands(store, scope, everything):
    """A record's status changes in place; a field that becomes unknown is unknown when it is read."""
    store.commit(scope, everything)
    first = everything.records[0].model_copy(update={"status": "superseded", "event_start": None, "keywords": []})

    store.commit(scope, Changes(changed=[first]))

    assert store.index(scope).records.items == [first, everything.records[1]]
    assert store.index(scope).records.active.tolist() == [False, True]


def test_a_thing_that_is_new_and_changed_ends_changed(store, scope, record):
    """What is marked is written after what is new."""
    marked = record(0, status="merged")

    store.commit(scope, Changes(records=[record(0)], changed=[marked]))

    assert store.index(scope).records.items == [marked]


def test_of_two_with_one_id_the_last_counts(store, scope, turn):
    """A commit may name a thing twice."""
    store.commit(scope, Changes(turns=[turn(0, "first"), turn(0, "last")]))

    assert [one.text for one in store.index(scope).turns.items] == ["last"]


def test_what_is_settled_is_no_longer_pending(store, scope, everything):
    """Settling removes, and settling what is not there is harmless."""
    store.commit(scope, everything)

    store.commit(scope, Changes(completed=["p0", "p9"]))

    assert store.pending_tasks(scope) == []


def test_what_is_removed_is_gone(store, scope, everything, turn):
    """From the index, its postings and what lies in the store; another scope keeps its own under the same id."""
    other = Scope(user_id=f"{scope.user_id}-2")
    for one in (scope, other):
        store.commit(one, everything)
        store.index(one)

    store.commit(scope, Changes(turns=[turn(3)], removed={"records": ["r0", "r9"], "turns": ["t0"]}))

    index = store.index(scope)
    assert [one.turn_id for one in index.turns.items] == ["t1", "t2", "t3"]
    assert [one.record_id for one in index.records.items] == ["r1"]
    assert (len(index.turns.vectors), len(index.turns.bm25(["camp"]))) == (3, 3)
    rows = list(store.rows(scope))
    assert {row.item_id for row in rows if row.kind in ("turns", "records")} == {"t1", "t2", "t3", "r1"}
    assert any("Ana swims." in row.texts for row in rows)
    assert held(store, other) == given(everything)


def test_a_text_that_anybody_says_is_known(store, scope, turn):
    """Whoever's it is; what is gone is said by nobody."""
    store.commit(scope, Changes(turns=[turn(0, f"The word is {scope.user_id}.")]))
    says = store.contains_text(f"The word is {scope.user_id}.")

    store.commit(scope, Changes(removed={"turns": ["t0"]}))

    assert says
    assert not store.contains_text(f"The word is {scope.user_id}.")


def test_files_keep_nothing_of_what_is_removed(durable, encoder, scope, turn):
    """An embedded store overwrites it, and goes on as before; a server's files are its own."""
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
    assert [one.turn_id for one in store.index(scope).turns.items] == ["t1", "t2"]
    store.close()


def test_half_a_character_is_refused(store, scope, turn):
    """A text that is not valid Unicode is the caller's mistake, and the store goes on."""
    with pytest.raises(InvalidMessages, match="half a character"):
        store.commit(scope, Changes(turns=[turn(0, "a \ud83d b")]))

    store.commit(scope, Changes(turns=[turn(0)]))

    assert len(store.index(scope).turns) == 1


def test_an_empty_commit_is_harmless(store, scope):
    """Nothing to write is no error."""
    store.commit(scope, Changes())

    assert set(map(len, held(store, scope).values())) == {0}


def test_each_commit_has_a_revision_of_its_own(store, scope, turn):
    """What is derived from an index can tell that it is outdated."""
    revisions = [store.index(scope).revision]

    for seq in range(3):
        store.commit(scope, Changes(turns=[turn(seq)]))
        revisions.append(store.index(scope).revision)

    assert len(set(revisions)) == 4


def test_a_closed_store_says_so(store, scope):
    """Closing twice is harmless, using it afterwards is an error of ours."""
    store.close()
    store.close()

    with pytest.raises(StoreError, match="closed"):
        store.index(scope)


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
    assert after.turns.neighbours()[0].tolist() == before.turns.neighbours()[0].tolist() == [2, 0, -1, 4, 1, -1]
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
    """The error names both encoders, and the store is as it was."""
    store = open_store(durable, encoder)
    store.commit(scope, everything)
    store.close()

    with pytest.raises(EncoderMismatch, match=r"'hashing-64'.*'hashing-32'"):
        open_store(durable, HashingEncoder(32))

    store = open_store(durable, encoder)
    assert held(store, scope) == given(everything)
    store.close()
