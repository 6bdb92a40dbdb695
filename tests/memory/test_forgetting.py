"""What is forgotten is erased everywhere, and nothing else is."""

from itertools import islice

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_engram.errors import InvalidInput
from langgraph_engram.memory import Memory
from langgraph_engram.rule_model.model import RULES, RuleModel
from langgraph_engram.schema import Scope
from langgraph_engram.settings import Settings, UpdateSettings
from langgraph_engram.testing import FakeModel

pytestmark = pytest.mark.usefixtures("syntheses_at_once", "model_writes_all")

KINDS = ("turns", "events", "boundaries", "records", "syntheses", "decisions")
SECRETS = ("Quillhaven", "Brontavia", "Zephyrmoor", "Mistelgau")
BEES = ("I keep four hives of Vesperine bees in the garden.", "I keep four hives of Vesperine bees in the garden!")


@pytest.fixture
def memory(folder):
    with Memory(folder, "rules", encoder="hashing") as opened:
        yield opened


def remember_day(memory, text, day, user="ana", **more):
    """Remember what Ana says on a day, and what Ben says to it, as a session of its own."""
    said = [
        {"speaker": "Ana", "text": text, "said_at": f"2024-03-{day:02}T09:00:00Z", "external_id": f"D{day}:1"},
        {"speaker": "Ben", "text": f"I drove {day} miles today.", "said_at": f"2024-03-{day:02}T09:01:00Z"},
    ]
    return memory.remember(said, user_id=user, session_id=f"day-{day}", **{"close_session": True, **more})


def moved(memory, user="ana", homes=SECRETS[:3]):
    """Mention one home after another, each under a name that occurs nowhere else."""
    return [remember_day(memory, f"I live in {home}.", day, user) for day, home in enumerate(homes, start=1)]


def all_shown(memory, user="ana"):
    """Return all that any method returns of a user, as one text."""
    shown = [item.model_dump_json() for kind in KINDS for item in memory.show(kind, user)]
    found = [
        memory.search(query, user_id=user).model_dump_json(exclude={"query", "run_id", "usage"})
        for query in ("home", "live in")
    ]
    return "\n".join([*shown, *found, memory.status(user).model_dump_json()])


def on_disk(folder):
    """Every byte that the store and its checkpoints have on disk."""
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def test_a_user_is_forgotten_whole(memory, folder):
    """Nothing is shown, found or left on disk, and the receipt counts what there was: a second time, nothing."""
    moved(memory)
    memory.recall(f"Who lives in {SECRETS[1]}?", user_id="ana")
    before = {kind: len(memory.show(kind, "ana")) for kind in KINDS}

    nobody, receipt, again = (memory.forget(user_id=user) for user in ("nobody", "ana", "ana"))

    assert {kind: getattr(receipt, kind) for kind in KINDS} == before
    assert (receipt.runs, receipt.pending, receipt.residue) == (0, 0, [])
    assert [memory.show(kind, "ana") for kind in KINDS] == [[]] * len(KINDS)
    assert memory.search("home", user_id="ana").evidence == []
    assert not [secret for secret in SECRETS if secret.encode() in on_disk(folder)]
    assert [(empty.turns, empty.runs, empty.residue) for empty in (nobody, again)] == [(0, 0, [])] * 2


def test_names_are_checked(memory):
    """An empty name is none, a record is forgotten by itself, and a name that several turns bear is not enough."""
    for day in (1, 2):
        said = [{"speaker": "Ana", "text": f"Number {day}.", "external_id": "first"}]
        memory.remember(said, user_id="ana", session_id=f"s{day}")

    with pytest.raises(InvalidInput, match="session_id"):
        memory.forget(user_id="ana", session_id="")
    with pytest.raises(InvalidInput, match="beside"):
        memory.forget(user_id="ana", session_id="s1", record_id="r")
    with pytest.raises(InvalidInput, match="'s1', 's2'"):
        memory.forget(user_id="ana", turn_id="first")
    assert memory.forget(user_id="ana", turn_id="first", session_id="s2").turns == 1


