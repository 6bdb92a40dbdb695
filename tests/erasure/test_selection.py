"""What goes is what rests on the forgotten, and what is left holds none of its words."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from langgraph_engram.erasure.erase import Cleanup
from langgraph_engram.erasure.selection import StoredScope, Target, select_erased
from langgraph_engram.pending import UNFINISHED
from langgraph_engram.schema import Boundary, Decision, Event, PendingTask, Record, Synthesis, Turn
from langgraph_engram.settings import SegmentSettings
from langgraph_engram.stores.index import BOUNDARIES, EVENTS, RECORDS, SYNTHESES, TURNS, ScopeIndex

NOON = datetime(2024, 5, 7, 12, tzinfo=UTC)
SAID = ("We flew to Tarvesund.", "It was lovely there.", "My brother plays the cello.")


def turn(seq):
    return Turn(
        turn_id=f"t{seq}",
        session_id="s",
        seq=seq,
        role="user",
        speaker="Ana",
        text=SAID[seq],
        said_at=NOON + timedelta(minutes=seq),
    )


def record(name, content, *sources, **more):
    known = {"record_id": name, "session_id": "s", "event_id": "e0", "seq": 0, "mentioned_at": NOON}
    return Record(**{**known, **more}, content=content, source_turn_ids=list(sources))


def event(seq, *turns, **more):
    return Event(event_id=f"e{seq}", session_id="s", seq=seq, kind="event", turn_ids=list(turns), **more)


def pending(name, step, *turns, reason="it took too long", run_id="run"):
    return PendingTask(
        pending_id=name, run_id=run_id, session_id="s", turn_ids=list(turns), step=step, reason=reason, since=NOON
    )


def held(*, records=(), events=(), boundaries=(), syntheses=(), decisions=(), pending_tasks=()):
    """Three turns of one session, and what was made of them."""
    index = ScopeIndex()
    shelves = (
        (TURNS, [turn(seq) for seq in range(3)]),
        (EVENTS, events or [event(0, "t0", "t1", "t2")]),
        (BOUNDARIES, boundaries),
        (RECORDS, records),
        (SYNTHESES, syntheses),
    )
    for kind, items in shelves:
        if items:
            index = index.with_items(kind, items, np.ones((len(items), 1), dtype=np.float32))
    return StoredScope(index, decisions, pending_tasks)


def forget(kept, **named):
    """Choose what goes and what is left of the rest."""
    gone = select_erased(kept, Target(**named))
    return gone, Cleanup(kept, gone, "forgetting", SegmentSettings())


def ids(things, kind=RECORDS):
    return {kind.id_of(one) for one in things}


def test_a_record_that_echoes_a_forgotten_turn_goes_though_it_cites_another():
    """A model reads a turn beside its neighbours: "there" became the name that only the forgotten turn says."""
    kept = held(records=[record("r1", "Ana found Tarvesund lovely.", "t1"), record("r2", "Ana's brother.", "t2")])

    gone, left = forget(kept, turn_id="t0")

    assert ids(gone.records) == {"r1"}
    assert [(one.step, one.turn_ids) for one in left.pending_tasks([])] == [("extract", ["t1"])]


def test_a_word_that_another_turn_says_is_no_echo():
    """What is left says it too, so that nothing is given away."""
    kept = held(records=[record("r1", "Ana's brother plays the cello.", "t2")])

    gone, _ = forget(kept, turn_id="t1")

    assert gone.records == []


def test_a_record_of_several_turns_goes_and_the_others_are_drawn_from_anew():
    """What it says of the forgotten cannot be cut out of it."""
    kept = held(records=[record("r0", "Ana flew to Tarvesund and found it lovely.", "t0", "t1")])

    gone, left = forget(kept, turn_id="t0")

    assert ids(gone.records) == {"r0"}
    assert [(one.step, one.turn_ids) for one in left.pending_tasks([])] == [("extract", ["t1"])]


@pytest.mark.parametrize(("named", "expected"), [("r0", {"r0", "m", "n"}), ("m", {"r0", "r1", "m", "n"})])
def test_a_record_goes_with_all_that_was_merged_of_it_and_all_that_it_was_merged_of(named, expected):
    """However often: the texts say the same."""
    kept = held(
        records=[
            record("r0", "One.", "t0", status="merged", superseded_by="m"),
            record("r1", "Two.", "t1", status="merged", superseded_by="m"),
            record("m", "One and two.", "t0", "t1", status="merged", superseded_by="n", derived_from=["r0", "r1"]),
            record("r2", "Three.", "t2", status="merged", superseded_by="n"),
            record("n", "One, two, three.", "t0", "t1", "t2", derived_from=["m", "r2"]),
        ],
        decisions=[
            Decision(decision_id="d", run_id="x", pair=["r0", "r1"], jaccard=1, cosine=1, action="MERGE", result_id="m")
        ],
    )

    gone, left = forget(kept, record_id=named)

    assert ids(gone.records) == expected
    assert gone.turns == ()
    assert len(gone.decisions) == 1
    assert {(one.record_id, one.status, one.superseded_by) for one in left.records()} == {
        (one, "active", None) for one in {"r0", "r1", "r2"} - expected
    }


def test_what_stands_apart_again_is_pending_to_be_decided_on():
    """Two parts of a merge that is gone may still be one."""
    kept = held(
        records=[
            *(record(f"r{n}", f"Number {n}.", f"t{n}", status="merged", superseded_by="m") for n in range(3)),
            record("m", "All.", "t0", "t1", "t2", derived_from=["r0", "r1", "r2"]),
        ]
    )

    _, left = forget(kept, turn_id="t0")

    assert [(one.step, one.turn_ids) for one in left.pending_tasks(left.records())] == [("consolidate", ["t1", "t2"])]


def test_a_synthesis_goes_by_what_it_tells_and_by_what_it_goes_back_to():
    """What is left of what it told is pending; one of other events stays."""
    syntheses = [
        Synthesis(synthesis_id="told", text="", covered_record_ids=["r0", "r2"]),
        Synthesis(synthesis_id="back", text="", covered_record_ids=["r2"], seed_event_ids=["e0"]),
        Synthesis(synthesis_id="other", text="", covered_record_ids=["r2"], seed_event_ids=["e1"]),
    ]
    kept = held(
        records=[record("r0", "Ana flew.", "t0"), record("r2", "Ana's brother.", "t2", event_id="e1")],
        events=[event(0, "t0", "t1"), event(1, "t2")],
        syntheses=syntheses,
    )

    gone, left = forget(kept, turn_id="t0")

    assert ids(gone.syntheses, SYNTHESES) == {"told", "back"}
    assert [(one.step, one.turn_ids) for one in left.pending_tasks([])] == [("synthesize", ["t2"])]


def test_names_of_events_and_words_of_boundaries_are_made_anew():
    """Of what is left: no topic, keyword, summary or boundary tells what was forgotten."""
    name = {"topics": ["a flight to Tarvesund"], "keywords": ["Tarvesund"], "summary": "a flight to Tarvesund"}
    kept = held(
        events=[
            event(0, "t0", "t1", **name),
            event(1, "t2", context_turn_ids=["t0"], topics=["cello after Tarvesund"]),
        ],
        boundaries=[
            Boundary(boundary_id="b0", session_id="s", to_event_id="e0", kind="opening", text="It opens on Tarvesund."),
            Boundary(
                boundary_id="b1",
                session_id="s",
                from_event_id="e0",
                to_event_id="e1",
                kind="topic",
                text="From Tarvesund to the cello.",
            ),
        ],
    )

    gone, left = forget(kept, turn_id="t0")

    events = left.events()
    boundaries = left.boundaries(events)
    assert [(one.event_id, one.turn_ids, one.context_turn_ids) for one in events] == [
        ("e0", ["t1"], []),
        ("e1", ["t2"], []),
    ]
    assert events[0].started_at == NOON + timedelta(minutes=1)
    assert len(boundaries) == 2
    assert "Tarvesund" not in str([*events, *boundaries])
    assert "cello" in boundaries[1].text
    assert gone.events == []


def test_what_was_pending_of_the_rest_stays_pending():
    """Under a run of its own, so that a run that is cut off and comes back finds itself overtaken."""
    kept = held(
        pending_tasks=[
            pending("a", "segment", "t0", "t1", reason=UNFINISHED),
            pending("b", "approve_updates", "t0", "t1"),
            pending("c", "extract", "t2"),
        ]
    )

    gone, left = forget(kept, turn_id="t0")

    assert {one.pending_id for one in gone.pending_tasks} == {"a", "b"}
    assert [(one.run_id, one.step, one.turn_ids, one.reason) for one in left.pending_tasks([])] == [
        ("forgetting", "segment", ["t1"], UNFINISHED)
    ]


def test_a_forgotten_record_is_not_drawn_again_from_what_was_pending():
    """A question that failed about the same turn is not asked again; of other turns it is."""
    kept = held(records=[record("r0", "Ana flew.", "t0")], pending_tasks=[pending("a", "extract", "t0", "t1")])

    gone, left = forget(kept, record_id="r0")

    assert [one.pending_id for one in gone.pending_tasks] == ["a"]
    assert [(one.step, one.turn_ids) for one in left.pending_tasks([])] == [("extract", ["t1"])]
