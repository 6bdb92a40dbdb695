"""A run whose records changed before it could write decides on them anew."""

import pytest

from langgraph_engram.consolidation.merging import as_superseded
from langgraph_engram.consolidation.pairing import PairFinder
from langgraph_engram.nodes.persist import Persist
from langgraph_engram.pending import UNFINISHED, pending_task
from langgraph_engram.schema import Decision, Proposal
from langgraph_engram.segmentation.segmenter import LearnedSegmenter
from langgraph_engram.settings import SynthesisSettings, UpdateSettings
from langgraph_engram.summarization.scheduling import Scheduler


@pytest.fixture
def update(store, keep, turn, record, to_remember):
    """The update of a run that lets r1 supersede r0, which another run has superseded meanwhile."""
    (gone,) = as_superseded([record(0)], record(9))
    turns = [turn(1)]
    task = pending_task("run", turns, "segment", UNFINISHED)
    keep(turns=[turn(0), *turns], records=[gone], pending_tasks=[task])
    decision = Decision(
        decision_id="d", run_id="run", pair=["r0", "r1"], jaccard=1, cosine=1, action="SUPERSEDE", result_id="r1"
    )
    failures = [pending_task("run", turns, step, "no answer") for step in ("extract", "consolidate")]
    state = {
        "request": to_remember(),
        "run_id": "run",
        "tasks": [task],
        "attempts": 1,
        "pairs": [],
        "records": [record(1)],
        "proposals": [Proposal(decision=decision)],
        "failures": failures,
    }
    finder = PairFinder(store, UpdateSettings())
    return Persist(store, LearnedSegmenter(store.encoder, 20), Scheduler(SynthesisSettings()), finder)(state)


def test_a_run_that_decides_anew_has_decided_and_written_nothing(update, store, scope):
    """Its own records stand as they were, the run is pending as a whole, and what failed elsewhere stays failed."""
    assert (update["is_overtaken"], update["proposals"]) == (True, [])
    assert update.keys().isdisjoint({"records", "decisions"})
    assert [stored.record_id for stored in store.index(scope).records.items] == ["r0"]
    assert [task.reason for task in store.pending_tasks(scope)] == [UNFINISHED]
    assert [task.step for task in update["failures"].value] == ["extract"]