def test_a_session_is_forgotten_and_what_it_replaced_stands_by_what_came_after(memory, folder):
    """The second of three homes goes; the first stays replaced, by the third, and nobody tells of the second."""
    moved(memory)
    memory.recall(f"Who lives in {SECRETS[1]}?", user_id="ana")

    receipt = memory.forget(user_id="ana", session_id="day-2")

    status = {record.content: record.status for record in memory.show("records", "ana")}
    assert (receipt.turns, receipt.events, receipt.records, receipt.residue) == (2, 1, 2, [])
    assert status[f"Ana: I live in {SECRETS[0]}."] == "superseded"
    assert status[f"Ana: I live in {SECRETS[2]}."] == "active"
    assert SECRETS[1] not in all_shown(memory)
    assert SECRETS[1].encode() not in on_disk(folder)
    assert SECRETS[0].encode() in on_disk(folder)


def test_what_the_forgotten_had_replaced_is_true_again(memory):
    """Nothing that is stored says that she moved on."""
    moved(memory, homes=SECRETS[:2])

    memory.forget(user_id="ana", turn_id="D2:1")

    (first,) = (record for record in memory.show("records", "ana") if SECRETS[0] in record.content)
    assert (first.status, first.superseded_by, first.valid_to) == ("active", None, None)
    assert memory.show("decisions", "ana") == []


def test_a_record_goes_with_what_it_was_made_of_and_is_not_extracted_again(memory):
    """Its turns stay as they were said; neither a retry nor the same messages bring it back."""
    remember_day(memory, BEES[0], 1)
    remember_day(memory, BEES[1], 2)
    (made,) = (record for record in memory.show("records", "ana") if record.derived_from)

    receipt = memory.forget(user_id="ana", record_id=made.record_id)
    memory.retry(user_id="ana")
    remember_day(memory, BEES[1], 2)

    assert (receipt.records, receipt.turns, receipt.decisions, receipt.residue) == (3, 0, 1, [])
    assert not [record for record in memory.show("records", "ana") if "Vesperine" in record.content]
    assert len([turn for turn in memory.show("turns", "ana") if "Vesperine" in turn.text]) == 2


def test_two_users_never_touch(memory, folder):
    """What one user forgets another keeps, though both said the same, and nothing of the other changes."""
    for user in ("ana", "ben"):
        moved(memory, user)
    remember_day(memory, f"My safe word is {SECRETS[3]}.", 9, "ben")
    before = all_shown(memory, "ben")

    receipts = [memory.forget(user_id="ana", session_id="day-2"), memory.forget(user_id="ana")]

    assert all_shown(memory, "ben") == before
    assert [receipt.residue for receipt in receipts] == [[], []]
    assert memory.recall("What is the safe word?", user_id="ben").evidence
    memory.forget(user_id="ben")
    assert not [secret for secret in SECRETS if secret.encode() in on_disk(folder)]


class Killed(BaseException):
    """A process that dies."""


def dying(at):
    """A model that answers by rules until a question of a kind, and dies of that."""

    def answer(question):
        if type(question).__name__ == at:
            raise Killed
        return RULES[type(question)](question)

    return FakeModel([answer] * 500)


@pytest.mark.parametrize("at", ["ExtractRecords", "DecideUpdate", "WriteSynthesis"])
def test_a_run_that_was_killed_goes_with_what_it_holds(folder, at):
    """Its checkpoints are gone, and a retry brings nothing back but what is left of it."""
    with Memory(folder, "rules", encoder="hashing") as memory:
        moved(memory, homes=SECRETS[:1])
    with Memory(folder, dying(at), encoder="hashing") as memory, pytest.raises(Killed):
        remember_day(memory, f"I live in {SECRETS[1]}.", 2)

    with Memory(folder, "rules", encoder="hashing") as memory:
        assert memory.status("ana").pending
        receipt = memory.forget(user_id="ana", turn_id="D2:1")
        memory.retry(user_id="ana")

        assert (receipt.turns, receipt.residue) == (1, [])
        assert SECRETS[1] not in all_shown(memory)
        assert [turn.text for turn in memory.show("turns", "ana")][2:] == ["I drove 2 miles today."]
        assert any("2 miles" in record.content for record in memory.show("records", "ana"))
        assert memory.status("ana").pending == []
    assert SECRETS[1].encode() not in on_disk(folder)


