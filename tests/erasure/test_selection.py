"""What depends on the forgotten is erased with it, and what is left holds none of its words."""

from datetime import timedelta

import numpy as np
import pytest

from langgraph_engram.erasure.selection import Cleanup, StoredScope, Target, select_erased
from langgraph_engram.pending import UNFINISHED
from langgraph_engram.schema import Boundary, Decision, PendingTask, Synthesis
from langgraph_engram.stores.index import BOUNDARIES, EVENTS, RECORDS, SYNTHESES, TURNS, ScopeIndex
from tests.conftest import NOON, make_event, make_record, make_turn

TEXTS = ("We flew to Tarvesund.", "It was lovely there.", "My brother plays the cello.")


def record(name, content, *sources, **more):
    return make_record(0, content, record_id=name, source_turn_ids=list(sources), **more)


def pending(name, step, *turns, reason="it took too long", run_id="run"):
    return PendingTask(
        pending_id=name, run_id=run_id, session_id="s1", turn_ids=list(turns), step=step, reason=reason, since=NOON
    )


def stored(*, records=(), events=(), boundaries=(), syntheses=(), decisions=(), pending_tasks=()):
    """Return three turns of one session, and what was made from them."""
    index = ScopeIndex()
    items_by_kind = (
        (TURNS, [make_turn(seq, text) for seq, text in enumerate(TEXTS)]),
        (EVENTS, events or [make_event(0, 0, 1, 2)]),
        (BOUNDARIES, boundaries),
        (RECORDS, records),
        (SYNTHESES, syntheses),
    )
    for kind, items in items_by_kind:
        if items:
            index = index.with_items(kind, items, np.ones((len(items), 1), dtype=np.float32))
    return StoredScope(index, decisions, pending_tasks)


def forget(scope, **target):
    """Return what is erased, and the cleanup of the rest."""
    erased = select_erased(scope, Target(**target))
    return erased, Cleanup(scope, erased, "forgetting")


def ids(items, kind=RECORDS):
    return {kind.id_of(item) for item in items}


def test_a_record_that_repeats_a_forgotten_turn_is_erased_though_it_cites_another():
    """A model reads a turn beside its neighbours: "there" became the name that only the forgotten turn says."""
    scope = stored(records=[record("r1", "Ana found Tarvesund lovely.", "t1"), record("r2", "Ana's brother.", "t2")])

    erased, cleanup = forget(scope, turn_id="t0")

    assert ids(erased.records) == {"r1"}
    assert [(task.step, task.turn_ids) for task in cleanup.pending_tasks([])] == [("extract", ["t1"])]


def test_a_word_that_another_turn_says_is_not_lost():
    """What is left says it too, so that nothing is given away."""
    scope = stored(records=[record("r1", "Ana's brother plays the cello.", "t2")])

    erased, _ = forget(scope, turn_id="t1")

    assert erased.records == []


def test_a_record_of_several_turns_is_erased_and_the_others_are_extracted_again():
    """What it says of the forgotten cannot be cut out of it."""
    scope = stored(records=[record("r0", "Ana flew to Tarvesund and found it lovely.", "t0", "t1")])

    erased, cleanup = forget(scope, turn_id="t0")

    assert ids(erased.records) == {"r0"}
    assert [(task.step, task.turn_ids) for task in cleanup.pending_tasks([])] == [("extract", ["t1"])]


