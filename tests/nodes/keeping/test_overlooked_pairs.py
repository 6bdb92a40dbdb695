"""A run looks again for look-alikes that another one stored, unless it has looked too often or a person was asked."""

import pytest

from langgraph_engram.nodes.consolidating.filter_candidates import FilterCandidates
from langgraph_engram.nodes.consolidating.revise import as_superseded
from langgraph_engram.nodes.keeping.overlooked_pairs import (
    MOST_LOOKS,
    OVERLOOKED,
    may_look_again,
    overlooked,
    overlooked_ids,
    undecided,
)
from langgraph_engram.schema import Decision
from langgraph_engram.settings import UpdateSettings
from langgraph_engram.state import Proposal, RememberRequest

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

    assert overlooked_ids(state, store.index(scope), look) == set()


def test_a_look_alike_that_was_stored_meanwhile_is_overlooked(run, store, scope, keep, record):
    """It is pending, under the turns of the run's own record; what is decided on already is not."""
    look, state = run
    keep(records=[home(record, 0, "Lisbon")])
    index = store.index(scope)

    ids = overlooked_ids(state, index, look)
    (left,) = overlooked(state, index, ids)

    assert ids == {"r0", "r1"}
    assert (left.step, left.reason, left.turn_ids) == ("consolidate", OVERLOOKED, ["t1"])
    assert overlooked_ids({**state, "decisions": [DECISION]}, index, look) == set()


def test_what_is_not_alike_is_not_overlooked(run, store, scope, keep, record):
    """Another run may write what it likes."""
    look, state = run
    keep(records=[record(0, "Ana: Bees give honey.", keywords=["bees", "honey"])])

    assert overlooked_ids(state, store.index(scope), look) == set()


def test_a_run_decides_anew_on_its_records_as_they_were(record):
    """What a merge made is gone, and what was marked is active again."""
    (marked,) = as_superseded([record(0)], record(1))
    merge = DECISION.model_copy(update={"action": "MERGE", "result_id": "r2"})

    left = undecided({"records": [marked, record(1), record(2)], "changed": [record(9)], "decisions": [merge]})

    assert left["records"] == [record(0), record(1)]
    assert (left["changed"], left["decisions"], left["proposals"]) == ([], [], [])


@pytest.mark.parametrize(("looks", "waits", "again"), [(1, False, True), (MOST_LOOKS, False, False), (1, True, False)])
def test_a_run_looks_again_within_bounds(looks, waits, again):
    """Not endlessly, and a person is not asked twice."""
    assert may_look_again({"looks": looks, "proposals": [Proposal(decision=DECISION, waits=waits)]}) == again
