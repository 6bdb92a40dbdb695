"""A task that meets a fault of this package stands in nobody's way: `retry` with `skip` sets it aside."""

import pytest

from langgraph_engram.errors import StoreFailed
from langgraph_engram.formats.messages import Session
from langgraph_engram.memory import Memory
from langgraph_engram.prompts.extract_events import ExtractEvents
from langgraph_engram.rule_model.model import RuleModel

FAULT = "no digit of this fits"


class Faulty(RuleModel):
    """Answer by rules, but raise an error about turns that hold a word."""

    word = "poison"
    error = ValueError

    def ask(self, question):
        if self.word and isinstance(question, ExtractEvents) and self.word in str(question):
            raise self.error(FAULT)
        return super().ask(question)


@pytest.fixture
def model():
    return Faulty()


@pytest.fixture
def memory(model, tmp_path):
    """Return a memory where a session failed by a fault, and what other sessions wrote was cut off before."""
    with Memory(tmp_path / "store", model, encoder="hashing") as memory:
        for session_id, text in (("s1", "Drink no poison."), ("s2", "My sister Runa lives in Oslo, poison or not.")):
            with pytest.raises(ValueError, match=FAULT):
                memory.remember([{"speaker": "Ana", "text": text}], user_id="ana", session_id=session_id)
        yield memory


def steps_of(memory):
    return {task.session_id: (task.step, task.set_aside) for task in memory.status("ana").pending}


def test_a_fault_stands_in_the_way_of_no_other_task(memory, model):
    """What can be done is done in one call; the rest is set aside, and a plain retry leaves it so, without an error."""
    model.word = "no poison"
    with pytest.raises(ValueError, match=FAULT) as raised:
        memory.retry(user_id="ana")

    receipt = memory.retry(user_id="ana", skip=True)
    again = memory.retry(user_id="ana")

    assert raised.value.__notes__[-1] == "retry(skip=True), or engram retry --skip, does what else is pending"
    assert (receipt.pending, again.pending, again.records) == (1, 1, 0)
    assert receipt.notes == [f"segment: set aside: ValueError: {FAULT}"] == again.notes
    assert steps_of(memory) == {"s1": ("segment", True)}
    assert any("Oslo" in record.content for record in memory.show("records", "ana"))


def test_what_is_set_aside_is_done_once_the_fault_is_mended(memory, model):
    """With `skip` it is tried again; nothing is kept twice, and no checkpoint stays."""
    memory.retry(user_id="ana", skip=True)
    assert set(steps_of(memory).values()) == {("segment", True)}
    model.word = ""

    left = memory.retry(user_id="ana")
    done = memory.retry(user_id="ana", skip=True)

    assert (left.pending, done.pending, memory.status("ana").pending) == (2, 0, [])
    assert len(memory.show("records", "ana")) == len(memory.show("turns", "ana")) == 2
    assert memory.doctor().is_sound
    assert list(memory._writes.scratch.list(None)) == []


def test_sessions_of_one_run_are_tried_one_by_one(tmp_path, model):
    """Where short sessions shared a run, the fault of one is not the others'."""
    model.by_rules = False
    texts = ("Drink no poison.", "I moved to Oslo.")
    sessions = [Session(f"s{n}", [{"speaker": "Ana", "text": text}]) for n, text in enumerate(texts)]
    with Memory(tmp_path / "store", model, encoder="hashing") as memory:
        with pytest.raises(ValueError, match=FAULT):
            memory.remember_sessions(sessions, user_id="ana")
        assert len({task.run_id for task in memory.status("ana").pending}) == 1

        memory.retry(user_id="ana", skip=True)

        assert steps_of(memory) == {"s0": ("segment", True)}


def test_what_is_no_fault_of_ours_is_not_set_aside(memory, model):
    """A store that fails raises its own error, and all stays pending for the next retry."""
    model.error = StoreFailed

    with pytest.raises(StoreFailed):
        memory.retry(user_id="ana", skip=True)

    assert set(steps_of(memory).values()) == {("segment", False)}
