"""Every segmenter yields events that partition the turns; an open event goes on, and sessions are never crossed."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from langgraph_engram.embeddings.base import HashingEncoder
from langgraph_engram.graphs.write import write_parts
from langgraph_engram.nodes.segment import Segment
from langgraph_engram.paper_settings import DimMemSettings, EsMemSettings, StructMemSettings
from langgraph_engram.papers.dimmem import WindowSegmenter
from langgraph_engram.papers.esmem import AskingSegmenter
from langgraph_engram.papers.structmem import BufferSegmenter
from langgraph_engram.presets import PRESETS, preset
from langgraph_engram.prompts.judge_boundary import BoundaryVerdict, LabelGuess
from langgraph_engram.prompts.track_topics import TopicNote
from langgraph_engram.rule_model.model import RuleModel
from langgraph_engram.schema import Scope, Turn
from langgraph_engram.segmentation.segmenter import BoundaryDetector, LearnedSegmenter
from langgraph_engram.state import RememberRequest
from langgraph_engram.stores.base import Changes
from langgraph_engram.stores.folders import open_store
from langgraph_engram.testing import FakeModel

FOUND_SHIFT = BoundaryVerdict(
    likeliest=LabelGuess(label="topic_shift", probability=0.9),
    least_likely=LabelGuess(label="direct_resp", probability=0.1),
)


@pytest.fixture
def segment(store, to_remember, turn):
    """Segment turns of session s1 from this number on; the events are committed."""

    def run(segmenter, *texts, first=0, close=False):
        turns = [turn(seq, text) for seq, text in enumerate(texts, start=first)]
        request = to_remember(close_session=close)
        state = {"request": request, "run_id": "run", "tasks": [], "session_ids": ["s1"], "turns": turns}
        update = Segment(store, segmenter)(state)
        store.commit(request.scope, Changes(turns=turns, events=update["events"], boundaries=update["boundaries"]))
        return update

    return run


@pytest.fixture
def learned(store, monkeypatch):
    """Segment by the detector, which finds a boundary before each text that begins with "By the way"."""
    track = BoundaryDetector.track

    def cut(detector, turns, before):
        return [
            replace(topic, cut=turn.text.startswith("By the way"))
            for topic, turn in zip(track(detector, turns, before), turns, strict=True)
        ]

    monkeypatch.setattr(BoundaryDetector, "track", cut)
    return LearnedSegmenter(store.encoder, 40)


@pytest.fixture
def asking(store):
    """Ask a model with these answers, as ES-Mem does."""
    return lambda *answers: AskingSegmenter(FakeModel(list(answers)), store.encoder, 40, EsMemSettings())


def noted(topic):
    """Note of a turn what it is about."""
    return TopicNote(topic=topic, keywords=[f"word of {topic}"])


def test_a_shift_opens_an_event(segment, learned):
    """Two subjects are two events: the first is closed, the second stays open, and a boundary leads to each."""
    update = segment(learned, "a", "b", "By the way, c", "d")

    first, second = update["events"]
    assert (first.turn_ids, second.turn_ids) == (["t0", "t1"], ["t2", "t3"])
    assert (first.status, second.status) == ("closed", "open")
    assert second.context_turn_ids == ["t0", "t1"]
    assert [(boundary.kind, boundary.to_event_id) for boundary in update["boundaries"]] == [
        ("opening", first.event_id),
        ("topic", second.event_id),
    ]


def test_an_open_event_goes_on_until_a_shift_closes_it(segment, learned):
    """A call extends it under the same id, and describes no boundary again; the first turn of one may end it."""
    (opened,) = segment(learned, "a")["events"]

    update, shifted = segment(learned, "b", first=1), segment(learned, "By the way, c", "d", first=2)

    (extended,), (closed, begun) = update["events"], shifted["events"]
    assert (extended.turn_ids, update["boundaries"]) == (["t0", "t1"], [])
    assert {event.event_id for event in (extended, closed)} == {opened.event_id}
    assert [(event.turn_ids, event.status) for event in (closed, begun)] == [
        (["t0", "t1"], "closed"),
        (["t2", "t3"], "open"),
    ]


def test_topics_that_fail_leave_one_event(segment, asking, caplog):
    """Without topics there is no cut; nothing is lost, the events have names, and the failure is logged."""
    update = segment(asking(), "Bees give honey", "ok", "Then I met Runa")

    (event,) = update["events"]
    assert event.turn_ids == ["t0", "t1", "t2"]
    assert "3 of 3 questions about events have no answer" in caplog.text
    assert "Runa" in event.summary
    assert update["boundaries"][0].text == f"The conversation opens with Ana on {event.summary}."


def test_a_judged_shift_opens_an_event_and_is_described(segment, asking):
    """ES-Mem's three questions: topics, the candidate between them, and the words for each boundary."""
    update = segment(asking(noted("bees"), noted("skis"), FOUND_SHIFT, "It opens.", "Bees end."), "a", "b")

    assert [event.topics for event in update["events"]] == [["bees"], ["skis"]]
    assert [boundary.text for boundary in update["boundaries"]] == ["It opens.", "Bees end."]
    assert update["boundaries"][1].p_eb == pytest.approx(0.9)


