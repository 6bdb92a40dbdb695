"""Events are found without asking anybody, turn by turn or all at once."""

import pytest

from langgraph_engram.nodes.segment import Segment
from langgraph_engram.segmentation.boundary_model import DIGITS, LearnedCuts
from langgraph_engram.settings import SegmentSettings
from langgraph_engram.stores.base import Changes
from langgraph_engram.testing import FakeModel

BEES = ["My sister keeps bees by the lake.", "How many bees does she keep by the lake?", "She keeps bees in ten hives."]
SKIS = ["Do you like to ski in winter?", "I ski in winter, on old skis.", "Old skis are fine for winter snow."]


@pytest.fixture
def follow(store):
    """Follow turns with the learned judge."""

    def run(turns, before=(), **chosen):
        return LearnedCuts(store.encoder, SegmentSettings(**chosen)).follow(turns, before, None)

    return run


@pytest.fixture
def said(turn):
    return [turn(place, text, speaker="AB"[place % 2]) for place, text in enumerate([*BEES, *SKIS])]


def test_two_subjects_are_two_events_and_nobody_is_asked(store, to_remember, said):
    """The boundary carries its learned probability, and the events are named by their words."""
    model = FakeModel()
    step = Segment(store, model, SegmentSettings())

    update = step({"request": to_remember(), "run_id": "run", "session_id": "s1", "turns": said})

    first, second = update["events"]
    assert (len(first.turn_ids), len(second.turn_ids)) == (3, 3)
    assert model.asked == []
    assert (update["usage"], update["failures"]) == ([], [])
    opening, shift = update["boundaries"]
    assert opening.p_eb is None
    assert shift.p_eb is not None
    assert 0 < shift.p_eb < 1
    assert "lake" in first.summary
    assert shift.text.startswith("After ")
    assert "winter" in shift.text


def test_the_first_turn_of_all_has_no_probability(follow, said):
    """Nothing stands before it; every other turn is judged."""
    lines = follow(said)

    assert lines[0].p_eb is None
    assert all(line.p_eb == round(line.p_eb, DIGITS) for line in lines[1:])


def test_a_turn_that_comes_alone_is_judged_by_what_came_before(follow, said):
    """Without a turn ahead the same subject is opened, and no other turn of it is."""
    cuts = [follow([one], said[:place])[0].cut for place, one in enumerate(said)]

    assert cuts[3]
    assert sum(cuts) <= 2


def test_only_the_last_turns_are_looked_back_at(follow, said):
    """What lies further back changes nothing."""
    near = follow(said[4:], said[2:4], look_back=2)
    far = follow(said[4:], said[:4], look_back=2)

    assert near == far
    assert follow(said[:1], [], look_back=0)[0].p_eb is None


def test_an_assistant_opens_fewer_subjects(follow, said):
    """The same words count for less where an assistant says them."""
    answered = [one.model_copy(update={"role": "assistant"}) if place == 3 else one for place, one in enumerate(said)]

    assert follow(answered)[3].p_eb < follow(said)[3].p_eb


def test_a_call_split_in_two_still_partitions_the_turns(store, to_remember, scope, said):
    """Whatever was judged with less ahead, every turn stands in one event, in order, and one event stays open."""
    step = Segment(store, FakeModel(), SegmentSettings())
    for part in (said[:2], said[2:4], said[4:]):
        update = step({"request": to_remember(), "run_id": "run", "session_id": "s1", "turns": part})
        store.commit(scope, Changes(turns=part, events=update["events"], boundaries=update["boundaries"]))

    events = store.index(scope).session_events("s1")
    assert [one for event in events for one in event.turn_ids] == [turn.turn_id for turn in said]
    assert [event.status for event in events] == [*["closed"] * (len(events) - 1), "open"]
    assert 1 < len(events) <= 3


def test_one_subject_stays_whole(follow, turn):
    """Turns that go on with the same words open nothing."""
    same = [turn(place, "She keeps bees in ten hives.", speaker="AB"[place % 2]) for place in range(6)]

    assert not any(line.cut for line in follow(same))
