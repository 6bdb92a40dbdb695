"""Each example runs as it stands, with a chat model that is scripted."""

import importlib.util
import json
import os
import runpy
import sys
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage

from langgraph_engram.integrations.store import EngramStore
from langgraph_engram.memory import Memory
from langgraph_engram.testing import ScriptedChat

FOLDER = Path(__file__).parent.parent.parent / "examples"


def calls(name, **arguments):
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": name}])


SCRIPTS = {
    "agent_with_tools": [
        calls("save_memory", text="Ana is allergic to peanuts."), "I will remember.",
        calls("search_memory", query="What is Ana allergic to?"), "Peanuts.",
    ],
    "agent_with_middleware": ["Lovely!", "At Lake Bled."],
    "memory_as_subgraph": ["Lovely!", "At Lake Bled."],
}  # fmt: skip


def load(name):
    """Import an example."""
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    return example


@pytest.mark.parametrize("name", SCRIPTS)
def test_an_example_of_an_agent_runs(name, capsys):
    """The conversation is remembered, and the model's replies are printed."""
    memory, turns = Memory(store="memory:", encoder="hashing"), []
    close = memory.close
    memory.close = lambda: (turns.extend(memory.show("turns", "ana")), close())

    load(name).main(memory, ScriptedChat.of(*SCRIPTS[name]))

    printed = capsys.readouterr().out.splitlines()
    assert printed == [reply for reply in SCRIPTS[name] if isinstance(reply, str)]
    assert any("peanuts" in turn.text or "Lake Bled" in turn.text for turn in turns)


@pytest.mark.filterwarnings("ignore:Importing Send:DeprecationWarning")  # langmem's own
@pytest.mark.parametrize("name", [*SCRIPTS, "langmem_on_engram_store"])
def test_an_example_runs_without_a_key(name, tmp_path, monkeypatch, capsys):
    """As its first lines say; what it found comes from memory."""
    for key in [key for key in os.environ if key.startswith(("OPENAI_", "ENGRAM_", "LANGSMITH_"))]:
        monkeypatch.delenv(key)
    monkeypatch.setenv("ENGRAM_ENCODER", "hashing")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [f"{name}.py"])

    runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")

    last = capsys.readouterr().out.splitlines()[-1]
    assert any(word in last for word in ("peanuts", "Lake Bled", "Green"))


def test_every_example_is_listed():
    """The list beside them names each file, and no other."""
    listed = (FOLDER / "README.md").read_text(encoding="utf-8")

    names = [path.name for path in FOLDER.glob("*.py")]

    assert all(f"({name})" in listed for name in names)
    assert listed.count(".py](") == len(names)


@pytest.mark.filterwarnings("ignore:Importing Send:DeprecationWarning")  # langmem's own
def test_what_langmem_saves_in_our_store_is_found_by_the_same_user_alone(tmp_path):
    """In a later conversation."""
    search = calls("search_memory", query="tea without sugar")
    ana, ben = ({"configurable": {"user_id": name}} for name in ("ana", "ben"))
    model = ScriptedChat.of(
        calls("manage_memory", content="Takes tea green, without sugar.", action="create"), "Noted.",
        search, "Green, without sugar.",
        search, "I don't know.",
    )  # fmt: skip
    with EngramStore(tmp_path / "store", encoder="hashing") as store:
        agent = load("langmem_on_engram_store").build(model, store)
        agent.invoke({"messages": "I take my tea green."}, ana)
        states = [agent.invoke({"messages": "How do I take my tea?"}, whose) for whose in (ana, ben)]
        namespaces = store.list_namespaces()

    own, foreign = (
        json.loads(message.content) for state in states for message in state["messages"] if message.type == "tool"
    )
    assert [found["value"] for found in own] == [{"content": "Takes tea green, without sugar."}]
    assert own[0]["score"] > 0.3
    assert (foreign, namespaces) == ([], [("memories", "ana")])
