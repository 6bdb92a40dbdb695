"""What is decided on near-duplicates is proposed with care: in few questions, in any order, and never at a loss."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_engram.consolidation import resolution
from langgraph_engram.consolidation.merging import (
    LEAVES_OUT,
    LOSES_SOURCE,
    TWO_EVENTS,
    WITHOUT_WORDS,
    apply_decisions,
    merged,
    objection_to_merge,
)
from langgraph_engram.consolidation.resolution import (
    NAMED_TWICE,
    NO_SUCH_MEMBER,
    NO_VERDICT,
    ONE_MEMBER,
    OTHERS_STAY,
    ClusterResolver,
    connected_ids,
    resolve_cluster,
)
from langgraph_engram.llm.base import Failure
from langgraph_engram.nodes.consolidate import Consolidate
from langgraph_engram.papers.dimmem import PairResolver
from langgraph_engram.prompts.decide_update import UpdateVerdict, UpdateVerdicts
from langgraph_engram.schema import Pair, Record
from langgraph_engram.settings import UpdateSettings, VerifySettings
from langgraph_engram.testing import FakeModel

CLUSTERS = ClusterResolver()
MERGE = UpdateVerdict(action="MERGE", content="Ana camped by the lake, again.", reason="one thing")
SUPERSEDE = UpdateVerdict(action="SUPERSEDE", reason="it has changed")
CONFLICT = UpdateVerdict(action="CONFLICT", reason="they cannot both be true")
KEEP = UpdateVerdict(action="KEEP_BOTH", reason="two things")


def answer(*verdicts):
    return UpdateVerdicts(verdicts=list(verdicts))


def pair(older, newer, cosine=0.8):
    return Pair(older_id=older, newer_id=newer, jaccard=0.5, cosine=cosine)


@pytest.fixture
def update(store, scope, to_remember, keep, turn):
    """Decide on pairs among new and stored records, and carry it out; the model is at hand."""
    keep(turns=[turn(seq) for seq in range(8)])

    def run(answers, records, pairs, resolver=CLUSTERS):
        model = answers if isinstance(answers, FakeModel) else FakeModel(answers)
        state = {"request": to_remember(), "run_id": "run", "records": records, "pairs": pairs, "events": []}
        state |= Consolidate(store, model, UpdateSettings(), VerifySettings(), resolver)({**state, "tasks": []})
        return state | vars(apply_decisions(state["proposals"], records, store.index(scope).records))

    return run


def statuses(state):
    return {record.record_id: record.status for record in [*state["records"], *state["changed"]]}


def test_a_merge_makes_one_record_with_every_source(update, record):
    """The new record has the union of sources and keywords; the old ones point to it and are no less true."""
    group = [record(0, keywords=["lake"], location="lake"), record(1, keywords=["camp", "lake"], reason="rest")]

    state = update([answer(MERGE)], group, [pair("r0", "r1")])

    *old, made = state["records"]
    (decision,) = state["decisions"]
    assert (made.content, made.source_turn_ids, made.keywords) == (MERGE.content, ["t0", "t1"], ["lake", "camp"])
    assert (made.derived_from, made.status, made.reason, made.location) == (["r0", "r1"], "active", "rest", "lake")
    assert (made.seq, made.session_id) == (1, "s1")
    assert {(part.status, part.superseded_by, part.valid_to) for part in old} == {("merged", made.record_id, None)}
    assert (decision.action, decision.result_id, decision.jaccard, decision.cosine) == (
        "MERGE",
        made.record_id,
        0.5,
        0.8,
    )


def test_a_superseded_record_stays_and_ends(update, keep, record):
    """The older ones, stored or new, are true until the newest became true; the newest stays as it is."""
    keep(records=[record(0)])
    group = [record(1), record(2, event_start=record(1).mentioned_at, event_end=record(2).mentioned_at)]

    state = update([answer(SUPERSEDE)], group, [pair("r0", "r1"), pair("r1", "r2")])

    assert statuses(state) == {"r0": "superseded", "r1": "superseded", "r2": "active"}
    assert [record.record_id for record in state["changed"]] == ["r0"]
    assert {record.valid_to for record in [*state["changed"], state["records"][0]]} == {group[1].event_start}
    assert state["records"][1] == group[1]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", WITHOUT_WORDS),
        ("  ", WITHOUT_WORDS),
        ("Ana camped by the lake 14 times.", "14"),
        ("Ana camped by the lake with Bertolt.", "Bertolt"),
    ],
)
def test_a_merge_that_is_refused_keeps_both_and_says_why(update, record, content, reason):
    """What has no text, or a number or a name that is in no source, is not merged."""
    state = update([answer(MERGE.model_copy(update={"content": content}))], [record(0), record(1)], [pair("r0", "r1")])

    (decision,) = state["decisions"]
    assert (decision.action, decision.result_id) == ("KEEP_BOTH", None)
    assert reason in decision.reason
    assert set(statuses(state).values()) == {"active"}


def test_two_events_are_never_one(update, record):
    """Whatever a model says, episodes at two known times do not merge (DimMem section 3.4)."""
    first, second = (
        record(seq, memory_type="episodic", event_start=record(seq).mentioned_at, event_end=record(seq).mentioned_at)
        for seq in range(2)
    )

    state = update([answer(MERGE)], [first, second], [pair("r0", "r1")])

    assert [decision.reason for decision in state["decisions"]] == [TWO_EVENTS]


def test_several_clusters_share_a_question(update, record, monkeypatch):
    """One call decides on two clusters, each by its number; a small call holds one."""
    records, pairs = [record(seq) for seq in range(4)], [pair("r0", "r1"), pair("r2", "r3")]
    shared = FakeModel([answer(SUPERSEDE, MERGE.model_copy(update={"cluster": 2}))])
    alone = FakeModel([answer(KEEP)] * 2)

    state = update(shared, records, pairs)
    monkeypatch.setattr(resolution, "CALL_TOKENS", 50)
    update(alone, records, pairs)

    assert [
        [[member.record_id for member in cluster] for cluster in question.clusters] for question in shared.asked
    ] == [[["r0", "r1"], ["r2", "r3"]]]
    assert [decision.action for decision in state["decisions"]] == ["SUPERSEDE", "MERGE"]
    assert [len(question.clusters) for question in alone.asked] == [1, 1]


def test_the_paper_asks_pair_by_pair(update, record):
    """One question a pair, older first."""
    model = FakeModel([answer(KEEP)] * 3)
    pairs = [pair("r0", "r1"), pair("r1", "r2"), pair("r0", "r2")]

    update(model, [record(seq) for seq in range(3)], pairs, PairResolver())

    assert [[member.record_id for member in question.clusters[0]] for question in model.asked] == [
        ["r0", "r1"], ["r1", "r2"], ["r0", "r2"],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("verdicts", "note"),
    [
        ([], NO_VERDICT),
        ([UpdateVerdict(action="SUPERSEDE", members=[1, 9])], NO_SUCH_MEMBER),
        ([UpdateVerdict(action="SUPERSEDE", members=[0, 1])], NO_SUCH_MEMBER),
        ([UpdateVerdict(action="SUPERSEDE", members=[2, 2])], ONE_MEMBER),
        ([KEEP], KEEP.reason),
    ],
)
def test_what_is_not_said_clearly_keeps_all(record, verdicts, note):
    """No verdict, a member that is not there, a member alone: nothing changes, and the trail says why."""
    (resolution,) = resolve_cluster([record(0), record(1)], verdicts)

    assert (resolution.action, resolution.reason, len(resolution.members)) == ("KEEP_BOTH", note, 2)


@pytest.mark.parametrize(
    ("count", "verdicts", "resolved"),
    [
        (5, [(SUPERSEDE, 1, 4), (MERGE, 2, 3)],
         [("SUPERSEDE", "r0 r3", SUPERSEDE.reason), ("MERGE", "r1 r2", MERGE.reason),
          ("KEEP_BOTH", "r3 r4", OTHERS_STAY)]),
        (3, [(SUPERSEDE, 1, 2), (MERGE, 2, 3)],
         [("SUPERSEDE", "r0 r1", SUPERSEDE.reason), ("KEEP_BOTH", "r1 r2", NAMED_TWICE)]),
        (3, [(SUPERSEDE, 1, 3), (CONFLICT, 2, 3), (CONFLICT, 1, 2), (MERGE, 2, 3)],
         [("SUPERSEDE", "r0 r2", SUPERSEDE.reason), ("CONFLICT", "r1 r2", CONFLICT.reason)]),
    ],
    ids=["some of five", "named twice", "what supersedes may be in conflict"],
)  # fmt: skip
def test_a_verdict_may_name_members(record, count, verdicts, resolved):
    """Who stays stands decided, and may be named again; of one that leaves the first verdict holds."""
    named = [verdict.model_copy(update={"members": members}) for verdict, *members in verdicts]

    resolutions = resolve_cluster([record(seq) for seq in range(count)], named)

    assert [
        (found.action, " ".join(member.record_id for member in found.members), found.reason) for found in resolutions
    ] == resolved


def test_a_record_may_stand_in_several_conflicts(update, record):
    """Each link is kept, and nothing leaves."""
    pairs = [pair("r0", "r1"), pair("r1", "r2")]
    links = [CONFLICT.model_copy(update={"members": members}) for members in ([1, 2], [2, 3])]

    state = update([answer(*links)], [record(seq) for seq in range(3)], pairs)

    assert {found.record_id: found.conflicts_with for found in state["records"]} == {
        "r0": ["r1"], "r1": ["r0", "r2"], "r2": ["r1"],
    }  # fmt: skip
    assert set(statuses(state).values()) == {"active"}


def test_the_paper_has_three_actions(update, record):
    """Under DimMem a newer fact that contradicts an older one takes its place, and no conflict is asked for (Eq. 9)."""
    model = FakeModel([answer(CONFLICT)])

    state = update(model, [record(0), record(1)], [pair("r0", "r1")], PairResolver())

    assert statuses(state) == {"r0": "superseded", "r1": "active"}
    assert "CONFLICT" not in model.asked[0].render()[0].text
    assert "contradicts or corrects the older" in model.asked[0].render()[0].text


RECORDS = [
    Record(record_id=name, content=name, session_id="s", event_id="e", seq=seq, source_turn_ids=[name])
    for seq, name in enumerate("abcde")
]
DECIDED = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 4), st.sampled_from([MERGE, SUPERSEDE, CONFLICT, KEEP])).filter(
        lambda pair: pair[0] < pair[1]
    ),
    unique_by=lambda pair: pair[:2],
)


@given(DECIDED, st.randoms())
def test_pairs_in_any_order_give_the_same_resolutions(drawn, random):
    """The same verdicts in another order change nothing, and nobody is merged or superseded twice."""
    decided = [(((RECORDS[older], RECORDS[newer]),), answer(verdict)) for older, newer, verdict in drawn]

    resolutions = PairResolver().resolve(decided)

    assert PairResolver().resolve(random.sample(decided, len(decided))) == resolutions
    leaving = [
        member.record_id
        for found in resolutions
        if found.action in ("MERGE", "SUPERSEDE")
        for member in (found.members if found.action == "MERGE" else found.members[:-1])
    ]
    assert len(leaving) == len(set(leaving))


def test_a_question_without_an_answer_is_left_to_do(update, record, turn, monkeypatch):
    """Its pairs are kept and not decided, and the turns of its new records are pending; its sibling is decided on."""
    monkeypatch.setattr(resolution, "CALL_TOKENS", 50)
    pairs = [pair("r0", "r1"), pair("r2", "r3")]

    state = update([Failure("timeout", "late"), answer(SUPERSEDE)], [record(seq) for seq in range(4)], pairs)

    assert [(decision.action, decision.pair) for decision in state["decisions"]] == [("SUPERSEDE", ["r2", "r3"])]
    assert [(task.step, task.turn_ids, task.reason) for task in state["failures"]] == [
        ("consolidate", ["t0", "t1"], "late")
    ]
    assert statuses(state) == {"r0": "active", "r1": "active", "r2": "superseded", "r3": "active"}


def test_a_decision_has_an_id_of_its_run(update, record):
    """Done again, a run leaves one line in the trail; another run's decision on the same records is another line."""
    first, again = (update([answer(MERGE)], [record(0), record(1)], [pair("r0", "r1")]) for _ in range(2))

    assert first["decisions"][0].decision_id == again["decisions"][0].decision_id
    assert first["records"][-1] == again["records"][-1]


