"""The chat adapter inside a LangGraph node: what people watch must reach them."""

from typing import TypedDict

from langchain_core.callbacks import BaseCallbackHandler
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph

from langgraph_engram.testing import FakeServer, Reply

GOOD = '{"label": "news", "confidence": 0.5}'


class Said(TypedDict, total=False):
    told: list[str]


def graph_of(node):
    return StateGraph(Said).add_node("tell", node).add_edge(START, "tell").add_edge("tell", END).compile()


class Starts(BaseCallbackHandler):
    """Counts chat models that start."""

    def __init__(self):
        self.count = 0

    def on_chat_model_start(self, serialized, messages, **kwargs):
        self.count += 1


def test_text_streams_and_json_does_not(chat_of, tell, ask_note):
    """An answer for people comes word by word; JSON stays out of their sight."""
    with FakeServer([Reply(GOOD), Reply("one two three")]) as server:
        model = chat_of(server)

        def node(state):
            return {"told": [model.ask(ask_note()).answer.label, model.ask(tell()).answer]}

        seen = [chunk.text for chunk, _ in graph_of(node).stream({}, stream_mode="messages")]

    assert "".join(seen).split() == ["one", "two", "three"]
    assert len([text for text in seen if text]) == 3


def test_callbacks_and_writers_reach_the_threads(chat_of, tell):
    """Questions asked side by side keep the node's callbacks, and its stream of messages."""
    starts = Starts()
    with FakeServer(otherwise=Reply("hello")) as server:
        model = chat_of(server)

        def node(state):
            return {"told": [one.answer for one in model.ask_all([tell(str(place)) for place in range(4)])]}

        stream = graph_of(node).stream({}, {"callbacks": [starts]}, stream_mode="messages")
        seen = [metadata["langgraph_node"] for chunk, metadata in stream if chunk.text]

    assert starts.count == 4
    assert seen == ["tell"] * 4


def test_a_stream_writer_works_while_questions_are_asked(chat_of, tell):
    """Context variables go into the threads: a node's writer is there."""
    with FakeServer(otherwise=Reply("hello")) as server:
        model = chat_of(server)

        class Watched(tell):
            def render(self):
                get_stream_writer()(self.text)
                return super().render()

        def node(state):
            return {"told": [one.answer for one in model.ask_all([Watched(str(place)) for place in range(4)])]}

        seen = list(graph_of(node).stream({}, stream_mode="custom"))

    assert sorted(seen) == ["0", "1", "2", "3"]