def test_a_candidate_that_is_not_judged_is_no_cut_and_a_boundary_that_is_not_described_has_a_text(segment, asking):
    """The text is made of topics and speakers."""
    update = segment(asking(noted("bees"), noted("skis")), "a", "b")

    (boundary,) = update["boundaries"]
    assert [event.turn_ids for event in update["events"]] == [["t0", "t1"]]
    assert boundary.text == "The conversation opens with Ana on bees; skis."


def test_a_session_that_follows_another_is_led_to_by_a_break(store, to_remember, turn):
    """The boundary before a session's first event crosses the gap, and holds how long it was."""
    step = Segment(store, LearnedSegmenter(store.encoder, 40))
    for number, session in enumerate(("s1", "s2")):
        request = to_remember(close_session=True)
        said = turn(number, turn_id=f"x{number}", session_id=session)
        update = step({"request": request, "run_id": "run", "tasks": [], "session_ids": [session], "turns": [said]})
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
    step = Segment(store, write_parts(store, RuleModel(), preset(name)).segmenter)
    sent = 0
    for texts in calls:
        turns = [
            Turn(turn_id=f"t{seq}", session_id="s", seq=seq, role="user", speaker="A", text=text)
            for seq, text in enumerate(texts, start=sent)
        ]
        sent += len(turns)
        state = {"request": RememberRequest(user_id="u"), "run_id": "run", "tasks": [], "session_ids": ["s"]}
        update = step({**state, "turns": turns})
        store.commit(scope, Changes(turns=turns, events=update["events"], boundaries=update["boundaries"]))

    events = store.index(scope).session_events("s")
    store.close()
    assert [turn_id for event in events for turn_id in event.turn_ids] == [f"t{seq}" for seq in range(sent)]
    assert [event.seq for event in events] == list(range(len(events)))
    assert [event.status for event in events[:-1]] == ["closed"] * (len(events) - 1 if events else 0)
    assert all(not set(event.context_turn_ids) & set(event.turn_ids) for event in events)


@pytest.mark.parametrize(
    ("segmenter", "sizes"),
    [
        (WindowSegmenter(DimMemSettings(window=6, overlap=2)), [6, 4, 4, 4, 2]),
        (BufferSegmenter(StructMemSettings(buffer_tokens=16)), [5, 5, 5, 5]),
        (LearnedSegmenter(HashingEncoder(16), 8), [8, 8, 4]),
    ],
)
@pytest.mark.parametrize("call", [1, 3, 7, 20])
def test_how_many_turns_come_in_a_call_changes_nothing(segment, store, scope, segmenter, sizes, call):
    """An agent may send each turn as it is said: windows, buffers and the longest event are those of a whole file."""
    for first in range(0, 20, call):
        segment(segmenter, *["I ski a lot"] * min(call, 20 - first), first=first)

    assert [len(event.turn_ids) for event in store.index(scope).session_events("s1")] == sizes
