"""What a model could not do is listed, done again by `retry`, and only that."""

import pytest

from langgraph_engram.memory import Memory
from langgraph_engram.model import Failure
from langgraph_engram.rules.model import RULES
from langgraph_engram.settings import SegmentSettings, Settings
from langgraph_engram.testing import FakeModel

TOLD = [
    {"speaker": "Ana", "text": "My sister Runa lives in Oslo.", "said_at": "2023-05-08T12:00:00Z"},
    {"speaker": "Ben", "text": "I keep bees in the garden.", "said_at": "2023-05-08T12:01:00Z"},
]
MORE = [{"speaker": "Ben", "text": "The bees gave four jars of honey.", "said_at": "2023-05-09T12:03:00Z"}]


class Moody:
    """Answer as the rules do, but for questions of these names."""

    def __init__(self):
        self.fails = set()
        self.model = FakeModel([self.answer] * 99, name="moody")

    def answer(self, question):
        if question.name in self.fails:
            return Failure("timeout", f"{question.name} took too long")
        return RULES[type(question)](question)

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


def test_turns_are_kept_though_extraction_fails(memory, moody):
    """What was said is stored, searchable and listed as pending, with the reason."""
    moody.fails = {"ExtractRecords"}

    receipt = memory.remember(TOLD, user_id="ana", session_id="s1")

    (pending,) = memory.status("ana").pending
    assert (receipt.stored_turns, receipt.records, receipt.pending) == (2, 0, 2)
    assert (pending.step, pending.session_id, len(pending.turn_ids)) == ("extract", "s1", 2)
    assert "took too long" in pending.reason
    assert any("Oslo" in piece.text for piece in memory.search("Where does Runa live?", user_id="ana").evidence)


def test_a_retry_does_what_is_pending_and_settles_it(memory, moody):
    """Extraction alone is asked again; afterwards nothing is left to do, and the memory is as if nothing had failed."""
    moody.fails = {"ExtractRecords"}
    memory.remember(TOLD, user_id="ana", session_id="s1")
    memory.remember(MORE, user_id="ben", session_id="s2")
    moody.fails.clear()
    moody.model.asked.clear()

    receipt = memory.retry(user_id="ana")

    assert moody.asked == ["ExtractRecords"]
    assert (receipt.stored_turns, receipt.pending) == (0, 0)
    assert receipt.records == len(memory.show("records", "ana")) > 0
    assert memory.status("ana").pending == []
    assert len(memory.status("ben").pending) == 1


def test_a_retry_that_fails_again_stays_pending(memory, moody):
    """What still cannot be done is listed once, not twice."""
    moody.fails = {"ExtractRecords"}
    memory.remember(TOLD, user_id="ana", session_id="s1")

    receipt = memory.retry(user_id="ana")

    assert receipt.pending == 2
    assert len(memory.status("ana").pending) == 1


def test_nothing_to_retry_is_nothing_done(memory, moody):
    """Without pendings no question is asked."""
    memory.remember(TOLD, user_id="ana", session_id="s1")
    moody.model.asked.clear()

    assert memory.retry(user_id="ana").run_id == ""
    assert moody.asked == []


def test_the_same_messages_again_do_not_hide_what_is_pending(memory, moody):
    """Sending known turns again stores nothing, and leaves what is pending to `retry`."""
    moody.fails = {"ExtractRecords"}
    memory.remember(TOLD, user_id="ana", session_id="s1")
    moody.fails.clear()

    receipt = memory.remember([*TOLD, *MORE], user_id="ana", session_id="s1")

    assert (receipt.stored_turns, receipt.known_turns) == (1, 2)
    assert len(memory.status("ana").pending) == 1
    memory.retry(user_id="ana")
    assert {"Oslo"} <= {word for record in memory.show("records", "ana") for word in record.keywords}


def test_a_run_that_was_cut_off_is_resumed_by_retry(tmp_path, moody):
    """A process that dies over extraction leaves a pending; the next one resumes after segmentation."""

    def die(question):
        raise KeyboardInterrupt

    dying = FakeModel([die])
    with Memory(store=tmp_path / "s", encoder="hashing", model=dying) as memory, pytest.raises(KeyboardInterrupt):
        memory.remember(TOLD, user_id="ana", session_id="s1")
    with Memory(store=tmp_path / "s", encoder="hashing", model=moody.model) as memory:
        before = memory.status("ana")

        receipt = memory.retry(user_id="ana")

        assert (before.turns, [one.step for one in before.pending]) == (2, ["segment"])
        assert moody.asked == ["ExtractRecords"]
        assert receipt.stored_turns == 2
        assert memory.status("ana").pending == []


def test_a_synthesis_that_failed_is_all_that_is_retried(memory, moody):
    """A failed synthesis is pending; a retry writes it and draws no record again."""
    moody.fails = {"WriteSynthesis"}
    receipt = memory.remember(TOLD, user_id="ana", session_id="s1", close_session=True)
    records = memory.show("records", "ana")
    steps = [one.step for one in memory.status("ana").pending]
    moody.fails.clear()
    moody.model.asked.clear()

    again = memory.retry(user_id="ana")

    assert (receipt.syntheses, receipt.pending, steps) == (0, 2, ["synthesize"])
    assert moody.asked == ["WriteSynthesis"]
    assert (again.syntheses, again.pending) == (1, 0)
    assert memory.show("records", "ana") == records
    assert memory.status("ana").pending == []


def test_events_without_topics_are_still_events(moody):
    """When topics cannot be followed, the turns stand in one event, named by their words; the step is pending."""
    moody.fails = {"TrackTopics"}
    settings = Settings(segment=SegmentSettings(judge="labels"))

    with Memory(store="memory:", encoder="hashing", model=moody.model, settings=settings) as memory:
        receipt = memory.remember(TOLD, user_id="ana", session_id="s1")
        (pending,) = memory.status("ana").pending
        (event,) = memory.show("events", "ana")

    assert (pending.step, len(pending.turn_ids)) == ("segment", 2)
    assert "took too long" in pending.reason
    assert "Oslo" in event.summary
    assert receipt.records > 0


def test_what_a_run_costs_is_told_step_by_step(memory, moody):
    """Every question is counted under the step that asked it."""
    receipt = memory.remember(TOLD, user_id="ana", session_id="s1", close_session=True)

    ledger = {entry.node: entry.calls for entry in receipt.usage.by_node}
    assert ledger == {"extract": 1, "synthesize": 1}
    assert receipt.usage.calls == len(moody.asked) == 2
    assert receipt.usage.tokens == receipt.usage.prompt_tokens + receipt.usage.completion_tokens > 0
