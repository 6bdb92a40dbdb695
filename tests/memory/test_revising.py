"""What update decisions did can be followed, taken back, and made to wait for a person."""

import asyncio
from datetime import UTC, datetime
from shutil import copytree

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from langgraph_engram.consolidation.approval import AWAITED, REJECTED
from langgraph_engram.errors import InvalidInput, InvalidSetting
from langgraph_engram.graphs.write import build_write_graph
from langgraph_engram.memory import Memory
from langgraph_engram.rule_model.model import RuleModel
from langgraph_engram.schema import Scope
from langgraph_engram.settings import Settings, UpdateSettings
from langgraph_engram.state import Message, RememberRequest
from langgraph_engram.stores.base import Changes
from langgraph_engram.testing import FakeModel
from tests.conftest import by_rule

pytestmark = pytest.mark.usefixtures("syntheses_at_once")

HOMES = ("Lisbon", "Porto", "Faro")
BEES = ("I keep four bees' hives in the garden.", "I keep four bees' hives in the garden!")
ASKING = Settings(update=UpdateSettings(approve=["SUPERSEDE", "MERGE"]))


def remember_day(memory, user, text, day):
    """Remember one sentence of Ana's, in a session of its own."""
    said = [{"speaker": "Ana", "text": text, "said_at": f"2024-03-{day:02}T09:00:00Z"}]
    return memory.remember(said, user_id=user, session_id=f"day-{day}", close_session=True)


def moved(memory, user, *homes):
    """Mention one home after another, and return the receipts."""
    return [remember_day(memory, user, f"I live in {home}.", day) for day, home in enumerate(homes, start=1)]


def standing(memory, user):
    """Return the status of each record by its text."""
    return {record.content: record.status for record in memory.show("records", user)}


def everything(memory, user):
    return [memory.show(kind, user) for kind in ("records", "decisions", "syntheses", "turns", "events")]


def test_undo_restores_what_was_superseded(memory, user):
    """The old home stands again, open-ended; the decision stays, marked; a second time nothing is left to undo."""
    _, second = moved(memory, user, *HOMES[:2])
    before = standing(memory, user)

    receipt = memory.undo(second.run_id, user_id=user)
    after = everything(memory, user)
    again = memory.undo(second.run_id, user_id=user)

    old, _ = memory.show("records", user)
    (decision,) = memory.show("decisions", user)
    assert before == {"Ana: I live in Lisbon.": "superseded", "Ana: I live in Porto.": "active"}
    assert set(standing(memory, user).values()) == {"active"}
    assert (old.superseded_by, old.valid_to) == (None, None)
    assert decision.run_id == second.run_id
    assert decision.undone_at is not None
    assert (receipt.decisions, receipt.restored, receipt.archived, receipt.already_undone) == (1, 1, 0, False)
    assert (again.decisions, again.restored, again.already_undone) == (0, 0, True)
    assert everything(memory, user) == after


def test_an_edited_record_takes_the_place_of_the_old_one(memory, user):
    """It keeps the sources and what its text still says; the old one is in its history, and the edit is undone once."""
    remember_day(memory, user, "I flew to Lisbon with Joao on 2 February 2024.", 1)
    (old,) = memory.show("records", user)

    receipt = memory.update(old.record_id, " Ana: I flew to Porto with Joao. ", user_id=user)

    new = memory.get(receipt.record.record_id, user_id=user)
    assert new == receipt.record
    assert (new.content, new.source_turn_ids) == ("Ana: I flew to Porto with Joao.", old.source_turn_ids)
    assert (old.event_start is None, new.event_start, "Lisbon" in new.keywords) == (False, None, False)
    lineage = memory.history(new.record_id, user_id=user).records
    assert {record.record_id for record in lineage} == {old.record_id, new.record_id}
    assert new.record_id in {
        found.record.record_id for found in memory.search("Joao", user_id=user).evidence if found.record
    }
    undone = asyncio.run(memory.aundo(receipt.run_id, user_id=user))
    assert (undone.restored, undone.archived) == (1, 1)
    assert memory.get(old.record_id, user_id=user).status == "active"


