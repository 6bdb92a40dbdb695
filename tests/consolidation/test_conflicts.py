"""Decisions hold as long as nobody else changed their records, and near-duplicates stored meanwhile are looked for."""

import pytest

from langgraph_engram.consolidation.conflicts import CHANGED, MAX_RECHECKS, MISSED, UpdatedRecords
from langgraph_engram.consolidation.merging import as_superseded, in_conflict
from langgraph_engram.consolidation.pairing import PairFinder
from langgraph_engram.schema import Decision, Proposal
from langgraph_engram.settings import UpdateSettings

DECISION = Decision(decision_id="d", run_id="run", pair=["r0", "r1"], jaccard=1, cosine=1, action="SUPERSEDE")


@pytest.fixture
def left_of(store, scope, keep, turn, record):
    """Put what is stored beside a run that lets r1 supersede r0; return what is left of the run, and its tasks."""

    def run(*stored, action="SUPERSEDE"):
        new = record(1)
        keep(turns=[turn(0), turn(1)], records=stored)
        decision = DECISION.model_copy(update={"action": action, "result_id": "r1"})
        changed = as_superseded([record(0)], new) if action == "SUPERSEDE" else []
        updated = UpdatedRecords("run", [new], changed, [decision])
        left, tasks = updated.without_outdated(store.index(scope))
        return (None if left is updated else left), tasks

    return run


def test_a_decision_holds_where_nothing_has_changed(left_of, record):
    """Nothing is to be written otherwise."""
    assert left_of(record(0)) == (None, [])


def test_what_a_commit_that_was_cut_off_has_changed_holds(left_of, record):
    """A commit that is done again finds its own marks."""
    (marked,) = as_superseded([record(0)], record(1))

    assert left_of(marked, record(1)) == (None, [])


@pytest.mark.parametrize("status", ["superseded", "merged", "archived"])
def test_a_decision_about_what_another_run_has_changed_is_dropped(left_of, record, status):
    """The run's own record is written as it was extracted, and its turn is pending."""
    left, tasks = left_of(record(0, status=status, superseded_by="r9"))

    assert ([kept.status for kept in left.records], left.changed, left.decisions) == (["active"], [], [])
    assert [(task.step, task.reason, task.turn_ids) for task in tasks] == [("consolidate", CHANGED, ["t1"])]


def test_a_decision_about_what_is_gone_is_dropped(left_of):
    """A record that is no longer kept cannot be marked."""
    left, _ = left_of()

    assert left.decisions == []


def test_a_decision_that_changes_nothing_holds(left_of, record):
    """To keep both is true of what became of either."""
    assert left_of(record(0, status="superseded", superseded_by="r9"), action="KEEP_BOTH") == (None, [])


@pytest.fixture
def linked(store, scope, keep, turn, record):
    """Put what is stored beside a run that links r0 and r1; return what is left of the run."""

    def run(*stored, others=(), **fields):
        conflict = DECISION.model_copy(update={"action": "CONFLICT"})
        keep(turns=[turn(number) for number in range(4)], records=stored)
        first, second = in_conflict(record(0), ["r1"]), in_conflict(record(1), ["r0"])
        updated = UpdatedRecords("run", [second], [first], [conflict, *others], **fields)
        left, _ = updated.without_outdated(store.index(scope))
        return left.relinked(store.index(scope))

    return run


@pytest.mark.parametrize("status", ["superseded", "merged", "archived"])
def test_a_conflict_with_what_has_left_is_dropped(linked, record, status):
    """Neither is linked, and what another run made of the older one is not written over."""
    by = None if status == "archived" else "r9"

    left = linked(record(0, status=status, superseded_by=by))

    assert ([kept.conflicts_with for kept in left.records], left.changed, left.decisions) == ([[]], [], [])


def test_links_that_another_run_stored_meanwhile_are_kept(linked, record):
    """Two runs may link one record."""
    left = linked(record(0, conflicts_with=["r3"]), record(3, conflicts_with=["r0"]))

    assert [kept.conflicts_with for kept in (*left.records, *left.changed)] == [["r0"], ["r3", "r1"]]


def test_what_is_linked_already_is_not_written_again(linked, record):
    """A commit that is done again changes nothing."""
    assert linked(record(0, conflicts_with=["r1"])).changed == []


def test_a_reloaded_record_is_written_with_its_link(linked, record):
    """It stays active, and still it changes."""
    left = linked(record(0), record(1), reloaded=["r1"])

    assert [kept.conflicts_with for kept in left.written] == [["r0"]]


