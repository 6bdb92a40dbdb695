"""Whatever was written in between, each turn ends in one event and only a session's last event is open."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from langgraph_engram.embeddings.base import HashingEncoder
from langgraph_engram.schema import Boundary, Record
from langgraph_engram.segmentation.events import EventBuilder, rebase_boundaries, rebase_events, rebase_records
from langgraph_engram.stores.index import BOUNDARIES, EVENTS, TURNS, ScopeIndex
from tests.conftest import make_event, make_turn

BUILDER = EventBuilder("scope")
ENCODER = HashingEncoder(8)
CUTS = st.sets(st.integers(1, 7), max_size=4)


def index_of(turns, events):
    index = ScopeIndex().with_items(TURNS, turns, ENCODER.encode([turn.text for turn in turns]))
    return index.with_items(EVENTS, events, ENCODER.encode([event.summary for event in events])) if events else index


def turn(seq):
    return make_turn(seq, f"turn {seq}", session_id="s", said_at=None)


def cut(turn_ids, cuts, name):
    """Cut turns into events, the last of which is open."""
    edges = [0, *sorted(cut for cut in cuts if cut < len(turn_ids)), len(turn_ids)]
    spans = [turn_ids[start:end] for start, end in pairwise(edges) if start < end]
    return [
        event(
            seq, *ids, event_id=f"{name}-{ids[0]}", topics=[f"{name} {seq}"],
            status="open" if seq == len(spans) - 1 else "closed",
        )
        for seq, ids in enumerate(spans)
    ]  # fmt: skip


def event(seq, *turn_ids, **fields):
    return make_event(seq, session_id="s", turn_ids=list(turn_ids), **fields)


def boundary(name, to, text, **fields):
    return Boundary(boundary_id=name, session_id="s", to_event_id=to, text=text, **{"kind": "topic", **fields})


def after(stored, written):
    return {event.event_id: event for event in [*stored, *written]}.values()


@given(st.lists(st.booleans(), min_size=1, max_size=8), CUTS, CUTS)
def test_two_runs_that_saw_the_same_session_make_one(is_own, stored_cuts, own_cuts):
    """Turns fall to either run as they come; what both write, one after the other, holds each of them once."""
    names = [f"t{seq}" for seq in range(len(is_own))]
    stored = cut([name for name, own in zip(names, is_own, strict=True) if not own], stored_cuts, "first")
    run = cut([name for name, own in zip(names, is_own, strict=True) if own], own_cuts, "second")
    index = index_of([turn(seq) for seq in range(len(is_own))], stored)

    kept = after(stored, rebase_events(BUILDER, index, "s", run))

    assert sorted(turn_id for event in kept for turn_id in event.turn_ids) == names
    assert sorted(event.seq for event in kept) == list(range(len(kept)))
    assert [event.status for event in sorted(kept, key=lambda event: event.seq)][:-1] == ["closed"] * (len(kept) - 1)


@given(st.integers(1, 8), CUTS)
def test_nothing_changes_where_nobody_else_wrote(count, cuts):
    """On an empty session, and on what it has written itself, a run's events stay as they are."""
    names = [f"t{seq}" for seq in range(count)]
    run = cut(names, cuts, "own")
    turns = [turn(seq) for seq in range(count)]

    assert rebase_events(BUILDER, index_of(turns, []), "s", run) == run
    assert rebase_events(BUILDER, index_of(turns, run), "s", run) == run


def test_an_event_that_both_runs_extended_keeps_both_runs_turns_and_topics():
    """In order of the session, and closed if either closed it."""
    held = event(0, "t0", "t2", topics=["bees"], keywords=["hive"], status="closed")
    own = event(0, "t0", "t1", topics=["bees", "honey"], keywords=["jar"])
    index = index_of([turn(0), turn(1), turn(2)], [held])

    (joined,) = rebase_events(BUILDER, index, "s", [own])

    assert (joined.turn_ids, joined.topics, joined.status) == (["t0", "t1", "t2"], ["bees", "honey"], "closed")
    assert {"hive", "jar"} <= set(joined.keywords)
    assert "honey" in joined.summary


def test_keywords_that_name_a_runs_part_do_not_join_what_was_noted():
    """A name made of keywords says nothing beside a note."""
    held = event(0, "t0", topics=["bees"], keywords=["hive"])
    own = event(0, "t1", topics=["jar, honey"], keywords=["jar", "honey", "label"])

    (joined,) = rebase_events(BUILDER, index_of([turn(0), turn(1)], [held]), "s", [own])

    assert (joined.topics, joined.keywords) == (["bees"], ["hive", "jar", "honey", "label"])


def test_records_go_where_their_turn_went():
    """An event that another run made of the same turns stands; records and boundaries of ours follow or go."""
    held = event(0, "t0", "t1")
    own = event(1, "t1")
    index = index_of([turn(0), turn(1)], [held])
    record = Record(record_id="r", content="x", session_id="s", event_id="e1", seq=1, source_turn_ids=["t1"])

    kept = rebase_events(BUILDER, index, "s", [own])

    assert kept == []
    assert [moved.event_id for moved in rebase_records([record], index, kept)] == ["e0"]
    assert rebase_boundaries([boundary("b", "e1", "x")], index, "s", kept) == []


def test_a_boundary_is_about_the_event_that_precedes_it_now():
    """An event that comes between two others takes the place of the first in the boundary to the second."""
    bees, honey, jars = (event(seq, f"t{seq}", topics=[topic]) for seq, topic in enumerate(("bees", "honey", "jars")))
    to_jars = boundary("b2", "e2", "old", from_event_id="e0")
    to_honey = boundary("b1", "e1", "new", from_event_id="e0")
    index = index_of([turn(seq) for seq in range(3)], [bees, jars.model_copy(update={"seq": 1})])
    index = index.with_items(BOUNDARIES, [to_jars], ENCODER.encode(["old"]))

    written = rebase_boundaries([to_honey], index, "s", rebase_events(BUILDER, index, "s", [honey]))

    assert [(each.boundary_id, each.from_event_id) for each in written] == [("b1", "e0"), ("b2", "e1")]
    assert written[0] == to_honey
    assert "honey" in written[1].text


def test_boundaries_stay_where_no_event_has_moved():
    """What a run adds at the end of a session changes nothing that stands before."""
    bees, honey = event(0, "t0", topics=["bees"]), event(1, "t1", topics=["honey"])
    opening = boundary("b0", "e0", "old", kind="opening")
    to_honey = boundary("b1", "e1", "new", from_event_id="e0")
    index = index_of([turn(0), turn(1)], [bees]).with_items(BOUNDARIES, [opening], ENCODER.encode(["old"]))

    assert rebase_boundaries([to_honey], index, "s", rebase_events(BUILDER, index, "s", [honey])) == [to_honey]
