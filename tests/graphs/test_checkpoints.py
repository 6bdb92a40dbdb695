"""Checkpoints of these graphs, and of graphs that hold them, restore their types without a warning."""

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import END, START, StateGraph
from pydantic import BaseModel
from typing_extensions import TypedDict

from langgraph_engram import checkpoint_serializer
from langgraph_engram.graphs.checkpoints import with_known_types
from langgraph_engram.graphs.write import build_write_graph
from langgraph_engram.presets import preset
from langgraph_engram.results import Receipt
from langgraph_engram.rule_model.model import RuleModel
from langgraph_engram.state import RememberRequest

THREAD = {"configurable": {"thread_id": "one"}}
SAID = {"user_id": "ana", "session_id": "s", "messages": [{"speaker": "Ana", "text": "I live in Oslo."}]}


class Mood(BaseModel):
    """A type of the graph around."""

    name: str = "calm"


class Outer(TypedDict, total=False):
    """A state around the write graph's."""

    request: dict
    receipt: dict
    mood: object


def outer(graph, serializer):
    around = StateGraph(Outer)
    around.add_node("mood", lambda state: {"mood": Mood()})
    around.add_node("remember", graph)
    around.add_edge(START, "mood")
    around.add_edge("mood", "remember")
    around.add_edge("remember", END)
    return around.compile(checkpointer=InMemorySaver(serde=serializer))


@pytest.mark.parametrize("allowed", [None, True], ids=["strict", "as it is by default"])
def test_an_ordinary_saver_restores_the_types_of_a_built_graph(store, caplog, allowed):
    """Whoever builds a graph lists nothing; the saver that they gave is not changed."""
    serializer = JsonPlusSerializer(allowed_msgpack_modules=allowed)
    saver = InMemorySaver(serde=serializer)
    graph = build_write_graph(store, RuleModel(), RuleModel(), preset("engram"), saver)

    graph.invoke({"request": SAID}, THREAD)
    restored = graph.get_state(THREAD).values

    assert (type(restored["request"]), type(restored["receipt"])) == (RememberRequest, Receipt)
    assert caplog.records == []
    assert saver.serde is serializer


def test_a_graph_around_restores_them_with_its_own(store, caplog):
    """It names the types once, its own beside them."""
    graph = outer(build_write_graph(store, RuleModel(), RuleModel(), preset("engram")), checkpoint_serializer([Mood]))

    graph.invoke({"request": SAID}, THREAD)
    restored = graph.get_state(THREAD).values

    assert isinstance(restored["receipt"], Receipt)
    assert restored["mood"] == Mood()
    assert caplog.records == []


def test_a_serializer_of_the_caller_s_own_stays():
    """Who encrypts checkpoints, for one, lists the types there."""
    saver = InMemorySaver(serde=EncryptedSerializer(cipher=object()))

    assert with_known_types(saver) is saver
    assert with_known_types(None) is None