def test_a_run_that_decides_anew_has_linked_nothing(store, scope, record):
    """Its records are as they were extracted."""
    updated = UpdatedRecords("run", [record(1, conflicts_with=["r0"])])

    assert updated.undecided(store.index(scope)) == [record(1)]


@pytest.fixture
def finder(store):
    return PairFinder(store, UpdateSettings())


@pytest.fixture
def run(finder, scope, turn, record, keep):
    """A run that extracted where Ana lives, when it has looked for near-duplicates: its records and what it found."""
    keep(turns=[turn(0), turn(1)])
    records = [home(record, 1, "Porto")]
    return UpdatedRecords("run", records), finder.find(scope, records)


@pytest.fixture
def missed_by(store, scope, finder):
    """Return the ids of the near-duplicates that a run could not see."""

    def find(updated, found):
        return updated.missed_ids(scope, store.index(scope), finder, found.pairs, found.revision)

    return find


def home(record, number, city):
    return record(number, f"Ana: I live in {city}.", keywords=["live", city], memory_type="profile")


def test_nothing_is_missed_where_nobody_wrote(run, missed_by):
    """The revision is the one in which the run looked."""
    assert missed_by(*run) == set()


def test_a_near_duplicate_that_was_stored_meanwhile_is_missed(run, missed_by, store, scope, keep, record):
    """It is pending, under the turns of the run's own record that are not pending anyway."""
    updated, found = run
    keep(records=[home(record, 0, "Lisbon")])
    index = store.index(scope)

    ids = missed_by(updated, found)
    (task,) = updated.missed_tasks(index, ids)

    assert ids == {"r0", "r1"}
    assert (task.step, task.reason, task.turn_ids) == ("consolidate", MISSED, ["t1"])
    assert updated.missed_tasks(index, ids, [task]) == []


def test_what_the_run_looked_at_is_not_missed(missed_by, finder, scope, keep, turn, record):
    """Another run may write something else, and what this run makes of what it saw is its own."""
    keep(turns=[turn(0), turn(1)], records=[home(record, 0, "Lisbon")])
    own = home(record, 1, "Porto")
    found = finder.find(scope, [own])
    made = home(record, 2, "Porto, not Lisbon")
    merged = own.model_copy(update={"status": "merged", "superseded_by": "r2"})
    decision = DECISION.model_copy(update={"action": "MERGE", "result_id": "r2"})
    keep(records=[record(3, "Ana: Bees give honey.", keywords=["bees", "honey"])])

    assert missed_by(UpdatedRecords("run", [merged, made], decisions=[decision]), found) == set()


def test_what_is_not_alike_is_not_missed(run, missed_by, keep, record):
    """Another run may write what it likes."""
    keep(records=[record(0, "Ana: Bees give honey.", keywords=["bees", "honey"])])

    assert missed_by(*run) == set()


def test_a_run_decides_anew_on_its_records_as_they_were(store, scope, record):
    """What a merge made is gone, and what was marked is active again."""
    (marked,) = as_superseded([record(0)], record(1))
    merge = DECISION.model_copy(update={"action": "MERGE", "result_id": "r2"})
    updated = UpdatedRecords("run", [marked, record(1), record(2)], [record(9)], [merge])

    assert updated.undecided(store.index(scope)) == [record(0), record(1)]


def test_a_record_that_was_reloaded_counts_as_it_is_stored(store, scope, keep, record):
    """Another run may have marked it, or taken it away."""
    (marked,) = as_superseded([record(0)], record(9))
    keep(records=[marked, record(1)])
    reloaded = [record(0), record(1, "Ana: as it was."), record(2)]
    updated = UpdatedRecords("run", [*reloaded, record(3)], reloaded=["r0", "r1", "r2"])

    assert updated.undecided(store.index(scope)) == [record(3), record(1)]


@pytest.mark.parametrize(
    ("rechecks", "waits", "again"), [(1, False, True), (MAX_RECHECKS, False, False), (1, True, False)]
)
def test_a_run_looks_again_within_bounds(store, scope, rechecks, waits, again):
    """Not endlessly, and a person is not asked twice."""
    proposals = [Proposal(decision=DECISION, waits=waits)]

    assert UpdatedRecords("run").may_recheck(store.index(scope), rechecks, proposals) == again


def test_a_commit_that_was_cut_off_is_finished(run, missed_by, store, scope, keep, record):
    """What it has stored is in the audit trail, and would not be decided on again."""
    updated, found = run
    keep(records=[home(record, 0, "Lisbon"), *updated.records])

    assert missed_by(updated, found) == set()
    assert not updated.may_recheck(store.index(scope), 1, [])