@pytest.mark.parametrize(("record_id", "expected"), [("r0", {"r0", "m", "n"}), ("m", {"r0", "r1", "m", "n"})])
def test_a_record_is_erased_with_all_that_was_merged_from_it_and_all_that_it_was_merged_from(record_id, expected):
    """However often: the texts say the same."""
    scope = stored(
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

    erased, cleanup = forget(scope, record_id=record_id)

    assert ids(erased.records) == expected
    assert erased.turns == ()
    assert len(erased.decisions) == 1
    assert {(record.record_id, record.status, record.superseded_by) for record in cleanup.records()} == {
        (record_id, "active", None) for record_id in {"r0", "r1", "r2"} - expected
    }


def test_records_that_are_no_longer_merged_are_pending_for_consolidation():
    """Two parts of a merge that is erased may still be one."""
    scope = stored(
        records=[
            *(record(f"r{n}", f"Number {n}.", f"t{n}", status="merged", superseded_by="m") for n in range(3)),
            record("m", "All.", "t0", "t1", "t2", derived_from=["r0", "r1", "r2"]),
        ]
    )

    _, cleanup = forget(scope, turn_id="t0")

    assert [(task.step, task.turn_ids) for task in cleanup.pending_tasks(cleanup.records())] == [
        ("consolidate", ["t1", "t2"])
    ]


def test_a_synthesis_is_erased_by_what_it_covers_and_by_what_it_starts_from():
    """What is left of what it covered is pending; one of other events stays."""
    syntheses = [
        Synthesis(synthesis_id="covers", text="", covered_record_ids=["r0", "r2"]),
        Synthesis(synthesis_id="starts", text="", covered_record_ids=["r2"], seed_event_ids=["e0"]),
        Synthesis(synthesis_id="other", text="", covered_record_ids=["r2"], seed_event_ids=["e1"]),
    ]
    scope = stored(
        records=[record("r0", "Ana flew.", "t0"), record("r2", "Ana's brother.", "t2", event_id="e1")],
        events=[make_event(0, 0, 1), make_event(1, 2)],
        syntheses=syntheses,
    )

    erased, cleanup = forget(scope, turn_id="t0")

    assert ids(erased.syntheses, SYNTHESES) == {"covers", "starts"}
    assert [(task.step, task.turn_ids) for task in cleanup.pending_tasks([])] == [("synthesize", ["t2"])]


def test_titles_of_events_and_texts_of_boundaries_are_written_again():
    """Of what is left: no topic, keyword, summary or boundary tells what was forgotten."""
    name = {"topics": ["a flight to Tarvesund"], "keywords": ["Tarvesund"], "summary": "a flight to Tarvesund"}
    scope = stored(
        events=[
            make_event(0, 0, 1, **name),
            make_event(1, 2, context_turn_ids=["t0"], topics=["cello after Tarvesund"]),
        ],
        boundaries=[
            Boundary(boundary_id="b0", session_id="s1", to_event_id="e0", kind="opening", text="Of Tarvesund."),
            Boundary(
                boundary_id="b1",
                session_id="s1",
                from_event_id="e0",
                to_event_id="e1",
                kind="topic",
                text="From Tarvesund to the cello.",
            ),
        ],
    )

    erased, cleanup = forget(scope, turn_id="t0")

    events = cleanup.events()
    boundaries = cleanup.boundaries(events)
    assert [(event.event_id, event.turn_ids, event.context_turn_ids) for event in events] == [
        ("e0", ["t1"], []),
        ("e1", ["t2"], []),
    ]
    assert events[0].started_at == NOON + timedelta(minutes=1)
    assert len(boundaries) == 2
    assert "Tarvesund" not in str([*events, *boundaries])
    assert "cello" in boundaries[1].text
    assert erased.events == []


def test_pending_tasks_of_the_rest_stay_pending():
    """Under a run of its own, so that a run that is cut off and comes back finds itself overtaken."""
    scope = stored(
        pending_tasks=[
            pending("a", "segment", "t0", "t1", reason=UNFINISHED),
            pending("b", "approve_updates", "t0", "t1"),
            pending("c", "extract", "t2"),
        ]
    )

    erased, cleanup = forget(scope, turn_id="t0")

    assert {task.pending_id for task in erased.pending_tasks} == {"a", "b"}
    assert [(task.run_id, task.step, task.turn_ids, task.reason) for task in cleanup.pending_tasks([])] == [
        ("forgetting", "segment", ["t1"], UNFINISHED)
    ]


def test_a_forgotten_record_is_not_extracted_again_by_a_pending_task():
    """A question that failed about the same turn is not asked again; of other turns it is."""
    scope = stored(records=[record("r0", "Ana flew.", "t0")], pending_tasks=[pending("a", "extract", "t0", "t1")])

    erased, cleanup = forget(scope, record_id="r0")

    assert [task.pending_id for task in erased.pending_tasks] == ["a"]
    assert [(task.step, task.turn_ids) for task in cleanup.pending_tasks([])] == [("extract", ["t1"])]
