"""A decision holds as long as nobody else changed its records; what no longer holds, or was not seen, is pending."""

import pytest

from langgraph_engram.consolidation.merging import (
    CHANGED,
    MISSED,
    apply_decisions,
    as_superseded,
    missed_ids,
    undecided_tasks,
)
from langgraph_engram.schema import Decision, Pair, Proposal


def proposal(action="SUPERSEDE", result_id="r1", pair=("r0", "r1"), content=""):
    decision = Decision(
        decision_id="d", run_id="run", pair=list(pair), jaccard=1, cosine=1, action=action, result_id=result_id
    )
    return Proposal(decision=decision, content=content)


@pytest.fixture
def stored(store, scope, keep, turn):
    """Put records into a store, and return what stands there."""

    def run(*records):
        keep(turns=[turn(number) for number in range(4)], records=records)
        return store.index(scope)

    return run


@pytest.fixture
def holds(stored, record):
    """Return whether a decision of a run whose own record is r1 holds beside what is stored."""
    return lambda found, *kept: apply_decisions([found], [record(1)], stored(*kept).records).outdated == []


@pytest.mark.parametrize("action", ["SUPERSEDE", "MERGE", "CONFLICT"])
@pytest.mark.parametrize("status", ["active", "superseded", "merged", "archived", "gone"])
def test_a_decision_holds_as_long_as_nobody_has_changed_its_records(holds, record, action, status):
    """Whatever was decided, and whatever the other run made of it; a record that is no longer kept cannot be marked."""
    by = "r9" if status in ("superseded", "merged") else None
    kept = [] if status == "gone" else [record(0, status=status, superseded_by=by)]

    assert holds(proposal(action), *kept) is (status == "active")


def test_what_a_commit_that_was_cut_off_has_changed_holds(holds, record):
    """A commit that is done again finds its own marks."""
    assert holds(proposal(), *as_superseded([record(0)], record(1)), record(1))


def test_to_keep_both_is_true_of_what_became_of_either(holds, record):
    """Only what is gone cannot be kept."""
    assert not holds(proposal("KEEP_BOTH"))
    assert holds(proposal("KEEP_BOTH", None), record(0, status="superseded", superseded_by="r9"))


def test_links_that_another_run_stored_meanwhile_are_kept(stored, record):
    """Two runs may link one record."""
    index = stored(record(0, conflicts_with=["r3"]), record(3, conflicts_with=["r0"]))

    applied = apply_decisions([proposal("CONFLICT", None)], [record(1)], index.records)

    assert [kept.conflicts_with for kept in (*applied.records, *applied.changed)] == [["r0"], ["r3", "r1"]]


def test_what_is_linked_already_is_not_written_again(stored, record):
    """A commit that is done again changes nothing."""
    index = stored(record(0, conflicts_with=["r1"]))

    assert apply_decisions([proposal("CONFLICT", None)], [record(1)], index.records).changed == []


@pytest.mark.parametrize("action", ["MERGE", "SUPERSEDE"])
def test_decisions_that_are_carried_out_again_after_a_crash_come_to_the_same(stored, keep, record, action):
    """Half of the commit was written: the rest of it is what it would have been."""
    older, own = record(0, keywords=["lake"]), record(1, mentioned_at=record(0).mentioned_at)
    result = None if action == "MERGE" else "r1"
    first = apply_decisions([proposal(action, result, content="both")], [own], stored(older).records)
    merged = first.records[-1].record_id if action == "MERGE" else "r1"
    decided = proposal(action, merged, content="both")

    again = apply_decisions([decided], [own], stored(*first.changed, first.records[0]).records)

    assert again.records == first.records
    assert again.changed == []


def test_only_pairs_that_were_not_seen_are_missed():
    """Those that are gone, or that the run looked at, are not."""
    seen, gone, new = (Pair(older_id=older, newer_id="r1", jaccard=1, cosine=1) for older in ("r0", "r2", "r3"))

    assert missed_ids([seen, gone], [seen, new]) == {"r1", "r3"}
    assert missed_ids([seen, gone], [seen]) == set()


def test_what_is_left_to_decide_is_pending_once(stored, record):
    """The turns of the run's own records, those of a decision that was dropped first."""
    index = stored()
    records = {"r1": record(1), "r2": record(2)}

    tasks = undecided_tasks("run", index, records, [proposal().decision], {"r0", "r1", "r2"})

    assert [(task.step, task.reason, task.turn_ids) for task in tasks] == [
        ("consolidate", CHANGED, ["t1"]),
        ("consolidate", MISSED, ["t2"]),
    ]
