"""What a model could not do is listed, done again by `retry`, and only that."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from langgraph_engram.llm.base import Failure
from langgraph_engram.memory import Memory
from langgraph_engram.pending import pending_task
from langgraph_engram.presets import preset
from langgraph_engram.prompts.extract_facts import ExtractFacts
from langgraph_engram.rule_model.model import RULES
from langgraph_engram.schema import Scope
from langgraph_engram.settings import Settings, UpdateSettings
from langgraph_engram.stores.base import Changes
from langgraph_engram.testing import FakeModel

pytestmark = pytest.mark.usefixtures("syntheses_at_once", "model_writes_all")

TOLD = [
    {"speaker": "Ana", "text": "My sister Runa lives in Oslo.", "said_at": "2023-05-08T12:00:00Z"},
    {"speaker": "Ben", "text": "I keep bees in the garden.", "said_at": "2023-05-08T12:01:00Z"},
]
MORE = [{"speaker": "Ben", "text": "The bees gave four jars of honey.", "said_at": "2023-05-08T12:03:00Z"}]


def die(question):
    raise KeyboardInterrupt


class Moody:
    """Answer as the rules do, but for questions of these names."""

    def __init__(self):
        self.fails = set()
        self.reword = False
        self.model = FakeModel([self.answer] * 99, name="moody")

    def answer(self, question):
        if question.name in self.fails:
            return Failure("unreachable", f"{question.name} took too long")
        answer = RULES[type(question)](question)
        if self.reword and isinstance(question, ExtractFacts):
            told = [
                sentence.model_copy(update={"content": f"{sentence.content} Indeed."}) for sentence in answer.sentences
            ]
            return answer.model_copy(update={"sentences": told})
        return answer

    @property
    def asked(self):
        return [question.name for question in self.model.asked]


@pytest.fixture
def moody():
    return Moody()


@pytest.fixture
def memory(moody):
    with Memory(store="memory:", encoder="hashing", model=moody.model) as opened:
        yield opened


def test_a_retry_does_what_is_pending_and_settles_it(memory, moody):
    """Known turns that are sent again store nothing and leave what is pending, which is asked again alone.

    Afterwards nothing is left to do; another user's tasks stay.
    """
    moody.fails = {"ExtractRecords"}
    memory.remember(TOLD, user_id="ana", session_id="s1")
    memory.remember(MORE, user_id="ben", session_id="s2")
    moody.fails.clear()
    again = memory.remember([*TOLD, *MORE], user_id="ana", session_id="s1")
    left = memory.status("ana").pending
    moody.model.asked.clear()

    receipt = memory.retry(user_id="ana")

    assert (again.stored_turns, again.known_turns, len(left)) == (1, 2, 1)
    assert moody.asked == ["ExtractRecords"]
    assert (receipt.stored_turns, receipt.pending) == (0, 0)
    assert "Oslo" in {word for record in memory.show("records", "ana") for word in record.keywords}
    assert memory.status("ana").pending == []
    assert len(memory.status("ben").pending) == 1


@pytest.mark.parametrize("with_checkpoints", [True, False])
def test_a_run_that_dies_over_its_synthesis_leaves_that_pending(tmp_path, moody, with_checkpoints):
    """What is written is completed, and the synthesis is not forgotten, with the run's checkpoints or without."""
    dying = FakeModel([moody.answer, die])
    with Memory(store=tmp_path / "s", encoder="hashing", model=dying) as memory, pytest.raises(KeyboardInterrupt):
        memory.remember(TOLD, user_id="ana", session_id="s1", close_session=True)
    if not with_checkpoints:
        (tmp_path / "s" / "checkpoints.sqlite").unlink()
    with Memory(store=tmp_path / "s", encoder="hashing", model=moody.model) as memory:
        before = memory.status("ana")
        records = memory.show("records", "ana")

        receipt = memory.retry(user_id="ana")

        assert [(task.step, len(task.turn_ids)) for task in before.pending] == [("synthesize", 2)]
        assert moody.asked == ["WriteSynthesis"]
        assert (receipt.syntheses, receipt.pending) == (1, 0)
        assert memory.show("records", "ana") == records
        assert memory.status("ana").pending == []


