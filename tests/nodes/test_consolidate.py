"""What is decided on look-alikes changes their status, keeps every source, and does not depend on order."""

from itertools import permutations

import pytest

from langgraph_engram.model import Failure
from langgraph_engram.nodes.consolidate import NO_ANSWER, Consolidate, apply
from langgraph_engram.prompts.decide_update import UpdateVerdict
from langgraph_engram.settings import UpdateSettings
from langgraph_engram.state import Pair
from langgraph_engram.testing import FakeModel

MERGE = UpdateVerdict(action="MERGE", content="Ana camped by the lake twice.", reason="one thing")


def pair(older, newer):
    return Pair(older_id=older, newer_id=newer, jaccard=0.5, cosine=0.8)


@pytest.fixture
def consolidate(store, to_remember):
    """Decide on pairs among new and stored records."""

    def run(answers, records, pairs, **settings):
        node = Consolidate(store, FakeModel(answers), UpdateSettings(**settings))
        return node({"request": to_remember(), "run_id": "run", "records": records, "pairs": pairs})

    return run


def test_a_merge_makes_one_record_with_every_source(record):
    """The new record has the union of sources and keywords and the widest times; the old ones point to it."""
    group = [record(0, keywords=["lake"]), record(1, keywords=["camp", "lake"], reason="rest")]

    outcome = apply("run", group, MERGE, [pair("r0", "r1")])

    (made,) = outcome.made
    assert (made.content, made.source_turn_ids, made.keywords) == (MERGE.content, ["t0", "t1"], ["lake", "camp"])
    assert (made.derived_from, made.status, made.reason) == (["r0", "r1"], "active", "rest")
    assert [(one.status, one.superseded_by) for one in outcome.changed] == [("merged", made.record_id)] * 2
    assert (outcome.decision.action, outcome.decision.result_id) == ("MERGE", made.record_id)
    assert (outcome.decision.jaccard, outcome.decision.cosine) == (0.5, 0.8)


def test_a_superseded_record_stays_and_ends(record):
    """Nothing is deleted: the older record's validity ends when the newer one was told."""
    group = [record(0), record(1), record(2)]

    outcome = apply("run", group, UpdateVerdict(action="SUPERSEDE"), [])

    assert outcome.made == []
    assert [(one.record_id, one.status, one.superseded_by) for one in outcome.changed] == [
        ("r0", "superseded", "r2"),
        ("r1", "superseded", "r2"),
    ]
    assert {one.valid_to for one in outcome.changed} == {group[2].mentioned_at}


@pytest.mark.parametrize(
    "verdict",
    [UpdateVerdict(action="KEEP_BOTH"), UpdateVerdict(action="MERGE"), UpdateVerdict(action="MERGE", content=" ")],
)
def test_a_merge_without_words_keeps_both(record, verdict):
    """What cannot be worded is not merged."""
    outcome = apply("run", [record(0), record(1)], verdict, [])

    assert (outcome.made, outcome.changed) == ([], [])
    assert outcome.decision.action == "KEEP_BOTH"


@pytest.mark.parametrize("verdict", [MERGE, UpdateVerdict(action="SUPERSEDE"), UpdateVerdict(action="KEEP_BOTH")])
def test_every_source_is_still_cited(consolidate, record, verdict):
    """Whatever is decided, each cited turn is cited by some record that is kept."""
    records = [record(0), record(1)]

    update = consolidate([verdict], records, [pair("r0", "r1")])

    assert {one for record in update["records"] for one in record.source_turn_ids} == {"t0", "t1"}
    assert {record.record_id for record in update["records"]} >= {"r0", "r1"}
    assert any(record.status == "active" for record in update["records"])


@pytest.mark.parametrize("verdict", [MERGE, UpdateVerdict(action="SUPERSEDE")])
def test_a_chain_ends_in_one_survivor_in_every_order(store, to_remember, record, verdict):
    """A~B, B~C and whatever order of pairs and records: one question, one survivor, always the same."""
    survivors = set()
    for pairs in permutations([pair("r0", "r1"), pair("r1", "r2")]):
        for records in permutations([record(0), record(1), record(2)]):
            model = FakeModel([verdict])
            node = Consolidate(store, model, UpdateSettings())
            state = {"request": to_remember(), "run_id": "run", "records": list(records), "pairs": list(pairs)}

            update = node(state)

            assert [[one.record_id for one in question.records] for question in model.asked] == [["r0", "r1", "r2"]]
            survivors.add(tuple(one.record_id for one in update["records"] if one.status == "active"))
    assert len(survivors) == 1
    assert len(next(iter(survivors))) == 1


def test_older_records_change_beside_new_ones(consolidate, keep, record):
    """A stored record that is superseded stands among the changed, a new one among the run's records."""
    keep(records=[record(0)])

    update = consolidate([UpdateVerdict(action="SUPERSEDE")], [record(1)], [pair("r0", "r1")])

    assert [(one.record_id, one.status) for one in update["changed"]] == [("r0", "superseded")]
    assert [(one.record_id, one.status) for one in update["records"]] == [("r1", "active")]


def test_a_question_without_an_answer_changes_nothing(consolidate, record):
    """A failure keeps both, and says so in the audit trail; its sibling is decided on."""
    pairs = [pair("r0", "r1"), pair("r2", "r3")]

    update = consolidate(
        [Failure("timeout", "late"), UpdateVerdict(action="SUPERSEDE")], [record(one) for one in range(4)], pairs
    )

    assert [(one.action, one.reason) for one in update["decisions"]] == [("KEEP_BOTH", NO_ANSWER), ("SUPERSEDE", "")]
    assert [one.status for one in update["records"]] == ["active", "active", "superseded", "active"]


def test_a_large_cluster_is_decided_on_by_its_newest(consolidate, record):
    """One question holds at most so many records; the older ones stay as they are."""
    records = [record(one) for one in range(5)]

    update = consolidate([MERGE], records, [pair(f"r{one}", f"r{one + 1}") for one in range(4)], max_cluster=3)

    assert [one.status for one in update["records"][:5]] == ["active", "active", "merged", "merged", "merged"]


def test_a_decision_has_the_same_id_however_often_it_is_made(record):
    """A run that is done again leaves one line in the audit trail."""
    first, second = (apply("run", [record(0), record(1)], MERGE, []) for _ in range(2))

    assert first.decision.decision_id == second.decision.decision_id
    assert first.made == second.made