@given(st.lists(st.lists(st.sampled_from("abcd"), max_size=3), min_size=1, max_size=5))
def test_a_merge_conserves(sources):
    """A merged record cites all that its group cites; one that does not would be refused."""
    group = [
        Record(record_id=str(number), content="x", session_id="s", event_id="e", seq=0, source_turn_ids=cited)
        for number, cited in enumerate(sources)
    ]

    made = merged(group, "x")

    assert {turn_id for record in group for turn_id in record.source_turn_ids} == set(made.source_turn_ids)
    assert objection_to_merge(group, made) == ""
    if made.source_turn_ids:
        poorer = made.model_copy(update={"source_turn_ids": made.source_turn_ids[1:]})
        assert objection_to_merge(group, poorer) == LOSES_SOURCE


@pytest.mark.parametrize(
    ("content", "objection"),
    [
        ("Ana moved from Lisbon to Porto for 1,200 euros.", ""),
        ("Ana moved from Lisbon for 1200 euros.", LEAVES_OUT),
        ("Ana moved from Lisbon to Porto.", LEAVES_OUT),
    ],
)
def test_a_merged_text_holds_the_names_and_numbers_of_its_parts(record, content, objection):
    """A small model merged two homes into the text of the first. Papers, which verify nothing, take its words."""
    group = [record(0, "Ana: I left Lisbon, it cost 1,200 euros."), record(1, "Ana: Now I live in Porto.")]

    assert objection_to_merge(group, merged(group, content)) == objection
    assert objection_to_merge(group, merged(group, content), verify=False) == ""


