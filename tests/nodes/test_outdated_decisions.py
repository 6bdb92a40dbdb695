"""A decision holds as long as nobody else has changed the records that it would change."""

import pytest

from langgraph_engram.consolidation.conflicts import CHANGED, without_outdated
from langgraph_engram.consolidation.merging import as_superseded
from langgraph_engram.schema import Decision


@pytest.fixture
def commit(store, scope, keep, turn, record):
    """Put what stands in the store beside a run that lets r1 supersede r0; gives what is left of the run."""

    def run(*stored, action="SUPERSEDE"):
        new = record(1)
        keep(turns=[turn(0), turn(1)], records=stored)
        decision = Decision(
            decision_id="d", run_id="run", pair=["r0", "r1"], jaccard=1, cosine=1, action=action, result_id="r1"
        )
        changed = as_superseded([record(0)], new) if action == "SUPERSEDE" else []
        state = {"run_id": "run", "records": [new], "changed": changed, "decisions": [decision]}
        return without_outdated(state, store.index(scope))

    return run


def test_a_decision_about_what_stands_as_it_did_holds(commit, record):
    """Nothing is to be written otherwise."""
    assert commit(record(0)) == {}


def test_what_a_commit_that_was_cut_off_has_changed_holds(commit, record):
    """A commit that is done again finds its own marks, and is no stranger to them."""
    (marked,) = as_superseded([record(0)], record(1))

    assert commit(marked, record(1)) == {}


@pytest.mark.parametrize("status", ["superseded", "merged", "archived"])
def test_a_decision_about_what_another_has_changed_is_dropped(commit, record, status):
    """The run's own record is written as it was drawn, and its turn is pending."""
    left = commit(record(0, status=status, superseded_by="r9"))

    assert ([one.status for one in left["records"]], left["changed"], left["decisions"]) == (["active"], [], [])
    assert [(one.step, one.reason, one.turn_ids) for one in left["failures"]] == [("consolidate", CHANGED, ["t1"])]


def test_a_decision_about_what_is_gone_is_dropped(commit):
    """A record that is no longer kept cannot be marked."""
    assert commit()["decisions"] == []


def test_a_decision_that_changes_nothing_holds(commit, record):
    """To keep both is true of what became of either."""
    assert commit(record(0, status="superseded", superseded_by="r9"), action="KEEP_BOTH") == {}
