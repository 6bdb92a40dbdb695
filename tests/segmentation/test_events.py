"""Buffers partition turns; an event's summary is distinct and bounded."""

from hypothesis import given
from hypothesis import strategies as st

from langgraph_engram.segmentation.events import EventBuilder, SummaryLimits, TurnTopic, buffers, summarize_event

WORDS = st.lists(st.sampled_from(["bees", "Bees", "honey", "skis", "tax", "choir", ""]), max_size=12)


@given(WORDS, WORDS, st.integers(2, 5), st.integers(0, 5))
def test_topics_and_keywords_are_distinct_and_bounded(topics, keywords, max_topics, max_keywords):
    """In whatever case they come; what there is room for is kept in order."""
    summary = summarize_event(topics, keywords, SummaryLimits(max_topics, max_keywords))

    for kept, most in ((summary["topics"], max_topics), (summary["keywords"], max_keywords)):
        assert len(kept) == len({text.casefold() for text in kept}) <= most
    assert summary["topics"][:1] == [topic for topic in topics if topic][:1]


def test_an_event_that_goes_on_keeps_how_it_began_and_where_it_is(turn, event):
    """Of a long event's topics, the first and the last ones are kept."""
    builder = EventBuilder("scope", SummaryLimits(topics=3))
    extended = event(0, 0)

    for seq in range(1, 9):
        extended = builder.extend(extended, [turn(seq)], [TurnTopic(topic=f"topic {seq}")])

    assert extended.topics == ["topic 1", "topic 7", "topic 8"]
    assert extended.summary == "topic 1; topic 7; topic 8"


@given(st.lists(st.integers(0, 900), max_size=60))
def test_buffers_partition_and_respect_the_limit(sizes):
    """A buffer holds at most 512 tokens, or one turn."""
    spans = buffers(sizes, 512)

    assert [turn for start, end in spans for turn in range(start, end)] == list(range(len(sizes)))
    assert all(sum(sizes[start:end]) <= 512 or end - start == 1 for start, end in spans)
