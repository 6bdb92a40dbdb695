"""Short sessions that share a run are remembered as if each had a run of its own."""

from datetime import timedelta

import pytest

from langgraph_engram.errors import StoreError
from langgraph_engram.extraction.extractor import batch_events
from langgraph_engram.formats.messages import Session
from langgraph_engram.llm.base import Failure
from langgraph_engram.memory import Memory
from langgraph_engram.nodes.receive import Receive
from langgraph_engram.rule_model.model import RuleModel
from langgraph_engram.segmentation.segmenter import LearnedSegmenter
from langgraph_engram.settings import ExtractSettings
from langgraph_engram.state import Message
from langgraph_engram.testing import FakeModel
from tests.conftest import NOON, by_rule

WEEKS = (
    ("I moved to Lisbon in March.", "My sister Runa lives in Oslo and teaches music there."),
    ("I adopted a grey cat.", "Her name is Pixel.", "She sleeps on the piano."),
    ("My sister Runa no longer lives in Oslo and teaches music there.", "I rent a flat."),
    ("I am learning to play the cello.",),
    ("My cello arrived yesterday.", "It cost 900 euros."),
)

pytestmark = pytest.mark.usefixtures("model_writes_all")
NAMES = {"topics", "summary", "text"}
"""What a model calls events and boundaries."""


class NamedRules(RuleModel):
    """Rules that a memory takes for a language model: short sessions share its calls."""

    name = "named rules"
    by_rules = False


def session(week, *texts):
    """Return what Ana says in one week."""
    said = [Message(speaker="Ana", text=text, said_at=NOON + timedelta(weeks=week)) for text in texts or WEEKS[week]]
    return Session(session_id=f"week {week}", messages=said)


SESSIONS = [session(week) for week in range(len(WEEKS))]
LONG = session(2, *(f"I planted {number} tulips beside the old stone wall." for number in range(80)))


@pytest.fixture
def asked():
    return []


@pytest.fixture
def failing():
    """The names of questions that fail."""
    return set()


@pytest.fixture
def model(asked, failing):
    """A model that answers as the rules do, but for the questions that fail."""

    def answer(question):
        asked.append(question)
        return Failure("refused", "out of reach") if question.name in failing else by_rule(question)

    return FakeModel([answer] * 200)


@pytest.fixture
def memory(model):
    with Memory("memory:", model, encoder="hashing") as opened:
        yield opened


def extracted_sessions(asked):
    """Give the sessions of which records were asked for."""
    calls = [question for question in asked if question.name == "ExtractRecords"]
    return list(dict.fromkeys(turn.session_id for question in calls for turn in question.turns))


def stored(memory):
    """Give what is stored, without the names that a model gives."""
    return {
        kind: [item.model_dump(exclude=NAMES) for item in memory.show(kind, "ana")]
        for kind in ("turns", "events", "boundaries", "records")
    }


def sessions_of(memory, kind):
    return [item.session_id for item in memory.show(kind, "ana")]


def test_sharing_changes_nothing(memory, unbroken):
    """Turns, events, boundaries and records are those of sessions remembered one at a time, under the same ids."""
    for alone in SESSIONS:
        memory.remember_sessions([alone], user_id="ana")

    assert stored(memory) == unbroken
    assert [boundary["kind"] for boundary in unbroken["boundaries"]].count("session_break") == 4
    assert {record["status"] for record in unbroken["records"]} == {"active", "superseded"}


def test_a_receipt_and_progress_count_sessions_that_share_a_run(memory, asked):
    """Each session is closed; sent again, all is known and nobody is asked."""
    steps = []

    first = memory.remember_sessions(SESSIONS, user_id="ana", progress=lambda *step: steps.append(step))
    again = memory.remember_sessions(SESSIONS, user_id="ana")

    assert extracted_sessions(asked) == [alone.session_id for alone in SESSIONS]
    assert steps == [("remembering week 0", 0, 5), ("remembered", 5, 5)]
    assert (first.stored_turns, first.known_turns, first.pending) == (10, 0, 0)
    assert (again.stored_turns, again.known_turns, again.usage.calls) == (0, 10, 0)
    assert {event.status for event in memory.show("events", "ana")} == {"closed"}


def test_a_long_session_is_a_run_of_its_own(memory):
    """The short ones on either side share theirs."""
    steps = []

    sessions = [*SESSIONS[:2], LONG, *SESSIONS[3:]]
    memory.remember_sessions(sessions, user_id="ana", progress=lambda _, done, every: steps.append(done))

    assert steps == [0, 2, 3, 5]


