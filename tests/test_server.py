"""What `langgraph.json` names can be served: graphs that open late, take JSON and tell their schemas."""

import asyncio
import importlib
import json
from pathlib import Path

import pytest

from langgraph_engram import server
from langgraph_engram.server import factory

ROOT = Path(__file__).parent.parent
CONFIGURATION = json.loads((ROOT / "langgraph.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def served():
    """Serve a memory of this process, without weights."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("ENGRAM_STORE", "memory:")
        environment.setenv("ENGRAM_ENCODER", "hashing")
        environment.delenv("ENGRAM_MODEL", raising=False)
        environment.delenv("ENGRAM_PRESET", raising=False)
        with factory.memory():
            yield


@pytest.mark.parametrize("name", CONFIGURATION["graphs"])
def test_each_graph_is_named_by_module(name, served):
    """A module path loads one copy of our classes, and leads to a graph of that name."""
    module, function = CONFIGURATION["graphs"][name]["path"].split(":")

    graph = asyncio.run(getattr(importlib.import_module(module), function)())

    assert graph.name == name
    assert graph.get_input_jsonschema()["properties"].keys() == {"messages" if name == "agent" else "request"}
    assert graph.get_output_jsonschema()["properties"]


def test_requests_may_come_as_json(served):
    """A server hands over plain JSON; the first node makes it ours."""
    said = {"user_id": "ana", "session_id": "s", "messages": [{"speaker": "Ana", "text": "My cat is called Miso."}]}

    written = asyncio.run(server.remember()).invoke({"request": said})
    read = asyncio.run(server.recall()).invoke({"request": {"user_id": "ana", "query": "What is Ana's cat called?"}})

    assert written["receipt"].stored_turns == 1
    assert "Miso" in read["recollection"].answer


def test_a_request_without_a_user_fails(served):
    """Whose memory it is, is never guessed."""
    with pytest.raises(ValueError, match="user_id"):
        asyncio.run(server.remember()).invoke({"request": {"messages": [{"text": "Hello there."}]}})
