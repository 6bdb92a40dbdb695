"""A synthesis is written when it is due, goes back to history alone, and is written anew when it is stale."""

from datetime import timedelta

import pytest

from langgraph_engram.model import Failure
from langgraph_engram.nodes.persist import stale
from langgraph_engram.nodes.synthesize import Synthesize
from langgraph_engram.schema import Synthesis
from langgraph_engram.settings import SynthesisSettings
from langgraph_engram.testing import FakeModel


@pytest.fixture
def synthesize(store, scope, to_remember, turn):
    """Run the step for session s1; gives what it was asked, its update and the syntheses kept after it."""

    def run(answers=("A story.",), **settings):
        model = FakeModel(answers)
        state = {"request": to_remember(), "session_id": "s1", "turns": [turn(9)], "run_id": "run"}
        update = Synthesize(store, model, SynthesisSettings(**settings))(state)
        return model.asked, update, store.index(scope).syntheses.items

    return run


@pytest.fixture
def near(record):
    """Two records of one event, a minute apart."""
    return [record(0, "Ana camps."), record(1, "Ana swims.")]


def test_a_short_open_session_waits(keep, near, event, synthesize):
    """Less than an hour and not closed: nothing is written, nothing asked."""
    keep(records=near, events=[event(0, 0, 1)])

    asked, update, kept = synthesize()

    assert (asked, update["synthesis_ids"], kept) == ([], [], [])


def test_a_closed_session_is_told(keep, near, event, synthesize):
    """At its close a session is told, beside what it covers."""
    keep(records=near, events=[event(0, 0, 1, status="closed")])

    asked, update, (told,) = synthesize()

    assert [one.record_id for one in asked[0].buffer] == ["r0", "r1"]
    assert (told.text, told.covered_record_ids, told.status) == ("A story.", ["r0", "r1"], "active")
    assert (told.window_start, told.window_end) == (near[0].mentioned_at, near[1].mentioned_at)
    assert update["synthesis_ids"] == [told.synthesis_id]


@pytest.mark.parametrize(("minutes", "due"), [(60, False), (61, True)])
def test_a_buffer_of_more_than_an_hour_is_told(keep, near, record, event, synthesize, minutes, due):
    """The span of what no synthesis covers decides (StructMem section 3.3)."""
    late = record(2, mentioned_at=near[0].mentioned_at + timedelta(minutes=minutes))
    keep(records=[near[0], late], events=[event(0, 0, 2)])

    asked, _, _ = synthesize()

    assert bool(asked) is due


def test_what_is_covered_is_not_told_again(keep, near, event, synthesize):
    """Coverage is the watermark: the same run again writes nothing."""
    keep(records=near, events=[event(0, 0, 1, status="closed")])
    synthesize()

    asked, _, kept = synthesize()

    assert (asked, len(kept)) == ([], 1)


def test_seeds_come_from_history_and_bring_their_whole_event(keep, near, record, event, synthesize):
    """What is told later, or stands in the buffer itself, is no history; a seed brings its event."""
    day = timedelta(days=1)
    told = near[0].mentioned_at
    before = [
        record(5, "Ana camps.", record_id="seed", session_id="s0", event_id="old", mentioned_at=told - day),
        record(6, "Bees hum.", record_id="beside", session_id="s0", event_id="old", mentioned_at=told - day),
        record(7, "Ana camps.", record_id="future", session_id="s2", event_id="new", mentioned_at=told + day),
        record(8, "Ana camps.", record_id="gone", session_id="s0", event_id="old2", mentioned_at=told - day,
               status="superseded"),
    ]  # fmt: skip
    keep(records=[*near, *before], events=[event(0, 0, 1, status="closed")])

    asked, _, (kept,) = synthesize(seeds=1)

    assert [one.record_id for one in asked[0].history] == ["seed", "beside"]
    assert kept.seed_event_ids == ["old"]


def test_history_keeps_to_its_tokens(keep, near, record, event, synthesize):
    """An event that does not fit is left out."""
    old = record(5, "word " * 100, session_id="s0", event_id="old", mentioned_at=near[0].mentioned_at - timedelta(1))
    keep(records=[*near, old], events=[event(0, 0, 1, status="closed")])

    asked, _, _ = synthesize(expand_tokens=50)

    assert asked[0].history == ()


def test_a_stale_synthesis_is_written_anew(keep, near, record, synthesize):
    """What replaced a covered record is told in its place; the synthesis keeps its id and its coverage, and is active."""
    changed = near[0].model_copy(update={"status": "superseded", "superseded_by": "r2"})
    keep(
        records=[changed, near[1], record(2, "Ana no longer camps.", session_id="s2")],
        syntheses=[Synthesis(synthesis_id="y0", text="Old.", covered_record_ids=["r0", "r1"], status="stale")],
    )

    asked, update, (told,) = synthesize(["New."])

    assert {one.record_id for one in asked[0].buffer} == {"r1", "r2"}
    assert (told.synthesis_id, told.text, told.status) == ("y0", "New.", "active")
    assert set(told.covered_record_ids) == {"r0", "r1", "r2"}
    assert update["synthesis_ids"] == ["y0"]


def test_a_failure_is_noted_and_loses_nothing(store, scope, keep, near, event, synthesize):
    """What could not be told is pending, and due again."""
    keep(records=near, events=[event(0, 0, 1, status="closed")])

    _, update, kept = synthesize([Failure("timeout", "late")])

    assert (update["synthesis_ids"], kept) == ([], [])
    assert [(one.step, one.reason) for one in store.pendings(scope)] == [("synthesize", "late")]
    assert len(synthesize()[2]) == 1


def test_presets_without_syntheses_write_none(keep, near, event, synthesize):
    """Where syntheses are off, none is written."""
    keep(records=near, events=[event(0, 0, 1, status="closed")])

    assert synthesize(enabled=False)[0] == []
    assert synthesize(at_session_close=False)[0] == []


def test_a_change_makes_stale_what_covers_it(store, scope, keep):
    """Only active syntheses over a changed record turn stale."""
    keep(
        syntheses=[
            Synthesis(synthesis_id="y0", text="x", covered_record_ids=["r0"]),
            Synthesis(synthesis_id="y1", text="x", covered_record_ids=["r1"]),
        ]
    )

    found = stale(store.index(scope), {"r0"})

    assert [(one.synthesis_id, one.status) for one in found] == [("y0", "stale")]
    assert stale(store.index(scope), set()) == []
