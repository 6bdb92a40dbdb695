"""A row holds a whole model."""

import json
from datetime import UTC, datetime, timedelta, timezone

import chromadb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_engram.schema import Decision, PendingTask, Record, Scope, Turn
from langgraph_engram.stores.collections import ITEM, decode, encode
from langgraph_engram.stores.index import PENDING_TASKS
from langgraph_engram.stores.versions import decode_flat, open_collections

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
ZONES = st.sampled_from([None, UTC, timezone(timedelta(hours=-3, minutes=-30))])
MOMENTS = st.none() | st.datetimes(timezones=ZONES, min_value=datetime(1, 1, 3), max_value=datetime(9999, 12, 29))
RECORDS = st.builds(
    Record,
    content=TEXT,
    keywords=st.lists(TEXT),
    event_start=MOMENTS,
    mentioned_at=MOMENTS,
    valid_to=MOMENTS,
    superseded_by=st.none() | TEXT,
    location=TEXT,
)


@given(record=RECORDS)
def test_a_record_comes_back_as_it_was(record):
    """To the microsecond, time zone or none included."""
    again = decode(Record, {ITEM: encode(record)})

    assert again.model_dump_json() == record.model_dump_json()


def test_what_is_as_by_default_takes_no_room():
    """Only what a turn says of itself is written."""
    turn = Turn(turn_id="t", session_id="s", seq=0, role="user", speaker="Ana", text="Hi")

    assert json.loads(encode(turn)).keys() == {"turn_id", "session_id", "seq", "role", "speaker", "text"}


def test_half_a_character_is_named():
    """The error has the text around it, for the message."""
    turn = Turn(turn_id="t", session_id="s", seq=0, role="user", speaker="Ana", text="Hi \ud83d there")

    with pytest.raises(UnicodeEncodeError) as raised:
        encode(turn)

    assert "Hi" in raised.value.object


@given(jaccard=st.floats(0, 1), cosine=st.floats(-1, 1))
def test_a_number_comes_back_exactly(jaccard, cosine):
    """To the last bit."""
    decision = Decision(decision_id="d", run_id="x", pair=[], jaccard=jaccard, cosine=cosine, action="MERGE")

    assert decode(Decision, {ITEM: encode(decision)}) == decision


def test_a_row_of_the_older_version_is_read():
    """Its fields have a key each: moments in milliseconds, those that these cannot hold as text, lists as JSON."""
    row = {
        "scope": "x", "record_id": "r", "kind": "dimensional", "content": "Ana camped.", "session_id": "s",
        "event_id": "e", "seq": 3, "part": 0, "source_turn_ids": '["t"]', "keywords": '["camp"]', "status": "active",
        "mentioned_at": 1000, "event_start": 0, "exact": '{"event_start": "1970-01-01T03:00:00+03:00"}',
    }  # fmt: skip

    record = decode_flat(Record, row)

    assert record == Record(
        record_id="r", content="Ana camped.", session_id="s", event_id="e", seq=3, source_turn_ids=["t"],
        keywords=["camp"], mentioned_at=datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC),
        event_start=datetime(1970, 1, 1, 3, tzinfo=timezone(timedelta(hours=3))),
    )  # fmt: skip


def test_required_fields_are_stored_when_they_are_empty():
    """An empty text of a turn is a text."""
    turn = Turn(turn_id="t", session_id="s", seq=0, role="user", speaker="", text="")

    assert decode(Turn, {ITEM: encode(turn)}) == turn


@pytest.mark.parametrize(
    "item",
    [
        Decision(decision_id="d", run_id="x", pair=["a", "b"], jaccard=0, cosine=1, action="KEEP_BOTH"),
        PendingTask(
            pending_id="p", run_id="x", session_id="s", turn_ids=[], step="e", reason="",
            since=datetime(2024, 1, 1, tzinfo=UTC),
        ),
    ],
    ids=lambda item: type(item).__name__,
)  # fmt: skip
def test_other_models_come_back_too(item):
    """The codec knows no model by name."""
    assert decode(type(item), {ITEM: encode(item), "scope": "of the store"}) == item


def test_no_field_of_an_older_row_stays_behind(tmp_path):
    """It is read, and the collections of the older version are gone with all that they held."""
    scope, row = Scope(user_id="ana"), {"pending_id": "p", "run_id": "x", "session_id": "s", "reason": "old words"}
    client, known = chromadb.PersistentClient(path=tmp_path), {"schema": 2, "encoder": "any"}
    turn = {"turn_id": "t", "session_id": "s", "seq": 0, "role": "user", "speaker": "Ana", "text": "Hi"}
    row |= {"turn_ids": "[]", "step": "extract", "since": 1000}
    for name, ids, metadata in (("turns", ["h:t"], turn), ("pending_tasks", ["h:p"], row)):
        older = client.create_collection(f"engram-{name}", metadata=known)
        older.add(ids=ids, embeddings=[[1.0]], metadatas=[{**metadata, "scope": scope.key}])
    client.create_collection("engram-revisions", metadata=known)
    asked = []

    collections = open_collections(client, "any", "here", asked.append)

    assert asked == [2]
    assert [task.reason for task in collections.items(scope, PENDING_TASKS)] == ["old words"]
    assert {key for row in collections.memories.get()["metadatas"] for key in row} == {"scope", "kind", ITEM}
    assert sorted(left.name for left in client.list_collections()) == ["engram-memories", "engram-revisions"]