def test_what_cannot_be_edited_is_refused_and_left(memory, user):
    """The same text changes nothing; no text, another's record, and one that is not active are errors."""
    moved(memory, user, *HOMES[:2])
    old, new = memory.show("records", user)
    before = everything(memory, user)

    assert memory.update(new.record_id, new.content, user_id=user).run_id is None
    for record_id, text, message in (
        (new.record_id, " ", "engram forget --record"),
        (old.record_id, "Ana: I live in Faro.", f"superseded.*{new.record_id}"),
        ("nobody's", "Ana: I live in Faro.", "unknown record"),
    ):
        with pytest.raises(InvalidInput, match=message):
            memory.update(record_id, text, user_id=user)
    with pytest.raises(InvalidInput, match="unknown record"):
        memory.update(new.record_id, "Eve: I live in Faro.", user_id=f"{user}-eve")
    assert everything(memory, user) == before


def test_the_first_characters_of_an_id_are_enough_everywhere(memory, user, record):
    """As they are shown; where several records begin so, the error names them, and nothing is changed."""
    ids = ["beadf00d-1", "beadf11d-2", "beadf11d-3"]
    made = [record(seq, f"Ana: I own {seq} bees.", record_id=name) for seq, name in enumerate(ids)]
    memory.store.commit(Scope(user_id=user), Changes(records=made))
    uses = (
        lambda name: memory.get(name, user_id=user),
        lambda name: memory.history(name, user_id=user).records[0],
        lambda name: memory.update(name, "Ana: I own a boat.", user_id=user).record,
        lambda name: memory.forget(record_id=name, user_id=user),
    )

    for use in uses:
        with pytest.raises(InvalidInput, match=r"several records begin with 'beadf11': beadf11d-2, beadf11d-3$"):
            use("beadf11")
        with pytest.raises(InvalidInput, match="unknown record 'bea'"):
            use("bea")
        with pytest.raises(InvalidInput, match="unknown record 'beadf00d-11'"):
            use("beadf00d-11")
    assert {item.record_id for item in memory.show("records", user)} == {*ids}
    assert [use("beadf0").record_id for use in uses[:2]] == [ids[0]] * 2
    edited = uses[2]("beadf0")
    assert memory.get(ids[0], user_id=user).superseded_by == edited.record_id
    assert uses[3]("beadf0").record_id == ids[0]
    assert {item.record_id for item in memory.show("records", user)} == {*ids[1:]}


def test_a_decision_that_waits_on_an_edited_record_is_made_anew(waiting, user):
    """What a person is asked about is not what stands: nothing is superseded behind the edit."""
    memory = waiting.memory
    old = next(record for record in memory.show("records", user) if record.status == "active")
    edited = memory.update(old.record_id, "Ana: I live in Lisbon, near the river.", user_id=user).record

    memory.approve(waiting.receipts[1].run_id, "approve", user_id=user)

    assert standing(memory, user)[edited.content] == "active"
    assert memory.get(old.record_id, user_id=user).status == "merged"
    assert [task.step for task in memory.status(user).pending] == ["consolidate"]


@pytest.fixture
def taken_apart(memory, user):
    """The receipt of an undo that takes two texts apart which had been merged."""
    remember_day(memory, user, BEES[0], 1)
    second = remember_day(memory, user, BEES[1], 2)
    assert sorted(record.status for record in memory.show("records", user)) == ["active", "merged", "merged"]
    return memory.undo(second.run_id, user_id=user)


def test_undo_archives_what_a_merge_made(memory, user, taken_apart):
    """Both texts are active again, what was made of them is stored and not found, and syntheses over it turn stale."""
    assert sorted(record.status for record in memory.show("records", user)) == ["active", "active", "archived"]
    stale = [synthesis for synthesis in memory.show("syntheses", user) if synthesis.status == "stale"]
    assert (taken_apart.restored, taken_apart.archived, taken_apart.stale_syntheses) == (2, 1, len(stale))
    assert stale
    assert {passage.record.status for passage in memory.search("hives", user_id=user).evidence if passage.record} == {
        "active"
    }


