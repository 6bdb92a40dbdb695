"""What the README shows is what happens."""

import contextlib
import io
import re
from pathlib import Path

import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from pydantic import BaseModel
from typing_extensions import TypedDict

from langgraph_engram.memory import Memory
from langgraph_engram.results import Recollection
from langgraph_engram.state import RecallRequest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
DEPLOY = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")


class ScriptedModel(GenericFakeChatModel):
    """A chat model that replies as told, and lets tools be bound to it."""

    def bind_tools(self, tools, **options):
        return self


class Context(BaseModel):
    user_id: str


class Asking(TypedDict, total=False):
    question: str
    request: RecallRequest
    recollection: Recollection


def test_the_quickstart_runs_and_prints_what_it_says(tmp_path, monkeypatch):
    """The twenty lines run as they stand, with the encoder that users get."""
    code = re.search(r"<!-- quickstart -->\n```python\n(.*?)```", README, re.DOTALL).group(1)
    promised = re.search(r"<!-- quickstart output -->\n```text\n(.*?)```", README, re.DOTALL).group(1)
    monkeypatch.chdir(tmp_path)
    for name in ("ENGRAM_STORE", "ENGRAM_MODEL", "ENGRAM_ENCODER", "ENGRAM_PRESET"):
        monkeypatch.delenv(name, raising=False)
    printed = io.StringIO()

    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})

    assert printed.getvalue() == promised


def test_the_store_does_what_is_shown(tmp_path, monkeypatch):
    """With the encoder that users get."""
    code = re.search(r"<!-- store -->\n```python\n(.*?)```", DEPLOY, re.DOTALL).group(1)
    promised = re.search(r"<!-- store output -->\n```text\n(.*?)```", DEPLOY, re.DOTALL).group(1)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ENGRAM_ENCODER", raising=False)
    printed = io.StringIO()

    with contextlib.redirect_stdout(printed):
        exec(compile(code, "deploy.md", "exec"), {})

    assert printed.getvalue() == promised


@pytest.mark.parametrize("name", ["middleware", "tools", "retriever", "graphs"])
def test_the_lines_for_agents_run(name):
    """With a memory, a model and a thread at hand, the few lines do what they say."""
    code = re.search(rf"<!-- agent: {name} -->\n```python\n(.*?)```", README, re.DOTALL).group(1)
    with Memory(store="memory:", encoder="hashing") as memory:
        memory.remember([{"speaker": "Ana", "text": "I camped at Lake Bled."}], user_id="ana", session_id="june")
        given = {
            "memory": memory,
            "model": ScriptedModel(messages=iter([AIMessage("At Lake Bled.")])),
            "Context": Context,
            "saver": InMemorySaver(),
            "thread": {"configurable": {"thread_id": "t"}},
            "graph": StateGraph(Asking),
        }

        exec(compile(code, "README.md", "exec"), given)

        if name == "middleware":
            assert [turn.text for turn in memory.show("turns", "ana")][1:] == ["Where did I camp?", "At Lake Bled."]
        if name == "retriever":
            assert "Lake Bled" in given["documents"][0].page_content
        if name == "graphs":
            graph = given["graph"].add_edge(START, "ask").add_edge("ask", "recall").compile()
            assert "Lake Bled" in graph.invoke({"question": "Where did Ana camp?"})["recollection"].answer
