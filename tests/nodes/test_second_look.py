"""A run looks again for look-alikes that another one stored, unless it has looked too often or a person was asked."""

import pytest

from langgraph_engram.consolidation.conflicts import (
    MAX_RECHECKS,
    MISSED,
    may_recheck,
    missed_ids,
    missed_tasks,
    recheck,
)
from langgraph_engram.consolidation.merging import as_superseded
from langgraph_engram.nodes.filter_candidates import FilterCandidates
from langgraph_engram.pending import pending_task
from langgraph_engram.schema import Decision, Proposal
from langgraph_engram.settings import UpdateSettings
from langgraph_engram.state import RememberRequest

DECISION = Decision(decision_id="d", run_id="run", pair=["r0", "r1"], jaccard=1, cosine=1, action="SUPERSEDE")


@pytest.fixture
def run(store, scope, turn, record, keep):
    """Give a run that wrote down where Ana lives, at the moment when it has looked for look-alikes."""
    look = FilterCandidates(store, UpdateSettings())
    keep(turns=[turn(0), turn(1)])
    state = {"run_id": "run", "request": RememberRequest(user_id=scope.user_id), "records": [home(record, 1, "Porto")]}
    return look, state | look(state)


def home(record, number, city):
    return record(number, f"Ana: I live in {city}.", keywords=["live", city], memory_type="profile")


def test_nothing_is_overlooked_where_nobody_wrote(run, store, scope):
    """The revision is the one in which the run looked."""
    look, state = run

    assert missed_ids(state, store.index(scope), look) == set()


def test_a_look_alike_that_was_stored_meanwhile_is_overlooked(run, store, scope, keep, record):
    """It is pending, under the turns of the run's own record that are not pending anyway."""
    look, state = run
    keep(records=[home(record, 0, "Lisbon")])
    index = store.index(scope)

    ids = missed_ids(state, index, look)
    (left,) = missed_tasks(state, index, ids)

    assert ids == {"r0", "r1"}
    assert (left.step, left.reason, left.turn_ids) == ("consolidate", MISSED, ["t1"])
    assert missed_tasks(state, index, ids, [left]) == []


def test_what_the_run_looked_at_is_not_overlooked(store, scope, keep, turn, record):
    """Another run may write something else, and what this run makes of what it saw is its own."""
    look = FilterCandidates(store, UpdateSettings())
    keep(turns=[turn(0), turn(1)], records=[home(record, 0, "Lisbon")])
    state = {"run_id": "run", "request": RememberRequest(user_id=scope.user_id), "records": [home(record, 1, "Porto")]}
    state |= look(state)
    made = home(record, 2, "Porto, not Lisbon")
    merged = [one.model_copy(update={"status": "merged", "superseded_by": "r2"}) for one in state["records"]]
    decision = DECISION.model_copy(update={"action": "MERGE", "result_id": "r2"})
    keep(records=[record(3, "Ana: Bees give honey.", keywords=["bees", "honey"])])

    carried_out = {**state, "records": [*merged, made], "decisions": [decision]}

    assert missed_ids(carried_out, store.index(scope), look) == set()


def test_what_is_not_alike_is_not_overlooked(run, store, scope, keep, record):
    """Another run may write what it likes."""
    look, state = run
    keep(records=[record(0, "Ana: Bees give honey.", keywords=["bees", "honey"])])

    assert missed_ids(state, store.index(scope), look) == set()


def test_a_run_decides_anew_on_its_records_as_they_were(store, scope, record):
    """What a merge made is gone, what was marked is active again, and what could not be decided is asked again."""
    (marked,) = as_superseded([record(0)], record(1))
    merge = DECISION.model_copy(update={"action": "MERGE", "result_id": "r2"})
    state = {"records": [marked, record(1), record(2)], "changed": [record(9)], "decisions": [merge]}

    left = recheck(state, store.index(scope))

    assert left["records"] == [record(0), record(1)]
    assert (left["changed"], left["decisions"], left["proposals"], left["recheck"]) == ([], [], [], True)


def test_what_failed_at_other_steps_stays_failed(store, scope, turn):
    """Only what is decided anew may succeed now."""
    failures = [pending_task("run", [turn(0)], step, "no answer") for step in ("extract", "consolidate")]

    left = recheck({"records": [], "failures": failures}, store.index(scope))

    assert [one.step for one in left["failures"].value] == ["extract"]


def test_a_record_that_was_taken_up_counts_as_it_stands(store, scope, keep, record):
    """Another run may have marked it, or taken it away."""
    (marked,) = as_superseded([record(0)], record(9))
    keep(records=[marked, record(1)])
    taken = [record(0), record(1, "Ana: as it was."), record(2)]

    left = recheck({"records": [*taken, record(3)], "reloaded": ["r0", "r1", "r2"]}, store.index(scope))

    assert left["records"] == [record(3), record(1)]


@pytest.mark.parametrize(
    ("looks", "waits", "again"), [(1, False, True), (MAX_RECHECKS, False, False), (1, True, False)]
)
def test_a_run_looks_again_within_bounds(store, scope, looks, waits, again):
    """Not endlessly, and a person is not asked twice."""
    state = {"rechecks": looks, "proposals": [Proposal(decision=DECISION, waits=waits)]}

    assert may_recheck(state, store.index(scope)) == again


def test_a_commit_that_was_cut_off_is_finished(run, store, scope, keep, record):
    """What it has stored is in the audit trail, and would not be decided on again."""
    look, state = run
    keep(records=[home(record, 0, "Lisbon"), *state["records"]])
    index = store.index(scope)

    assert missed_ids(state, index, look) == set()
    assert not may_recheck({**state, "rechecks": 1}, index)
