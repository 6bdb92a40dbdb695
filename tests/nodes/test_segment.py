"""Every strategy yields events that partition the turns; an open event goes on, and sessions are never crossed."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from langgraph_engram.embeddings.base import HashingEncoder
from langgraph_engram.nodes.segment import Segment
from langgraph_engram.presets import PRESETS, preset
from langgraph_engram.prompts.track_topics import TopicNote, TopicTrack
from langgraph_engram.rule_model.model import RuleModel
from langgraph_engram.schema import Scope, Turn
from langgraph_engram.settings import SegmentSettings
from langgraph_engram.state import RememberRequest
from langgraph_engram.stores.base import Changes
from langgraph_engram.stores.folders import open_store
from langgraph_engram.testing import FakeModel


@pytest.fixture
def segment(store, to_remember, turn):
    """Segment turns of session s1 from this number on; the events are committed."""

    def run(model, *texts, first=0, close=False, **chosen):
        turns = [turn(seq, text) for seq, text in enumerate(texts, start=first)]
        request = to_remember(close_session=close)
        step = Segment(store, model, SegmentSettings(**{"judge": "labels", **chosen}))
        update = step({"request": request, "run_id": "run", "session_ids": ["s1"], "turns": turns})
        store.commit(request.scope, Changes(turns=turns, events=update["events"], boundaries=update["boundaries"]))
        return update

    return run


def notes(*labels):
    """Note of each turn what it is about: a shift opens another subject."""
    topic, found = 0, []
    for number, label in enumerate(labels, start=1):
        topic += label == "topic_shift"
        found.append(
            TopicNote(turn=number, topic=f"subject{topic}", keywords=[f"word{topic}"], label=label, confidence=1)
        )
    return TopicTrack(notes=found)


def test_a_shift_opens_an_event(segment):
    """Two subjects are two events: the first is closed, the second stays open, and a boundary leads to each."""
    model = FakeModel([notes("direct_resp", "direct_resp", "topic_shift", "direct_resp")])

    update = segment(model, "a", "b", "c", "d")

    first, second = update["events"]
    assert (first.turn_ids, second.turn_ids) == (["t0", "t1"], ["t2", "t3"])
    assert (first.status, second.status) == ("closed", "open")
    assert second.context_turn_ids == ["t0", "t1"]
    assert [(boundary.kind, boundary.to_event_id) for boundary in update["boundaries"]] == [
        ("opening", first.event_id),
        ("topic", second.event_id),
    ]


def test_an_open_event_goes_on(segment):
    """The next call extends it under the same id, and describes no boundary again."""
    (opened,) = segment(FakeModel([notes("direct_resp")]), "a")["events"]

    update = segment(FakeModel([notes("direct_resp")]), "b", first=1)

    (extended,) = update["events"]
    assert (extended.event_id, extended.turn_ids) == (opened.event_id, ["t0", "t1"])
    assert update["boundaries"] == []


def test_a_shift_in_the_next_call_closes_the_open_event(segment):
    """The first turn of a call may begin an event; the one before it ends."""
    (opened,) = segment(FakeModel([notes("direct_resp")]), "a")["events"]

    events = segment(FakeModel([notes("topic_shift", "direct_resp")]), "b", "c", first=1)["events"]

    assert [(event.turn_ids, event.status) for event in events] == [(["t0"], "closed"), (["t1", "t2"], "open")]
    assert events[0].event_id == opened.event_id


def test_closing_ends_the_open_event_without_a_new_turn(segment):
    """A session that is closed has no open event."""
    segment(FakeModel([notes("direct_resp")]), "a")

    (closed,) = segment(FakeModel(), close=True)["events"]

    assert (closed.status, closed.turn_ids) == ("closed", ["t0"])


def test_topics_that_fail_leave_one_event(segment):
    """Without labels there is no cut; nothing is lost, the events have names, and the failure is reported."""
    update = segment(FakeModel(), "Bees give honey", "ok", "Then I met Runa")

    (event,), (failure,) = update["events"], update["failures"]
    assert event.turn_ids == failure.turn_ids == ["t0", "t1", "t2"]
    assert (failure.step, failure.run_id) == ("segment", "run")
    assert "Runa" in event.summary
    assert update["boundaries"][0].text == f"The conversation opens with Ana on {event.summary}."


def test_a_candidate_that_is_not_judged_is_pending(segment):
    """ES-Mem's question fails for one turn: no cut there, and its turn is pending."""
    topics = [notes(label) for label in ("direct_resp", "topic_shift")]

    update = segment(FakeModel(topics), "a", "b", topic_chunk=1, judge="question")

    assert [event.turn_ids for event in update["events"]] == [["t0", "t1"]]
    assert [task.turn_ids for task in update["failures"]] == [["t1"]]


