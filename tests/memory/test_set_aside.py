"""A task that meets a fault of this package stands in nobody's way: `retry` with `skip` sets it aside."""

import pytest

from langgraph_engram.errors import StoreFailed
from langgraph_engram.formats.messages import Session
from langgraph_engram.memory import Memory
from langgraph_engram.prompts.extract_records import ExtractRecords
from langgraph_engram.rule_model.model import RuleModel

pytestmark = pytest.mark.usefixtures("model_writes_all")

FAULT = "no digit of this fits"


class Faulty(RuleModel):
    """Answer by rules, but raise an error about turns that hold a word; short sessions share a run."""

    by_rules = False
    word = "poison"
    error = ValueError

    def ask(self, question):
        if self.word and isinstance(question, ExtractRecords) and self.word in str(question):
            raise self.error(FAULT)
        return super().ask(question)


@pytest.fixture
def model():
    return Faulty()


@pytest.fixture
def memory(model, tmp_path):
    """Return a memory where a run of two sessions met a fault."""
    texts = ("Drink no poison.", "My sister Runa lives in Oslo, poison or not.")
    sessions = [Session(f"s{n}", [{"speaker": "Ana", "text": text}]) for n, text in enumerate(texts)]
    with Memory(tmp_path / "store", model, encoder="hashing") as memory:
        with pytest.raises(ValueError, match=FAULT):
            memory.remember_sessions(sessions, user_id="ana")
        assert len({task.run_id for task in memory.status("ana").pending}) == 1
        yield memory


def set_aside(memory):
    return {task.session_id: task.set_aside for task in memory.status("ana").pending}


def test_a_fault_stands_in_the_way_of_no_other_task(memory, model):
    """What can be done is done in one call; the rest is set aside, and a plain retry leaves it so, without an error."""
    model.word = "no poison"
    with pytest.raises(ValueError, match=FAULT) as raised:
        memory.retry(user_id="ana")

    receipts = [memory.retry(user_id="ana", skip=True), memory.retry(user_id="ana")]

    assert "engram retry --skip" in raised.value.__notes__[-1]
    assert [receipt.pending for receipt in receipts] == [1, 1]
    assert all(receipt.notes == [f"segment: set aside: ValueError: {FAULT}"] for receipt in receipts)
    assert set_aside(memory) == {"s0": True}
    assert any("Oslo" in record.content for record in memory.show("records", "ana"))


def test_what_is_set_aside_is_done_once_the_fault_is_mended(memory, model):
    """With `skip` it is tried again; nothing is kept twice."""
    memory.retry(user_id="ana", skip=True)
    assert set_aside(memory) == {"s0": True, "s1": True}
    model.word = ""

    left, done = memory.retry(user_id="ana"), memory.retry(user_id="ana", skip=True)

    assert (left.pending, done.pending, set_aside(memory)) == (2, 0, {})
    assert len(memory.show("records", "ana")) == len(memory.show("turns", "ana")) == 2
    assert memory.doctor().is_sound


def test_what_is_sent_again_is_still_pending(memory, model):
    """The receipt says so, with the reason; of a session where nothing is, nothing is said."""
    model.word = ""
    memory.remember([{"speaker": "Ana", "text": "I ski."}], user_id="ana", session_id="s2")

    again = memory.remember([{"speaker": "Ana", "text": "Drink no poison."}], user_id="ana", session_id="s0")
    done = memory.remember([{"speaker": "Ana", "text": "I ski."}], user_id="ana", session_id="s2")

    assert (again.stored_turns, again.known_turns, again.pending) == (0, 1, 1)
    assert again.notes == ["segment: the run did not reach its end"]
    assert (done.known_turns, done.pending, done.notes) == (1, 0, [])


def test_what_is_no_fault_of_ours_is_not_set_aside(memory, model):
    """A store that fails raises its own error, and all stays pending for the next retry."""
    model.error = StoreFailed

    with pytest.raises(StoreFailed):
        memory.retry(user_id="ana", skip=True)

    assert set_aside(memory) == {"s0": False, "s1": False}
