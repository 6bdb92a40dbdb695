"""A row holds a whole model."""

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from langgraph_engram.schema import Record
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
