"""What the papers' presets wait with is read in the end, or pending, whoever closes it and whatever fails before."""

from threading import Thread

import pytest

from langgraph_engram.errors import EncoderUnavailable
from langgraph_engram.formats.messages import to_messages
from langgraph_engram.graphs.write import build_write_graph
from langgraph_engram.llm.base import Failure
from langgraph_engram.memory import Memory
from langgraph_engram.nodes.segment import Segment
from langgraph_engram.presets import changed, preset
from langgraph_engram.requests import remember_request
from langgraph_engram.rule_model.model import RuleModel
from langgraph_engram.schema import Scope
from langgraph_engram.testing import FakeModel
from tests.conftest import by_rule

SCOPE = Scope(user_id="ana")
SAID = (
    "I planted an oak tree behind our house.",
    "I bought a red bicycle in Oslo.",
    "I cooked soup for my sister Runa.",
)


def opened(name, model, **numbers):
    settings = changed(changed(preset(name), "update", enabled=False), "synthesis", enabled=False)
    return Memory("memory:", FakeModel([model] * 50), encoder="hashing", settings=changed(settings, "paper", **numbers))


def say(memory, text, **fields):
    return memory.remember([{"role": "user", "content": text}], user_id="ana", session_id="day", **fields)


def texts_without_records(memory):
    cited = {turn_id for record in memory.show("records", "ana") for turn_id in record.source_turn_ids}
    return [turn.text for turn in memory.show("turns", "ana") if turn.turn_id not in cited]


@pytest.mark.parametrize(
    ("name", "numbers"), [("dimmem", {}), ("dimmem", {"window": 2, "overlap": 1}), ("structmem", {}), ("hymem", {})]
)
def test_a_retry_reads_what_was_said_before_the_end_of_its_session(monkeypatch, name, numbers):
    """The session ends while the turns of a call are not segmented: they are an event that nothing can join."""

    def down(_self, _state):
        raise EncoderUnavailable("the embeddings are down")

    with opened(name, by_rule, **numbers) as memory:
        say(memory, SAID[0])
        with monkeypatch.context() as broken:
            broken.setattr(Segment, "__call__", down)
            with pytest.raises(EncoderUnavailable):
                say(memory, SAID[1])
        say(memory, SAID[2], close_session=True)

        assert memory.retry(user_id="ana").pending == 0
        assert texts_without_records(memory) == []


def test_what_another_run_closes_meanwhile_is_pending_until_a_retry():
    """As from another process: a message of the session comes while a window is asked about."""
    settings = changed(changed(preset("dimmem"), "update", enabled=False), "paper", window=2, overlap=1)
    begun = []

    def asked(text):
        return remember_request(SCOPE, to_messages([{"role": "user", "content": text}]), "day", close_session=False)

    def answer(question):
        if not begun:
            begun.append(Thread(target=graph.invoke, args=[{"request": asked("I adopted a parrot called Kiwi.")}]))
            begun[0].start()
            begun[0].join(30)
        return by_rule(question)

    model = FakeModel([answer] * 50)
    with Memory("memory:", model, encoder="hashing", settings=settings) as memory:
        graph = build_write_graph(memory.store, model, RuleModel(), settings)
        for text in SAID[:2]:
            say(memory, text)
        graph.invoke({"request": asked("I sold the old tent to Ben.")})
        say(memory, SAID[2])
        say(memory, "I mended the gate.", close_session=True)

        assert texts_without_records(memory) == ["I sold the old tent to Ben."]
        assert memory.status("ana").pending
        assert memory.retry(user_id="ana").pending == 0
        assert texts_without_records(memory) == []


def test_a_retry_draws_the_key_sentences_of_turns_that_the_next_unit_shares():
    """What was drawn of them under the next unit is no answer to what was asked of their own."""
    bees = ["I keep bees in the garden.", "My bees gave honey in June.", "The hive of the bees is full of honey."]
    answers = iter([lambda _: Failure("refused", "no")])
    model = FakeModel([lambda question: next(answers, by_rule)(question)] * 50)
    with Memory("memory:", model, "hymem", encoder="hashing") as memory:
        said = [{"speaker": "Ana", "text": text} for text in [*bees, "By the way, my sister Runa moved to Oslo."]]
        memory.remember(said, user_id="ana", session_id="day", close_session=True)
        memory.retry(user_id="ana")

        first = memory.show("events", "ana")[0]
        drawn = [record for record in memory.show("records", "ana") if record.event_id == first.event_id]
        assert {turn_id for record in drawn for turn_id in record.source_turn_ids} == set(first.turn_ids)