LINKS = st.lists(
    st.tuples(st.sampled_from("abcdefgh"), st.sampled_from("abcdefgh"), st.integers(70, 99)).filter(
        lambda link: link[0] != link[1]
    ),
    max_size=12,
)


@given(LINKS, st.integers(2, 8), st.randoms())
def test_clusters_share_no_record_in_whatever_order_pairs_come(links, most, random):
    """They stay within a limit; where all fit into one, all that is paired stands in some cluster."""
    pairs = [pair(older, newer, cosine / 100) for older, newer, cosine in links]

    found = connected_ids(pairs, most)

    members = [record_id for cluster in found for record_id in cluster]
    assert len(members) == len(set(members))
    assert all(2 <= len(cluster) <= most for cluster in found)
    assert connected_ids(random.sample(pairs, len(pairs)), most) == found
    if most == 8:
        assert set(members) == {record_id for link in links for record_id in link[:2]}
        assert all(any({older, newer} <= set(cluster) for cluster in found) for older, newer, _ in links)


def test_a_large_cluster_comes_apart_at_its_weakest_link():
    """Two close groups that one weak pair links are two clusters where three records are too many.

    What was not asked about is asked when one more record resembles the survivors of both parts.
    """
    pairs = [pair("a", "b", 0.95), pair("b", "c", 0.71), pair("c", "d", 0.9)]
    apart = connected_ids(pairs, 3)

    later = connected_ids([pair(cluster[-1], "new", 0.8) for cluster in apart], 3)

    assert apart == [["a", "b"], ["c", "d"]]
    assert connected_ids(pairs, 4) == [["a", "b", "c", "d"]]
    assert later == [["b", "d", "new"]]
