"""The in-process index of a scope, which all reads use."""

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from itertools import combinations
from threading import Barrier

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_engram.embeddings.base import HashingEncoder
from langgraph_engram.stores import index as of_scopes
from langgraph_engram.stores.index import RECORDS, TURNS, RecordIndex, ScopeIndex, TurnIndex
from langgraph_engram.stores.kind_index import SESSION_GAP
from tests.conftest import NOON, make_turn

ENCODER = HashingEncoder(512)


def with_items(index, *items):
    return index.with_items(items, ENCODER.encode([item.indexed_text for item in items]))


def test_an_empty_index_scores_nothing():
    """No vectors, no documents, no order: empty arrays and no error."""
    index = RecordIndex(RECORDS)

    assert index.cosine(ENCODER.encode(["camp"])[0]).shape == (0,)
    assert index.bm25(["camp"]).shape == index.order().shape == index.places.shape == (0,)
    assert index.active.shape == index.event_start.shape == (0,)


def test_records_are_found_by_their_keywords(record):
    """Keywords count beside the text."""
    index = with_items(RecordIndex(RECORDS), record(0, keywords=["tent"]), record(1))

    assert index.bm25(["tent"])[0] > 0
    assert index.bm25(["tent"])[1] == 0


def test_an_unknown_time_is_no_number(record):
    """A record may say neither when it was mentioned nor when its event was."""
    index = with_items(RecordIndex(RECORDS), record(0), record(1, mentioned_at=None))

    assert np.isnan([index.mentioned_at, index.event_end]).tolist() == [[False, True], [True, True]]


def test_order_is_time_then_session_then_id(turn):
    """Unknown times come first; a naive time is UTC; equal moments go by session, turn number and id."""
    zone = timezone(timedelta(hours=2))
    index = with_items(
        TurnIndex(TURNS),
        turn(0, turn_id="late", said_at=datetime(2024, 1, 2, 1, tzinfo=zone)),
        turn(0, turn_id="early", said_at=datetime(2024, 1, 1, 22, 30)),
        turn(5, turn_id="unknown", said_at=None),
        turn(1, turn_id="b", said_at=datetime(2024, 1, 3)),
        turn(1, turn_id="a", said_at=datetime(2024, 1, 3)),
        turn(9, turn_id="other", session_id="s0", said_at=datetime(2024, 1, 3)),
    )

    assert [index.items[at].turn_id for at in index.order()] == ["unknown", "early", "late", "other", "a", "b"]


@pytest.mark.parametrize(
    ("ask", "first"), [(TurnIndex.order, 0), (lambda index: index.places, 3)], ids=["order", "row"]
)
def test_many_threads_may_ask_at_once(turn, ask, first):
    """The first to ask puts the new items in order, or in their row, and the others find it done."""
    index = TurnIndex(TURNS).with_items([turn(seq) for seq in range(2_000)], np.ones((2_000, 1), dtype=np.float32))
    together = Barrier(4)

    def ask_together(_):
        together.wait()
        return ask(index).tolist()

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ask_together, range(4))) == [list(range(first, first + 2_000))] * 4


def test_a_place_is_found_by_its_words(record):
    """In a record's own words, inflected or not and apart, or as part of its location; stop words name no place."""
    index = with_items(
        RecordIndex(RECORDS),
        record(0, "Ana: The mountains of York are new to me."),
        record(1, "Ana: We met there.", location="New York City"),
        record(2, "Ana: The Yorkers left.", location="Newport"),
    )

    assert index.mentioning("New York").tolist() == [True, True, False]
    assert index.mentioning("mountain").tolist() == [True, False, False]
    assert index.mentioning("there").tolist() == index.mentioning(" ").tolist() == [False, False, False]
    assert RecordIndex(RECORDS).mentioning("York").shape == (0,)


def test_a_scope_index_knows_speakers_newest_and_sessions(turn):
    """Speakers by their first turn in time; a session's turns in its order."""
    turns = [
        turn(3, speaker="Ben"),
        turn(1),
        turn(2, speaker="Cem", role="assistant", session_id="s2"),
        turn(0, said_at=None),
    ]

    index = ScopeIndex().with_items(TURNS, turns, ENCODER.encode([turn.text for turn in turns]))

    assert index.turns.speakers == ["Ana", "Cem", "Ben"]
    assert index.turns.people == ["Ana", "Ben"]
    assert index.turns.newest == turns[0].said_at
    assert [turn.seq for turn in index.session_turns("s1")] == [0, 1, 3]
    assert (index.session_turns("none"), index.session_events("s1")) == ([], [])
    assert (ScopeIndex().turns.speakers, ScopeIndex().turns.newest) == ([], None)


def test_a_view_grows_with_what_is_added(turn, record, monkeypatch):
    """Beside a withdrawn turn a commit costs what it adds: no view is made of everything again."""
    unit = np.eye(2, dtype=np.float32)
    index = ScopeIndex().with_items(TURNS, [turn(0), turn(1, withdrawn="removed", withdrawn_at=NOON)], unit)
    index.as_of(None)
    monkeypatch.delattr(of_scopes, "_as_of")

    view = index.with_items(TURNS, [turn(2)], unit[:1]).with_items(RECORDS, [record(1), record(2)], unit).as_of(None)

    assert (view.turns.ids(), view.records.ids()) == (["t0", "t2"], ["r2"])


def test_a_column_is_computed_for_new_and_replaced_items_alone(turn):
    """An earlier version keeps its own; a value that it depends on makes it anew."""
    asked = []

    def length(item):
        asked.append(item.turn_id)
        return len(item.text)

    first = with_items(TurnIndex(TURNS), turn(0, "a"), turn(1, "ab"))
    assert first.column("length", length, np.intp).tolist() == [1, 2]

    second = with_items(with_items(first, turn(2, "abc")), turn(0, "abcd"))

    assert second.column("length", length, np.intp).tolist() == [4, 2, 3]
    assert first.column("length", length, np.intp).tolist() == [1, 2]
    assert asked == ["t0", "t1", "t0", "t2"]
    assert second.column("length", length, np.intp, frozenset("x")).tolist() == [4, 2, 3]
    assert len(asked) == 7


@given(
    order=st.permutations(range(12)),
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=6),
    sessions=st.lists(st.sampled_from("xyz"), min_size=12, max_size=12),
)
def test_order_and_neighbours_are_the_same_however_items_were_put(order, sizes, sessions):
    """In batches, late ones among them, each read in between: as if they were put at once and sorted."""
    turns = [make_turn(n, "a", session_id=sessions[n]) for n in order]
    index, left = TurnIndex(TURNS), list(turns)
    for size in [*sizes, 12]:
        batch, left = left[:size], left[size:]
        if batch:
            index = with_items(index, *batch)
            assert len(index.places) == len(index)

    by_time = sorted(range(12), key=lambda at: turns[at].said_at)
    assert index.order().tolist() == by_time
    of_session = {name: [at for at in by_time if turns[at].session_id == name] for name in sessions}
    for at, other in combinations(range(12), 2):
        apart = abs(int(index.places[at]) - int(index.places[other]))
        own = of_session[turns[at].session_id]
        assert apart == abs(own.index(at) - own.index(other)) if other in own else apart > SESSION_GAP
    assert index.places.min() == SESSION_GAP
