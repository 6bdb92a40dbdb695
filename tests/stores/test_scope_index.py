"""Shelves: what nodes read of a scope."""

from datetime import datetime, timedelta, timezone

import numpy as np
import pytest

from langgraph_engram.embeddings.hashing import HashingEncoder
from langgraph_engram.schema import Synthesis
from langgraph_engram.stores.index import RECORDS, SYNTHESES, TURNS, KindIndex, RecordIndex, ScopeIndex, TurnIndex

ENCODER = HashingEncoder(512)


def shelved(shelf, *items):
    shelf.put(items, ENCODER.encode([item.indexed_text for item in items]))
    return shelf


def test_things_are_found_by_id_and_position(turn):
    """A thing stands where it was first put."""
    shelf = shelved(shelved(TurnIndex(TURNS), turn(0), turn(1)), turn(2))

    assert len(shelf) == 3
    assert "t1" in shelf
    assert shelf.get("t9") is None
    assert shelf.items[shelf.position("t2")] is shelf.get("t2")
    with pytest.raises(KeyError):
        shelf.position("t9")


def test_vectors_stay_one_contiguous_block(turn):
    """One float32 row a thing, however it was put."""
    shelf = TurnIndex(TURNS)

    for seq in range(9):
        shelved(shelf, turn(seq, f"text {seq}"))

    assert (shelf.vectors.shape, shelf.vectors.dtype) == ((9, 512), np.float32)
    assert shelf.vectors.flags.c_contiguous


def test_an_empty_shelf_scores_nothing():
    """No vectors, no documents, no order: empty arrays and no error."""
    shelf = RecordIndex(RECORDS)

    assert shelf.cosine(ENCODER.encode(["camp"])[0]).shape == (0,)
    assert shelf.bm25(["camp"]).shape == shelf.order().shape == shelf.neighbours()[0].shape == (0,)
    assert shelf.active.shape == shelf.event_start.shape == (0,)


def test_scores_are_in_the_order_of_items(turn):
    """Cosine and BM25 are highest for the thing that says what is asked."""
    shelf = shelved(TurnIndex(TURNS), turn(0, "piano"), turn(1, "camping"), turn(2, "soup"))

    assert shelf.bm25(["camp"]).argmax() == 1
    assert shelf.cosine(ENCODER.encode(["camping"])).argmax() == 1
    assert shelf.cosine(shelf.vectors[1])[1] == pytest.approx(1)


def test_replacing_changes_text_and_vector_in_place(turn):
    """The old text is no longer found."""
    shelf = shelved(TurnIndex(TURNS), turn(0, "piano"), turn(1, "camping"))

    shelved(shelf, turn(0, "soup"))

    assert [item.text for item in shelf.items] == ["soup", "camping"]
    assert shelf.bm25(["piano"]).tolist() == [0, 0]
    assert shelf.bm25(["soup"])[0] > 0
    assert shelf.vectors[0] == pytest.approx(ENCODER.encode(["Ana: soup"])[0])


def test_records_are_found_by_their_keywords(record):
    """Keywords count beside the text."""
    shelf = shelved(RecordIndex(RECORDS), record(0, keywords=["tent"]), record(1))

    assert shelf.bm25(["tent"])[0] > 0
    assert shelf.bm25(["tent"])[1] == 0


def test_order_is_time_then_place_then_id(turn):
    """Unknown times come first; a naive time is UTC; equal moments go by session, place and id."""
    zone = timezone(timedelta(hours=2))
    shelf = shelved(
        TurnIndex(TURNS),
        turn(0, turn_id="late", said_at=datetime(2024, 1, 2, 1, tzinfo=zone)),
        turn(0, turn_id="early", said_at=datetime(2024, 1, 1, 22, 30)),
        turn(5, turn_id="unknown", said_at=None),
        turn(1, turn_id="b", said_at=datetime(2024, 1, 3)),
        turn(1, turn_id="a", said_at=datetime(2024, 1, 3)),
        turn(9, turn_id="other", session_id="s0", said_at=datetime(2024, 1, 3)),
    )

    assert [shelf.items[at].turn_id for at in shelf.order()] == ["unknown", "early", "late", "other", "a", "b"]


def test_neighbours_stay_within_a_session(turn):
    """Sessions that interleave in time do not become neighbours."""
    shelf = shelved(
        TurnIndex(TURNS), turn(2), turn(0), turn(1, turn_id="x", session_id="s2"), turn(3, turn_id="y", session_id="s2")
    )

    before, after = shelf.neighbours()

    assert before.tolist() == [1, -1, -1, 2]
    assert after.tolist() == [-1, 0, 3, -1]


def test_order_follows_changes(turn):
    """What was derived before a change is not given after it."""
    shelf = shelved(TurnIndex(TURNS), turn(1), turn(2))
    assert shelf.order().tolist() == [0, 1]

    shelved(shelf, turn(0))

    assert shelf.order().tolist() == [2, 0, 1]
    assert shelf.neighbours()[0].tolist() == [2, 0, -1]


def test_syntheses_have_no_neighbours():
    """They span sessions."""
    syntheses = [Synthesis(synthesis_id=name, text="Ana swims.", covered_record_ids=[]) for name in "ab"]
    shelf = shelved(KindIndex(SYNTHESES), *syntheses)

    assert [side.tolist() for side in shelf.neighbours()] == [[-1, -1], [-1, -1]]


def test_columns_of_records(record):
    """Status and seconds in the order of items; nan for what is unknown."""
    start = datetime(1970, 1, 1, 0, 1)
    shelf = shelved(
        RecordIndex(RECORDS),
        record(0, event_start=start, status="merged"),
        record(1, mentioned_at=None),
    )

    assert shelf.active.tolist() == [False, True]
    assert shelf.event_start.tolist() == pytest.approx([60, np.nan], nan_ok=True)
    assert np.isnan(shelf.mentioned_at).tolist() == [False, True]
    assert np.isnan(shelf.event_end).all()


def test_an_index_tells_speakers_newest_and_sessions(turn):
    """Speakers by their first turn in time; a session's turns by their place in it."""
    turns = [turn(3, speaker="Ben"), turn(1), turn(2, speaker="Cem", session_id="s2"), turn(0, said_at=None)]

    index = ScopeIndex().put(TURNS, turns, ENCODER.encode([one.text for one in turns]))

    assert index.speakers == ["Ana", "Cem", "Ben"]
    assert index.newest == turns[0].said_at
    assert [one.seq for one in index.session_turns("s1")] == [0, 1, 3]
    assert (index.session_turns("none"), index.session_events("s1")) == ([], [])
    assert (ScopeIndex().speakers, ScopeIndex().newest) == ([], None)


def test_a_long_narrative_is_found_by_its_sentences():
    """Its vector is theirs; a short one has its own."""
    short = Synthesis(synthesis_id="y", text="Ana moved. Ben stayed.", covered_record_ids=[])
    long = short.model_copy(update={"text": "Ana walked along the shore for a while. " * 30})

    assert SYNTHESES.texts_of(short) == [short.text]
    assert SYNTHESES.texts_of(long) == ["Ana walked along the shore for a while."] * 30