def pending_at(memory, step, run_id="earlier"):
    """Note all turns of ana's as pending at a step, as a run does whose question failed there."""
    turns = memory.show("turns", "ana")
    memory.store.commit(Scope(user_id="ana"), Changes(pending_tasks=[pending_task(run_id, turns, step, "late")]))


def test_decisions_that_could_not_be_made_are_made_by_a_retry(tmp_path, moody):
    """Stored records are held against what they resemble, and what covers a changed one is told anew; none is drawn."""
    undecided = Settings(update=UpdateSettings(enabled=False))
    later = {"speaker": "Ana", "text": "My sister Runa no longer lives in Oslo.", "said_at": "2023-06-08T12:00:00Z"}
    with Memory(store=tmp_path / "s", encoder="hashing", settings=undecided) as memory:
        memory.remember(TOLD, user_id="ana", session_id="s1")
        memory.remember([later], user_id="ana", session_id="s1", close_session=True)
    with Memory(store=tmp_path / "s", encoder="hashing", model=moody.model) as memory:
        pending_at(memory, "consolidate")

        receipt = memory.retry(user_id="ana")

        assert moody.asked == ["DecideUpdate", "WriteSynthesis"]
        assert (receipt.decisions, receipt.records, receipt.pending) == (1, 0, 0)
        assert [record.status for record in memory.show("records", "ana")].count("superseded") == 1
        assert memory.status("ana").pending == []


def test_the_half_of_two_questions_that_was_answered_is_not_drawn_twice(moody):
    """Facts and relations are asked apart (StructMem); where one fails, a retry adds the other alone."""
    settings = preset("structmem")
    with Memory(store="memory:", encoder="hashing", model=moody.model, settings=settings) as memory:
        moody.fails = {"ExtractRelations"}
        memory.remember(TOLD, user_id="ana", session_id="s1", close_session=True)
        facts = memory.show("records", "ana")
        moody.fails.clear()
        moody.reword = True

        receipt = memory.retry(user_id="ana")

        kept = memory.show("records", "ana")
        assert facts
        assert [record for record in kept if record.kind == "factual"] == facts
        assert receipt.pending == 0


def test_a_retry_beside_a_live_run_waits_for_it(memory, moody, monkeypatch):
    """A run that is under way is not taken for one that was cut off: it is counted once, and asked once."""
    begun, waits, go_on = Event(), Event(), Event()
    writing = memory.store.writing

    def wait(question):
        begun.set()
        assert go_on.wait(60)
        return moody.answer(question)

    moody.model.answers.insert(0, wait)
    with ThreadPoolExecutor(2) as pool:
        live = pool.submit(memory.remember, TOLD, user_id="ana", session_id="s1")
        assert begun.wait(60)
        monkeypatch.setattr(memory.store, "writing", lambda scope: waits.set() or writing(scope))
        retried = pool.submit(memory.retry, user_id="ana")
        assert waits.wait(60)
        go_on.set()
        receipt, again = live.result(60), retried.result(60)

    assert (receipt.stored_turns, receipt.pending) == (2, 0)
    assert again.run_id == ""
    assert moody.asked.count("ExtractRecords") == 1


def test_what_a_run_costs_is_told_step_by_step(memory, moody):
    """Every question is counted under the step that asked it."""
    receipt = memory.remember(TOLD, user_id="ana", session_id="s1", close_session=True)

    ledger = {entry.node: entry.calls for entry in receipt.usage.by_node}
    assert ledger == {"extract": 1, "synthesize": 1}
    assert receipt.usage.calls == len(moody.asked) == 2
    assert receipt.usage.tokens == receipt.usage.prompt_tokens + receipt.usage.completion_tokens > 0
