"""Each example runs as it stands, with a chat model that is scripted."""

import importlib.util
import os
import runpy
import sys
from pathlib import Path

import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

from langgraph_engram.memory import Memory

FOLDER = Path(__file__).parent.parent.parent / "examples"


class ScriptedModel(GenericFakeChatModel):
    """A chat model that replies as scripted, and accepts any tools."""

    def bind_tools(self, tools, **options):
        return self


def calls(name, **arguments):
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": name}])


SCRIPTS = {
    "agent_with_tools": [
        calls("save_memory", text="Ana is allergic to peanuts."), AIMessage("I will remember."),
        calls("search_memory", query="What is Ana allergic to?"), AIMessage("Peanuts."),
    ],
    "agent_with_middleware": [AIMessage("Lovely!"), AIMessage("At Lake Bled.")],
    "memory_as_subgraph": [AIMessage("Lovely!"), AIMessage("At Lake Bled.")],
}  # fmt: skip


@pytest.mark.parametrize("name", SCRIPTS)
def test_an_example_of_an_agent_runs(name, capsys):
    """The conversation is remembered, and the model's replies are printed."""
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    memory, turns = Memory(store="memory:", encoder="hashing"), []
    close = memory.close
    memory.close = lambda: (turns.extend(memory.show("turns", "ana")), close())

    example.main(memory, ScriptedModel(messages=iter(SCRIPTS[name])))

    printed = capsys.readouterr().out.splitlines()
    assert printed == [reply.content for reply in SCRIPTS[name] if reply.content]
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
