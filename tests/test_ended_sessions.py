"""A session that nobody closed ends when a later one begins, and is told then, once."""

import pytest

from langgraph_engram.llm.base import Failure
from langgraph_engram.memory import Memory
from langgraph_engram.presets import preset
from langgraph_engram.testing import FakeModel
from tests.conftest import by_rule

pytestmark = pytest.mark.usefixtures("syntheses_at_once", "model_writes_all")


@pytest.fixture
def memory():
    """A memory whose model can be made to fail at syntheses."""
    with Memory("memory:", FakeModel([by_rule] * 200), encoder="hashing") as opened:
        yield opened


def tell(memory, day, session, text="I keep bees in the garden.", **fields):
    """Remember one sentence of Ana's."""
    said = [{"speaker": "Ana", "text": text, "said_at": f"2024-03-{day:02}T09:00:00Z"}]
    return memory.remember(said, user_id="ana", session_id=session, **fields)


def told(memory):
    """Give the sessions of which syntheses tell, in order."""
    sessions = {record.record_id: record.session_id for record in memory.show("records", "ana")}
    return [sessions[synthesis.covered_record_ids[0]] for synthesis in memory.show("syntheses", "ana")]


def last_status(memory, session):
    return [event.status for event in memory.show("events", "ana") if event.session_id == session][-1]


def test_an_earlier_session_is_told_once_a_later_one_begins(memory):
    """It is closed, its synthesis is written by the later session's first run, and nothing is left pending."""
    tell(memory, 1, "s1")
    before = told(memory)

    receipt = tell(memory, 2, "s2", "My sister lives in Oslo.")

    assert (before, told(memory), receipt.syntheses) == ([], ["s1"], 1)
    assert (last_status(memory, "s1"), last_status(memory, "s2")) == ("closed", "open")
    assert memory.status("ana").pending == []


def test_two_sessions_that_go_on_side_by_side_do_not_end_one_another(memory):
    """Only the first run of a session looks for others."""
    tell(memory, 1, "s1")
    tell(memory, 2, "s2", "My sister lives in Oslo.")
    tell(memory, 3, "s1", "The bees hum.")

    tell(memory, 4, "s2", "She teaches music.")
    tell(memory, 5, "s1", "I sold the honey.")

    assert [last_status(memory, session) for session in ("s1", "s2")] == ["open", "open"]
    assert told(memory) == ["s1", "s2", "s1", "s2"]  # each day, once the next has come


def test_an_old_session_that_is_brought_in_does_not_end_todays(memory):
    """What was said before today's session is no later one."""
    tell(memory, 9, "today")

    tell(memory, 1, "old", "My sister lives in Oslo.")

    assert (told(memory), last_status(memory, "today")) == (["old"], "open")


def test_calls_without_a_session_neither_end_nor_are_ended(memory):
    """Each is a conversation of its own."""
    tell(memory, 1, "s1")
    tell(memory, 2, None, "My sister lives in Oslo.")
    tell(memory, 3, None, "I ski.")

    assert last_status(memory, "s1") == "open"
    tell(memory, 4, "s2", "I swim.")
    assert [event.status for event in memory.show("events", "ana")] == ["closed", "open", "open", "open"]


def test_another_users_sessions_are_left_alone(memory):
    """A scope is its user's own."""
    tell(memory, 1, "s1")
    said = [{"speaker": "Ben", "text": "I ski.", "said_at": "2024-03-05T09:00:00Z"}]

    memory.remember(said, user_id="ben", session_id="s2")

    assert told(memory) == []


def test_presets_without_syntheses_close_nothing():
    """What would not be told is left as the paper has it."""
    with Memory("memory:", "rules", encoder="hashing", settings=preset("esmem")) as memory:
        tell(memory, 1, "s1")
        tell(memory, 2, "s2")

        assert last_status(memory, "s1") == "open"


def test_a_synthesis_of_an_ended_session_that_fails_is_pending_until_a_retry(memory):
    """It is noted on its own session's turns, and a retry writes it."""
    tell(memory, 1, "s1")
    memory.model.answers.insert(1, lambda question: Failure("timeout", "late"))
    tell(memory, 2, "s2", "My sister lives in Oslo.")
    (pending,) = memory.status("ana").pending

    receipt = memory.retry(user_id="ana")

    assert (pending.step, pending.session_id) == ("synthesize", "s1")
    assert (receipt.syntheses, told(memory), memory.status("ana").pending) == (1, ["s1"], [])