def test_a_boundary_that_is_not_described_is_pending(segment):
    """The text is made of topics and speakers; the event's turns are pending."""
    update = segment(FakeModel([notes("direct_resp")]), "a", describe="question")

    (boundary,), (failure,) = update["boundaries"], update["failures"]
    assert boundary.text == "The conversation opens with Ana on subject0."
    assert failure.turn_ids == ["t0"]


def test_windows_have_names_and_boundaries_without_a_model(segment):
    """Where boundaries are described, events that no model named are named by their keywords."""
    model = FakeModel()

    update = segment(model, "Bees give honey", "Runa skis", strategy="window", judge="learned", window=1, overlap=0)

    first, second = update["events"]
    assert ("honey" in first.summary, "skis" in second.summary) == (True, True)
    assert [boundary.text for boundary in update["boundaries"]] == [
        f"The conversation opens with Ana on {first.summary}.",
        f"After {first.summary}, Ana brings up {second.summary}.",
    ]
    assert model.asked == []


def test_a_session_that_follows_another_is_led_to_by_a_break(store, to_remember, turn):
    """The boundary before a session's first event crosses the gap, and holds how long it was."""
    step = Segment(store, RuleModel(), SegmentSettings())
    for number, session in enumerate(("s1", "s2")):
        request = to_remember(close_session=True)
        said = turn(number, turn_id=f"x{number}", session_id=session)
        update = step({"request": request, "run_id": "run", "session_ids": [session], "turns": [said]})
        store.commit(request.scope, Changes(turns=[said], events=update["events"], boundaries=update["boundaries"]))

    (boundary,) = update["boundaries"]
    assert (boundary.kind, boundary.gap_seconds) == ("session_break", 60)
    assert boundary.from_event_id is not None


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from(sorted(PRESETS)),
    st.lists(
        st.lists(st.sampled_from(["By the way, I ski.", "ok", "I ski a lot.", "Why?", ""]), max_size=7), max_size=4
    ),
)
def test_events_partition_the_turns_of_a_session(name, calls):
    """Whatever the strategy and however the turns come in, each turn is the core of one event, in order."""
    store, scope = open_store("memory:", HashingEncoder(16)), Scope(user_id="u")
    step = Segment(store, RuleModel(), preset(name).segment)
    sent = 0
    for texts in calls:
        turns = [
            Turn(turn_id=f"t{seq}", session_id="s", seq=seq, role="user", speaker="A", text=text)
            for seq, text in enumerate(texts, start=sent)
        ]
        sent += len(turns)
        update = step({"request": RememberRequest(user_id="u"), "run_id": "run", "session_ids": ["s"], "turns": turns})
        store.commit(scope, Changes(turns=turns, events=update["events"], boundaries=update["boundaries"]))

    events = store.index(scope).session_events("s")
    store.close()
    assert [turn_id for event in events for turn_id in event.turn_ids] == [f"t{seq}" for seq in range(sent)]
    assert [event.seq for event in events] == list(range(len(events)))
    assert [event.status for event in events[:-1]] == ["closed"] * (len(events) - 1 if events else 0)
    assert all(not set(event.context_turn_ids) & set(event.turn_ids) for event in events)


@pytest.mark.parametrize(
    ("chosen", "sizes"),
    [
        ({"strategy": "window", "window": 6, "overlap": 2}, [6, 4, 4, 4, 2]),
        ({"strategy": "buffer", "buffer_tokens": 16}, [5, 5, 5, 5]),
        ({"strategy": "session"}, [20]),
        ({"strategy": "event", "max_turns": 8}, [8, 8, 4]),
    ],
)
@pytest.mark.parametrize("call", [1, 3, 7, 20])
def test_how_many_turns_come_in_a_call_changes_nothing(segment, store, scope, chosen, sizes, call):
    """An agent may send each turn as it is said: windows, buffers and the longest event are those of a whole file."""
    model = FakeModel([notes(*["direct_resp"] * 20)] * 20)
    for first in range(0, 20, call):
        segment(model, *["I ski a lot"] * min(call, 20 - first), first=first, **chosen)

    assert [len(event.turn_ids) for event in store.index(scope).session_events("s1")] == sizes
