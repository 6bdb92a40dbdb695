"""A row holds a whole model."""

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_engram.schema import Decision, Record, Turn
from langgraph_engram.stores.rows import ITEM, decode, encode

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