@pytest.mark.parametrize("asked", [{"session_id": "day-1"}, {"session_id": "day-2"}, {}])
def test_a_run_that_waits_for_a_person_goes_with_what_it_holds(folder, asked):
    """Whether what is forgotten was its own or what it would change: nobody is asked about it any more."""
    waits = Settings(update=UpdateSettings(approve=["SUPERSEDE"]))
    with Memory(folder, "rules", encoder="hashing", settings=waits) as memory:
        moved(memory, homes=SECRETS[:2])
        assert len(memory.approvals("ana")) == 1

        receipt = memory.forget(user_id="ana", **asked)
        memory.retry(user_id="ana")

        assert receipt.residue == []
        assert memory.approvals("ana") == []
        assert memory.status("ana").pending == []
        gone = {"day-1": SECRETS[:1], "day-2": SECRETS[1:2]}.get(asked.get("session_id"), SECRETS[:2])
        assert not [secret for secret in gone if secret in all_shown(memory)]
        left = [secret for secret in SECRETS[:2] if secret not in gone]
        assert [secret for secret in left if secret in all_shown(memory)] == left


def test_a_run_that_is_cut_off_elsewhere_writes_nothing_of_the_forgotten(folder):
    """A graph that another checkpointer saves goes on after the forgetting, and finds that its turns are gone."""
    from langgraph_engram.graphs.write import build_write_graph
    from langgraph_engram.state import Message, RememberRequest

    elsewhere, thread = InMemorySaver(), {"configurable": {"thread_id": "elsewhere"}}
    messages = [Message(speaker="Ana", text=f"I live in {SECRETS[0]}.", external_id="D1:1")]
    request = RememberRequest(user_id="ana", session_id="s", messages=messages, close_session=True)
    with Memory(folder, "rules", encoder="hashing") as memory:
        graph = build_write_graph(memory.store, memory.model, RuleModel(), memory.settings, elsewhere)
        graph.invoke({"request": request}, thread, interrupt_before=["persist"])

        memory.forget(user_id="ana", turn_id="D1:1")
        graph.invoke(None, thread)
        state = graph.get_state(thread).values

        assert (state["records"], state["receipt"].records) == ([], 0)
        assert SECRETS[0] not in all_shown(memory)
        assert memory.store.pending_tasks(Scope(user_id="ana")) == []


def test_a_forgetting_that_is_cut_off_is_done_by_the_next(memory, folder, monkeypatch):
    """Killed after its runs' checkpoints and half of the store: the same call again does the rest."""
    moved(memory)
    whole = memory.store._rows.__class__.remove

    def remove(self, scope, removed):
        whole(self, scope, dict(islice(removed.items(), 3)))
        raise Killed

    with monkeypatch.context() as cut:
        cut.setattr(memory.store._rows.__class__, "remove", remove)
        with pytest.raises(Killed):
            memory.forget(user_id="ana", session_id="day-2")
    receipt = memory.forget(user_id="ana", session_id="day-2")

    assert (receipt.turns, receipt.residue) == (2, [])
    assert SECRETS[1] not in all_shown(memory)
    assert SECRETS[1].encode() not in on_disk(folder)


def test_residue_is_reported_by_where_it_is(memory, monkeypatch):
    """A row that a store did not delete is reported, without its text."""
    moved(memory)
    collections = memory.store._rows
    whole = type(collections).remove

    def remove(self, scope, removed):
        whole(self, scope, {name: ids if name != "boundaries" else ids[1:] for name, ids in removed.items()})

    monkeypatch.setattr(type(collections), "remove", remove)

    receipt = memory.forget(user_id="ana")

    assert receipt.residue[0] == "boundaries: 1 in the store"
    assert not any(SECRETS[0] in residue for residue in receipt.residue)


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("method", ["recall", "stream"])
def test_a_recall_under_way_saves_nothing_of_what_it_read(folder, method, kept):
    """It answers from what it found, and its checkpoints are deleted."""
    asked = []

    def answer(question):
        if not asked:
            asked.append(memory.forget(user_id="ana"))
        return RULES[type(question)](question)

    with Memory(folder, "rules", encoder="hashing") as memory:
        moved(memory)
    steps_in = {"checkpointer": InMemorySaver()} if kept else {}
    with Memory(folder, FakeModel([answer] * 50), encoder="hashing", **steps_in) as memory:
        result = getattr(memory, method)(f"Did she like {SECRETS[2]}?", user_id="ana")
        steps = [result] if method == "recall" else list(result)

        assert asked
        assert steps
        assert memory.forget(user_id="ana").runs == 0
    assert not [secret for secret in SECRETS if secret.encode() in on_disk(folder)]


def test_a_checkpointer_that_cannot_delete_is_reported(folder):
    """What can be erased is, and the rest is reported as residue; a retry writes nothing of it."""

    class Keeping(InMemorySaver):
        def delete_thread(self, thread_id):
            raise NotImplementedError

    with Memory(folder, "rules", encoder="hashing", checkpointer=Keeping()) as memory:
        moved(memory, homes=SECRETS[:1])

        receipt = memory.forget(user_id="ana")

        assert (receipt.turns, receipt.runs, receipt.residue) == (2, 0, ["checkpoints: 1 threads"])
        assert memory.show("turns", "ana") == []