def test_a_synthesis_of_what_was_undone_is_pending_and_rewritten_by_a_retry(memory, user, taken_apart):
    """The status says that it is left to do; a retry writes it, and then nothing is left."""
    pending = memory.status(user).pending

    receipt = memory.retry(user_id=user)

    assert {task.step for task in pending} == {"synthesize"}
    assert receipt.syntheses == len(pending) > 0
    assert {synthesis.status for synthesis in memory.show("syntheses", user)} == {"active"}
    assert memory.status(user).pending == []


def test_what_was_undone_is_not_decided_again(memory, user, taken_apart):
    """A person's word holds: mentioning the same again merges nothing that was taken apart."""
    again = remember_day(memory, user, BEES[1], 2)

    assert again.decisions == 0
    assert [decision.undone_at is not None for decision in memory.show("decisions", user)] == [True]


def test_a_run_that_another_builds_on_is_undone_after_it(memory, user):
    """Lisbon, Porto, Faro: the first change cannot be taken back before the second."""
    _, second, third = moved(memory, user, *HOMES)

    with pytest.raises(InvalidInput, match=third.run_id):
        memory.undo(second.run_id, user_id=user)
    memory.undo(third.run_id, user_id=user)
    memory.undo(second.run_id, user_id=user)

    assert set(standing(memory, user).values()) == {"active"}


@pytest.mark.parametrize("whose", ["user", "another"])
def test_an_unknown_run_is_an_error(memory, user, whose):
    """A run that decided on nothing, or on another user's records, is not undone."""
    first, second = moved(memory, user, *HOMES[:2])

    run_id, who = (first.run_id, user) if whose == "user" else (second.run_id, f"{user}-2")
    with pytest.raises(InvalidInput, match="kind decisions"):
        memory.undo(run_id, user_id=who)


def test_history_goes_back_and_forth(memory, user):
    """From any member of a chain: all of it, in order of time, with the decisions between them."""
    moved(memory, user, *HOMES)
    remember_day(memory, user, BEES[0], 9)
    records = {record.content: record for record in memory.show("records", user)}

    lineage = memory.history(records["Ana: I live in Porto."].record_id, user_id=user)

    assert [record.content for record in lineage.records] == [f"Ana: I live in {home}." for home in HOMES]
    assert [decision.action for decision in lineage.decisions] == ["SUPERSEDE", "SUPERSEDE"]
    with pytest.raises(InvalidInput, match="unknown record"):
        memory.history("nothing", user_id=user)


@pytest.fixture
def user(request):
    """A user that no other test of the file has, unless a person is asked: each of those tests has a folder."""
    return "waiting" if "waiting" in request.fixturenames else request.node.name


@pytest.fixture(scope="module")
def asked_for_approval(tmp_path_factory):
    """The folder of a memory in which the second home waits for approval, for tests to copy, and the receipts."""
    folder = tmp_path_factory.mktemp("waiting") / "store"
    with Memory(folder, "rules", encoder="hashing", settings=ASKING) as memory:
        return folder, moved(memory, "waiting", *HOMES[:2])


@pytest.fixture
def waiting(asked_for_approval, tmp_path):
    """That memory, which can be let go of and opened again."""

    class Opened:
        def __init__(self, receipts):
            self.receipts = [*receipts]
            self.open()

        def open(self, settings=ASKING):
            model = FakeModel([by_rule] * 200)
            self.memory = Memory(tmp_path / "store", model, encoder="hashing", settings=settings)
            self.asked = model.asked

        def reopen(self, settings=ASKING):
            self.memory.close()
            self.open(settings)

    folder, receipts = asked_for_approval
    copytree(folder, tmp_path / "store")
    opened = Opened(receipts)
    yield opened
    opened.memory.close()


