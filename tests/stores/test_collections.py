"""Flat metadata holds a whole model."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_engram.schema import Decision, PendingTask, Record, Turn
from langgraph_engram.stores.collections import decode, encode

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
    again = decode(Record, encode(record))

    assert again.model_dump_json() == record.model_dump_json()


@given(record=RECORDS)
def test_metadata_is_flat(record):
    """Chroma takes scalars, and None for what is to be absent."""
    values = encode(record).values()

    assert all(value is None or isinstance(value, str | int | float | bool) for value in values)


def test_a_moment_is_a_number_that_can_be_compared():
    """Milliseconds since 1970, whatever the time zone."""
    east = datetime(1970, 1, 1, 3, 0, 1, tzinfo=timezone(timedelta(hours=3)))
    turn = Turn(turn_id="t", session_id="s", seq=0, role="user", speaker="Ana", text="", said_at=east)

    assert encode(turn)["said_at"] == 1000


def test_what_is_unknown_or_empty_is_absent():
    """There is no key for it."""
    turn = Turn(turn_id="t", session_id="s", seq=0, role="user", speaker="Ana", text="Hi")

    keys = {name for name, value in encode(turn).items() if value is not None}

    assert keys == {"turn_id", "session_id", "seq", "role", "speaker", "text"}


def test_required_fields_are_stored_when_they_are_empty():
    """An empty text of a turn is a text."""
    turn = Turn(turn_id="t", session_id="s", seq=0, role="user", speaker="", text="")

    assert decode(Turn, encode(turn)) == turn


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
    assert decode(type(item), {**encode(item), "scope": "of the store"}) == item
