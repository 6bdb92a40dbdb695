"""An event is summed up by distinct topics and keywords, and by no more than it may have, however long it is."""

from hypothesis import given
from hypothesis import strategies as st

from langgraph_engram.embeddings.hashing import HashingEncoder
from langgraph_engram.memory import Memory
from langgraph_engram.segmentation.events import EventBuilder, TurnTopic, sum_up
from langgraph_engram.settings import SegmentSettings, Settings

WORDS = st.lists(st.sampled_from(["bees", "Bees", "honey", "skis", "tax", "choir", ""]), max_size=12)


@given(WORDS, WORDS, st.integers(2, 5), st.integers(0, 5))
def test_topics_and_keywords_are_distinct_and_bounded(topics, keywords, most_topics, most_keywords):
    """In whatever case they come; what there is room for is kept in order."""
    settings = SegmentSettings(most_topics=most_topics, most_keywords=most_keywords)

    told = sum_up(topics, keywords, settings)

    for kept, most in ((told["topics"], most_topics), (told["keywords"], most_keywords)):
        assert len(kept) == len({one.casefold() for one in kept}) <= most
    assert told["topics"][:1] == [one for one in topics if one][:1]


def test_an_event_that_goes_on_keeps_how_it_began_and_where_it_is(turn, event):
    """Of a long event's topics, the first and the last ones are told."""
    builder = EventBuilder("scope", SegmentSettings(most_topics=3))
    going = event(0, 0)

    for place in range(1, 9):
        going = builder.extend(going, [turn(place)], [TurnTopic(topic=f"topic {place}")])

    assert going.topics == ["topic 1", "topic 7", "topic 8"]
    assert going.summary == "topic 1; topic 7; topic 8"


def test_many_calls_in_one_event_do_not_lengthen_its_name():
    """A call names the event that it goes on with, and the name stays within its bound."""
    kept = Settings(segment=SegmentSettings(least_probability=1, most_topics=4))
    with Memory("memory:", "rules", encoder=HashingEncoder(), settings=kept) as memory:
        for place in ("garden", "harbour", "market", "museum", "chapel", "castle", "bridge"):
            said = [{"speaker": "Ana", "text": f"The {place} of Lisbon has a {place} keeper."}]
            memory.remember(said, user_id="ana", session_id="s1")

        events = memory.show("events", "ana")

    assert [len(event.turn_ids) for event in events] == [7]
    assert len(events[0].topics) == 4
    assert "bridge" in events[0].topics[-1]