@pytest.mark.parametrize("step", ["extract", "consolidate"])
def test_a_retry_finishes_each_session_of_a_run_that_failed(memory, failing, step):
    """A call that fails leaves a task for each session that it read, and none after the retry."""
    failing.add({"extract": "ExtractRecords", "consolidate": "DecideUpdate"}[step])
    sessions = [session(0), session(1, *WEEKS[2]), session(3)]

    failed = memory.remember_sessions(sessions, user_id="ana")
    waiting = memory.status("ana").pending
    failing.clear()
    retried = memory.retry(user_id="ana")

    assert failed.pending > 0
    assert {task.step for task in waiting} == {step}
    assert step != "extract" or [task.session_id for task in waiting] == ["week 0", "week 1", "week 3"]
    assert (retried.pending, memory.status("ana").pending) == (0, [])
    assert {"week 0", "week 1", "week 3"} == set(sessions_of(memory, "records"))


class Dying(BaseException):
    """What a process dies of."""


def die(*_):
    raise Dying


@pytest.fixture(scope="module")
def unbroken():
    """What is stored of the sessions where nothing goes wrong."""
    with Memory("memory:", NamedRules(), encoder="hashing") as opened:
        opened.remember_sessions(SESSIONS, user_id="ana")
        yield stored(opened)


@pytest.mark.parametrize(
    ("node", "keeps_checkpoints"),
    [("segment.Segment", False), ("extract.Extract", True), ("persist.Persist", True), ("persist.Persist", False)],
)
def test_a_run_that_dies_loses_no_session(tmp_path, monkeypatch, unbroken, node, keeps_checkpoints):
    """Another process finishes all its sessions: from its checkpoint, or from the turns that are stored."""

    with monkeypatch.context() as patch, Memory(tmp_path, NamedRules(), encoder="hashing") as memory:
        patch.setattr(f"langgraph_engram.nodes.{node}.__call__", die)
        with pytest.raises(Dying):
            memory.remember_sessions(SESSIONS, user_id="ana")
    if not keeps_checkpoints:
        for file in tmp_path.glob("checkpoints.sqlite*"):
            file.unlink()

    with Memory(tmp_path, NamedRules(), encoder="hashing") as memory:
        waiting = memory.status("ana").pending
        memory.retry(user_id="ana")
        finished, left = stored(memory), memory.status("ana").pending

    assert [task.session_id for task in waiting] == [f"week {week}" for week in range(5)]
    assert left == []
    assert finished["turns"] == unbroken["turns"]
    assert [record["record_id"] for record in finished["records"]] == [
        record["record_id"] for record in unbroken["records"]
    ]
    assert {event["session_id"]: event["turn_ids"] for event in finished["events"]} == {
        event["session_id"]: event["turn_ids"] for event in unbroken["events"]
    }


def test_an_error_names_the_sessions_of_its_run(memory, monkeypatch):
    """What came before them is written."""

    def fail(*_):
        raise StoreError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr("langgraph_engram.nodes.segment.Segment.__call__", fail)
        with pytest.raises(StoreError, match=r"^sessions 'week 0' to 'week 4': the disk is full$"):
            memory.remember_sessions(SESSIONS, user_id="ana")


def test_each_session_of_a_request_is_aligned_with_its_own_end(store, to_remember):
    """What one of them holds already is known; positions are counted in each."""
    receive = Receive(store)
    receive({"request": to_remember("I ski.", session_id="a")})
    said = [Message(speaker="Ana", text=text, session_id=name) for name, text in (("a", "I ski."), ("b", "I ski."))]

    update = receive({"request": to_remember(*said, Message(speaker="Ana", text="I swim.", session_id="a"))})

    assert [(turn.session_id, turn.seq, turn.text) for turn in update["turns"]] == [
        ("a", 1, "I swim."),
        ("b", 0, "I ski."),
    ]
    assert (update["session_ids"], update["known_turns"]) == (["a", "b"], 1)


def test_a_session_that_goes_on_begins_a_call(store, scope, keep, turn, event):
    """The turns before it are read beside it, and no other session stands between them."""
    keep(turns=[turn(0, "I sold the car.", turn_id="u0", session_id="s2")])
    turns = [turn(0, "I ski."), turn(1, "I bought a bicycle.", turn_id="u1", session_id="s2")]
    events = [event(0, 0), event(0, turn_ids=["u1"], event_id="e9", session_id="s2")]

    batches = batch_events(store.index(scope), events, turns, ExtractSettings(), LearnedSegmenter(store.encoder, 40))

    assert [[turn.turn_id for turn in batch.turns] for batch in batches] == [["t0"], ["u1"]]
    assert [[turn.turn_id for turn in batch.context] for batch in batches] == [[], ["u0"]]