def test_a_decision_waits_for_a_person(waiting, user):
    """Nothing is carried out; the turns are stored and found, and the status says what is awaited."""
    memory, second = waiting.memory, waiting.receipts[1]

    (approval,) = memory.approvals(user)

    assert second.pending == second.stored_turns == 1
    assert AWAITED in {task.reason for task in memory.status(user).pending}
    assert approval.run_id == second.run_id
    (decision,) = approval.decisions
    assert (decision.action, decision.old, decision.new) == (
        "SUPERSEDE",
        ["Ana: I live in Lisbon."],
        "Ana: I live in Porto.",
    )
    assert standing(memory, user) == {"Ana: I live in Lisbon.": "active"}
    assert [turn.text for turn in memory.show("turns", user)] == ["I live in Lisbon.", "I live in Porto."]


@pytest.mark.parametrize("settings", [ASKING, Settings()])
def test_approval_is_not_asked_away_by_a_retry(waiting, user, settings):
    """A retry leaves a run that waits where it is, whatever the settings under which the memory is opened again."""
    waiting.reopen(settings)

    receipt = waiting.memory.retry(user_id=user)

    assert (receipt.records, receipt.decisions) == (0, 0)
    assert len(waiting.memory.approvals(user)) == 1


@pytest.mark.parametrize("said", ["approve", "reject"])
def test_of_two_decisions_about_one_record_the_second_is_made_anew(waiting, user, said):
    """What waited while the record was superseded keeps everything, and is pending: nobody is asked twice at once."""
    memory = waiting.memory
    waiting.receipts.append(remember_day(memory, user, f"I live in {HOMES[2]}.", 3))
    second, third = (receipt.run_id for receipt in waiting.receipts[1:])

    memory.approve(third, "approve", user_id=user)
    memory.approve(second, said, user_id=user)

    assert memory.approvals(user) == []
    now = standing(memory, user)
    assert now[f"Ana: I live in {HOMES[0]}."] == "superseded"
    assert now[f"Ana: I live in {HOMES[2]}."] == "active"
    assert [task.step for task in memory.status(user).pending] == ["consolidate"]
    memory.retry(user_id=user)
    (again,) = memory.approvals(user)
    memory.approve(again.run_id, "approve", user_id=user)
    assert sorted(standing(memory, user).values()) == ["active", "superseded", "superseded"]
    assert memory.status(user).pending == []


@pytest.mark.parametrize("settings", [ASKING, Settings()])
@pytest.mark.parametrize("one_by_one", [False, True])
@pytest.mark.parametrize("said", ["approve", "reject"])
def test_a_person_s_word_is_carried_out_after_a_restart(waiting, user, said, one_by_one, settings):
    """Killed and opened again: the decision is carried out or rejected, and no model decides anew."""
    waiting.reopen(settings)
    (approval,) = waiting.memory.approvals(user)
    answer = {decision.decision_id: said for decision in approval.decisions} if one_by_one else said

    receipt = waiting.memory.approve(approval.run_id, answer, user_id=user)

    (decision,) = waiting.memory.show("decisions", user)
    approved = said == "approve"
    assert (decision.action, decision.reason == REJECTED) == ("SUPERSEDE" if approved else "KEEP_BOTH", not approved)
    assert standing(waiting.memory, user) == {
        "Ana: I live in Lisbon.": "superseded" if approved else "active",
        "Ana: I live in Porto.": "active",
    }
    assert (receipt.stored_turns, receipt.pending, receipt.decisions) == (1, 0, 1)
    assert waiting.memory.approvals(user) == []
    assert waiting.memory.status(user).pending == []
    assert "DecideUpdate" not in {question.name for question in waiting.asked}


