"""Windows and buffers partition turns as the papers say; an event's summary is distinct and bounded."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_engram.embeddings.base import HashingEncoder
from langgraph_engram.memory import Memory
from langgraph_engram.segmentation.events import (
    EventBuilder,
    TurnTopic,
    buffers,
    limited_starts,
    summarize_event,
    windows,
)
from langgraph_engram.settings import SegmentSettings, Settings

WORDS = st.lists(st.sampled_from(["bees", "Bees", "honey", "skis", "tax", "choir", ""]), max_size=12)


@given(WORDS, WORDS, st.integers(2, 5), st.integers(0, 5))
def test_topics_and_keywords_are_distinct_and_bounded(topics, keywords, most_topics, most_keywords):
    """In whatever case they come; what there is room for is kept in order."""
    settings = SegmentSettings(most_topics=most_topics, most_keywords=most_keywords)

    summary = summarize_event(topics, keywords, settings)

    for kept, most in ((summary["topics"], most_topics), (summary["keywords"], most_keywords)):
        assert len(kept) == len({text.casefold() for text in kept}) <= most
    assert summary["topics"][:1] == [topic for topic in topics if topic][:1]


def test_an_event_that_goes_on_keeps_how_it_began_and_where_it_is(turn, event):
    """Of a long event's topics, the first and the last ones are kept."""
    builder = EventBuilder("scope", SegmentSettings(most_topics=3))
    extended = event(0, 0)

    for seq in range(1, 9):
        extended = builder.extend(extended, [turn(seq)], [TurnTopic(topic=f"topic {seq}")])

    assert extended.topics == ["topic 1", "topic 7", "topic 8"]
    assert extended.summary == "topic 1; topic 7; topic 8"


def test_many_calls_in_one_event_do_not_lengthen_its_name():
    """A call names the event that it goes on with, and the name stays within its bound."""
    settings = Settings(segment=SegmentSettings(least_probability=1, most_topics=4))
    with Memory("memory:", "rules", encoder=HashingEncoder(), settings=settings) as memory:
        for place in ("garden", "harbour", "market", "museum", "chapel", "castle", "bridge"):
            said = [{"speaker": "Ana", "text": f"The {place} of Lisbon has a {place} keeper."}]
            memory.remember(said, user_id="ana", session_id="s1")

        events = memory.show("events", "ana")

    assert [len(event.turn_ids) for event in events] == [7]
    assert len(events[0].topics) == 4
    assert "bridge" in events[0].topics[-1]


@pytest.mark.parametrize(
    ("count", "spans"),
    [
        (0, []),
        (10, [(0, 10)]),
        (15, [(0, 15)]),
        (16, [(0, 15), (12, 16)]),
        (27, [(0, 15), (12, 27)]),
        (28, [(0, 15), (12, 27), (24, 28)]),
    ],
)
def test_windows_of_fifteen_with_three_shared(count, spans):
    """DimMem's windows for LongMemEval: W 15, O 3."""
    assert windows(count, 15, 3) == spans


@given(st.integers(0, 200), st.integers(1, 40), st.integers(0, 60))
def test_windows_cover_every_turn_and_end_at_the_last(count, window, overlap):
    """Whatever the sizes, no turn is left out and every window is needed."""
    spans = windows(count, window, overlap)

    assert sorted({turn for start, end in spans for turn in range(start, end)}) == list(range(count))
    assert all(end - start <= window for start, end in spans)
    assert [end for _, end in spans[:-1]] == sorted({end for _, end in spans[:-1]})
    assert not spans or spans[-1][1] == count


@given(st.lists(st.integers(0, 900), max_size=60))
def test_buffers_partition_and_respect_the_limit(sizes):
    """A buffer holds at most 512 tokens, or one turn."""
    spans = buffers(sizes, 512)

    assert [turn for start, end in spans for turn in range(start, end)] == list(range(len(sizes)))
    assert all(sum(sizes[start:end]) <= 512 or end - start == 1 for start, end in spans)


@given(st.sets(st.integers(0, 60)), st.integers(1, 60), st.integers(0, 9), st.integers(2, 10))
def test_no_event_grows_beyond_the_limit(cuts, count, held, most):
    """An event is closed at its limit, that which an earlier call left open included."""
    starts = limited_starts(sorted(cuts), count, held, most)

    sizes = [end - start for start, end in zip(starts, [*starts[1:], count], strict=True)]
    assert starts[0] == 0
    assert max(sizes) <= most
    assert {cut for cut in cuts if cut < count and cut > 0} <= set(starts)
    assert 0 in cuts or len(starts) == 1 or sizes[0] + held <= max(most, held + 1)