def test_a_pending_task_whose_turns_are_gone_is_removed_by_a_retry(memory):
    """There is nothing to do, and then nothing is left to do."""
    from langgraph_engram.pending import UNFINISHED, pending_task
    from langgraph_engram.schema import Turn
    from langgraph_engram.stores.base import Changes

    turn = Turn(turn_id="gone", session_id="s", seq=0, role="user", speaker="Ana", text="Hello")
    scope = Scope(user_id="ana")
    memory.store.commit(scope, Changes(pending_tasks=[pending_task("dead", [turn], "segment", UNFINISHED)]))

    receipt = memory.retry(user_id="ana")

    assert (receipt.pending, memory.status("ana").pending) == (0, [])


def test_checkpoints_are_overwritten_on_disk(memory, folder):
    """SQLite is configured so, whatever its build options: also where a run that is finished deletes its own."""
    (value,) = memory._checkpointer.conn.execute("PRAGMA secure_delete").fetchone()
    secret = SECRETS[0].encode()
    with Memory(folder, dying("ExtractRecords"), encoder="hashing") as killed, pytest.raises(Killed):
        remember_day(killed, f"I live in {SECRETS[0]}.", 1)
    memory._checkpointer.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert secret in (folder / "checkpoints.sqlite").read_bytes()

    memory.retry(user_id="ana")

    memory._checkpointer.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert value == 1
    assert secret not in (folder / "checkpoints.sqlite").read_bytes()


def test_said_again_it_is_remembered_again(memory):
    """To forget is not to bar."""
    moved(memory, homes=SECRETS[:1])
    memory.forget(user_id="ana", session_id="day-1")

    receipt = remember_day(memory, f"I live in {SECRETS[0]}.", 1)

    assert (receipt.stored_turns, receipt.known_turns) == (2, 0)


WORDS = st.sampled_from(["Alderfen", "Brackmoor", "Corvane", "Dunmarrow", "Elderquay"])
SENTENCES = st.builds("{} {}.".format, st.sampled_from(["I live in", "I work in", "My sister lives in"]), WORDS)
SESSIONS = st.lists(st.lists(SENTENCES, min_size=1, max_size=3), min_size=1, max_size=3)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(SESSIONS, st.data())
def test_whatever_is_forgotten_only_what_others_say_is_left(sessions, data):
    """Of any turn, session or user: words that only the forgotten turns had are nowhere; all other turns stay."""
    with Memory("memory:", "rules", encoder="hashing") as memory:
        for index, sentences in enumerate(sessions):
            said = [
                {"speaker": "Ana", "text": text, "said_at": f"2024-03-0{index + 1}T0{number}:00:00Z"}
                for number, text in enumerate(sentences)
            ]
            memory.remember(said, user_id="ana", session_id=f"s{index}", close_session=True)
        turns = memory.show("turns", "ana")
        target = data.draw(
            st.sampled_from([{"turn_id": turn.turn_id} for turn in turns] + [{"session_id": "s0"}, {}]), label="target"
        )
        gone = [turn for turn in turns if target in ({}, {"turn_id": turn.turn_id}, {"session_id": turn.session_id})]
        left = [turn for turn in turns if turn not in gone]

        receipt = memory.forget(user_id="ana", **target)

        said_by_others = " ".join(turn.text for turn in left)
        only = {word for turn in gone for word in turn.text.rstrip(".").split() if word not in said_by_others}
        for _ in range(2):
            shown = all_shown(memory)
            assert receipt.residue == []
            assert not [word for word in only if word in shown and word[0].isupper() and len(word) > 1]
            assert [turn.turn_id for turn in memory.show("turns", "ana")] == [turn.turn_id for turn in left]
            memory.retry(user_id="ana")
        assert memory.status("ana").pending == []
        records = {record.record_id for record in memory.show("records", "ana")}
        assert all(set(synthesis.covered_record_ids) <= records for synthesis in memory.show("syntheses", "ana"))
        events = {event.event_id for event in memory.show("events", "ana")}
        assert {record.event_id for record in memory.show("records", "ana")} <= events
        assert {boundary.to_event_id for boundary in memory.show("boundaries", "ana")} <= events
