"""The example runs: langmem's tools write to `EngramStore` and search it."""

import importlib.util
import json
from pathlib import Path

import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

from langgraph_engram.integrations.store import EngramStore

EXAMPLE = Path(__file__).parents[2] / "examples" / "langmem_on_engram_store.py"
ANA, BEN = ({"configurable": {"user_id": name}} for name in ("ana", "ben"))

pytest.importorskip("langmem")
pytest.importorskip("langchain")


class Scripted(GenericFakeChatModel):
    """A chat model that replies as scripted, and accepts any tools."""

    def bind_tools(self, tools, **named):
        return self


def script(*steps):
    """Make a model that calls tools, given as name and arguments, and says texts, in this order."""
    messages = [
        AIMessage(step)
        if isinstance(step, str)
        else AIMessage("", tool_calls=[{"name": step[0], "args": step[1], "id": f"call-{index}"}])
        for index, step in enumerate(steps)
    ]
    return Scripted(messages=iter(messages))


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("langmem_on_engram_store", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def store(tmp_path):
    with EngramStore(tmp_path / "store", encoder="hashing") as opened:
        yield opened


def results(state):
    """What the tools returned, oldest first."""
    return [message.content for message in state["messages"] if message.type == "tool"]


def test_a_saved_memory_is_found_by_the_same_user_alone(example, store):
    """In a later conversation; a memory is changed and removed by its id."""
    model = script(
        ("manage_memory", {"content": "Takes tea green, without sugar.", "action": "create"}), "Noted.",
        ("search_memory", {"query": "tea without sugar"}), "Green, without sugar.",
        ("search_memory", {"query": "tea without sugar"}), "I don't know.",
    )  # fmt: skip
    agent = example.build(model, store)

    agent.invoke({"messages": "I take my tea green."}, ANA)
    found = results(agent.invoke({"messages": "How do I take my tea?"}, ANA))
    foreign = results(agent.invoke({"messages": "How do I take my tea?"}, BEN))

    (memory,) = json.loads(found[0])
    assert memory["value"] == {"content": "Takes tea green, without sugar."}
    assert memory["namespace"] == ["memories", "ana"]
    assert memory["score"] > 0.3
    assert json.loads(foreign[0]) == []
    assert store.list_namespaces() == [("memories", "ana")]