@pytest.mark.parametrize(
    ("run_id", "answer", "message"),
    [
        ("nothing", "approve", "waits for no approval"),
        (None, "perhaps", "approve"),
        (None, {}, "approve"),
        (None, {"d": "approve"}, "neither"),
    ],
)
def test_an_answer_that_does_not_fit_changes_nothing(waiting, user, run_id, answer, message):
    """An unknown run, another word, a decision left open, another user: an error, and the run waits on."""
    with pytest.raises(InvalidInput, match=message):
        waiting.memory.approve(run_id or waiting.receipts[1].run_id, answer, user_id=user)

    with pytest.raises(InvalidInput, match="no approval"):
        waiting.memory.approve(waiting.receipts[1].run_id, "approve", user_id="another")
    assert len(waiting.memory.approvals(user)) == 1


def test_a_run_is_not_undone_while_a_person_is_asked_to_build_on_it(waiting, user):
    """The error says which run waits, and what to do; after that it can be undone."""
    memory, second = waiting.memory, waiting.receipts[1]
    memory.approve(second.run_id, "approve", user_id=user)
    third = remember_day(memory, user, f"I live in {HOMES[2]}.", 3)

    with pytest.raises(InvalidInput, match=f"engram approve {third.run_id}"):
        memory.undo(second.run_id, user_id=user)
    memory.approve(third.run_id, "reject", user_id=user)

    assert memory.undo(second.run_id, user_id=user).restored == 1


def test_a_graph_without_a_checkpointer_says_what_to_do(memory, user):
    """It cannot wait, and says so before a model is asked."""
    moved(memory, user, HOMES[0])
    model = FakeModel([by_rule] * 20)
    graph = build_write_graph(memory.store, model, model, ASKING)
    message = Message(speaker="Ana", text="I live in Porto.")

    with pytest.raises(InvalidSetting, match="checkpointer"):
        graph.invoke({"request": RememberRequest(**Scope(user_id=user).model_dump(), messages=[message])})

    assert "DecideUpdate" not in {question.name for question in model.asked}


def stopped_graph(memory, user):
    """Return a graph that stands before the decision on a second home, and its thread."""
    graph = build_write_graph(memory.store, memory.model, RuleModel(), ASKING, InMemorySaver())
    for day, home in enumerate(HOMES[:2], start=1):
        thread = {"configurable": {"thread_id": home}}
        said = Message(speaker="Ana", text=f"I live in {home}.", said_at=datetime(2024, 3, day, tzinfo=UTC))
        graph.invoke({"request": RememberRequest(user_id=user, session_id=home, messages=[said])}, thread)
    return graph, thread


@pytest.mark.parametrize(
    ("answer", "approved"),
    [
        ("approve", True),
        (" Yes", True),
        (True, True),
        ({"approve": True}, True),
        ("reject", False),
        ("no", False),
        (False, False),
        ({"approve": False}, False),
        ({"decisions": [{"type": "approve"}]}, True),
        ({"decisions": [{"type": "reject", "message": "It is still true."}]}, False),
    ],
)
def test_a_graph_is_resumed_with_any_plain_answer(memory, user, answer, approved):
    """By a word, a boolean or what an inbox of agents sends."""
    graph, thread = stopped_graph(memory, user)

    graph.invoke(Command(resume=answer), thread)

    assert [decision.action for decision in memory.show("decisions", user)] == [
        "SUPERSEDE" if approved else "KEEP_BOTH"
    ]


def test_what_is_no_answer_is_refused_and_asked_again(memory, user):
    """With how to answer; nothing is decided by it."""
    graph, thread = stopped_graph(memory, user)

    for nonsense in ("perhaps", 1, {"approve": "maybe"}, ["approve"], {}, {"decisions": [{"type": "edit"}]}):
        (interrupt,) = graph.invoke(Command(resume=nonsense), thread)["__interrupt__"]
        assert '"approve" or "reject"' in interrupt.value["problem"]
        assert '"approve" or "reject"' in interrupt.value["answers"]
        assert memory.show("decisions", user) == []
    graph.invoke(Command(resume="reject"), thread)

    assert [decision.action for decision in memory.show("decisions", user)] == ["KEEP_BOTH"]
