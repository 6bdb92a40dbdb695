"""The graphs are served with the checkpointer that LangGraph's server is given, and wraps."""

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import START, StateGraph

from langgraph_engram import checkpoint_serializer
from langgraph_engram.errors import InvalidSetting
from langgraph_engram.server.served_graphs import with_typed_state
from langgraph_engram.state import WriteState


class Wrapped(InMemorySaver):
    """As LangGraph's server wraps one: what it lacks is looked for in the inner one, so that it cannot be copied."""

    def __init__(self, inner):
        super().__init__(serde=inner.serde)
        self._inner = inner

    def __getattr__(self, name):
        return getattr(self._inner, name)


@pytest.fixture
def graph():
    state_graph = StateGraph(WriteState).add_node("receive", lambda state: {}).add_edge(START, "receive")
    return with_typed_state(state_graph.compile())


def test_one_with_our_serializer_is_taken_as_it_is(graph):
    """It restores the types of what is served already."""
    saver = Wrapped(InMemorySaver(serde=checkpoint_serializer()))

    assert graph.copy({"checkpointer": saver}).checkpointer is saver


def test_one_that_would_lose_our_types_is_refused_with_advice(graph):
    """Each run would end with an error that names nothing of ours, or go on with mappings in place of turns."""
    saver = Wrapped(InMemorySaver(serde=JsonPlusSerializer(allowed_msgpack_modules=[("a", "B")])))

    with pytest.raises(InvalidSetting, match="checkpoint_serializer"):
        graph.copy({"checkpointer": saver})
