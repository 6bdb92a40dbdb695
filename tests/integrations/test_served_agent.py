"""The agent that is served answers with a chat model or without one, from and for the user's own memory."""

import asyncio

import pytest

from langgraph_engram.errors import ModelUnavailable, UnknownModel
from langgraph_engram.integrations.agent import Context, build_agent
from langgraph_engram.memory import Memory
from langgraph_engram.prompts.answer_light import AnswerLight
from langgraph_engram.prompts.parse_intent import ParseIntent
from langgraph_engram.prompts.reflect import Reflect
from langgraph_engram.prompts.select_records import SelectRecords
from langgraph_engram.prompts.write_answer import WriteAnswer
from langgraph_engram.testing import FakeModel
from tests.fake_server import FakeServer, Reply

ANA = {"user_id": "ana"}


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    """No model and no key, whatever the shell has."""
    for name in ("ENGRAM_MODEL", "OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)


def say(agent, text, context=ANA, **config):
    return agent.invoke({"messages": [("user", text)]}, config, context=context)["messages"][-1]


def kept(memory):
    return [(turn.role, turn.text) for turn in memory.show("turns", "ana")]


def test_without_a_model_it_answers_by_rules_and_keeps_what_was_said(memory):
    """What the user tells is noted; a question is answered by what was said."""
    agent = build_agent(memory)

    noted = say(agent, "I camped at Lake Bled.")
    reply = say(agent, "Where did I camp?")
    again = asyncio.run(agent.ainvoke({"messages": [("user", "Where did I camp?")]}, context=ANA))["messages"][-1]

    assert noted.text.startswith("Noted")
    assert '"I camped at Lake Bled." [1]' in reply.text.splitlines()[0]
    assert again.text == reply.text
    assert {role for role, _ in kept(memory)} == {"user"}
    assert ("user", "I camped at Lake Bled.") in kept(memory)


def test_memorys_own_model_does_not_answer_here():
    """A memory that writes with a model, and would answer with it, answers by rules here all the same."""
    model = FakeModel()
    with Memory(store="memory:", encoder="hashing", model=model) as memory:
        agent = build_agent(memory)
        say(agent, "I camped at Lake Bled.")

        answer = say(agent, "Where did I camp?")

    assert '"I camped at Lake Bled." [1]' in answer.text
    reading = {ParseIntent, AnswerLight, SelectRecords, WriteAnswer, Reflect}
    assert not {type(question) for question in model.asked} & reading


def test_with_a_model_it_recalls_for_it(memory, scripted):
    """The model of the developer is shown the prompt of the run and what was recalled."""
    model = scripted("Lovely!", "At Lake Bled.")
    agent = build_agent(memory, model)

    say(agent, "I camped at Lake Bled.")
    answer = say(agent, "Where did I camp?", {**ANA, "system_prompt": "You are a pirate."})

    assert answer.text == "At Lake Bled."
    assert model.shown().startswith("You are a pirate.\n\n")
    assert "I camped at Lake Bled." in model.shown()
    assert model.shown(0) == Context().system_prompt
    assert ("assistant", "At Lake Bled.") in kept(memory)


def test_the_context_chooses_the_model(memory, scripted):
    """What the run names goes before what the developer named; "rules" is none, and a mistake says what is known."""
    agent = build_agent(memory, scripted("By the model."))

    by_rules = say(agent, "Where did I camp?", {**ANA, "model": "rules"})
    by_model = say(agent, "Where did I camp?")

    assert (by_rules.text, by_model.text) == ("I don't know.", "By the model.")
    with pytest.raises(UnknownModel, match="openai:NAME"):
        say(agent, "Hello there.", {**ANA, "model": "gpt"})


@pytest.mark.parametrize("where", ["context", "environment", "argument"])
def test_a_named_model_is_built_at_the_first_call(memory, monkeypatch, where):
    """Building the agent needs no key and no server; the first call opens the model that is named."""
    name = "openai:fake"
    agent = build_agent(memory, name if where == "argument" else None)
    context = {**ANA, "model": name} if where == "context" else ANA
    if where == "environment":
        monkeypatch.setenv("ENGRAM_MODEL", name)

    with pytest.raises(ModelUnavailable, match="OPENAI_API_KEY"):
        say(agent, "Hello there.", context)
    with FakeServer([Reply("Hello, Ana."), Reply("Hello again.")]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        answers = [say(agent, "Hello there.", context).text]
        said = {"messages": [("user", "Hello there.")]}
        answers.append(asyncio.run(agent.ainvoke(said, context=context))["messages"][-1].text)

    assert answers == ["Hello, Ana.", "Hello again."]
