"""Both graphs of a memory as nodes of a graph of your own: recall, answer, remember.

pip install ".[agents,offline]"           # in a clone
python examples/memory_as_subgraph.py     # without a key: a script answers
OPENAI_API_KEY=... python examples/memory_as_subgraph.py openai:gpt-4.1-mini
"""

import sys
from typing import Annotated

from langchain.chat_models import init_chat_model
from langchain_core.messages import AnyMessage
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from typing_extensions import TypedDict

from langgraph_engram.formats.messages import to_messages
from langgraph_engram.memory import Memory
from langgraph_engram.results import Receipt, Recollection
from langgraph_engram.state import RecallRequest, RememberRequest
from langgraph_engram.testing import ScriptedChat


class State(TypedDict, total=False):
    """`request` goes into both graphs; `recollection` and `receipt` come out."""

    user_id: str
    messages: Annotated[list[AnyMessage], add_messages]
    request: RecallRequest | RememberRequest
    recollection: Recollection
    receipt: Receipt


def search_memory(state):
    """Request a search for the newest message."""
    return {"request": RecallRequest(query=state["messages"][-1].text, user_id=state["user_id"], mode="search")}


def update_memory(state):
    """Request that the question and its answer are remembered."""
    return {"request": RememberRequest(messages=to_messages(state["messages"][-2:]), user_id=state["user_id"])}


def build(memory, model):
    """Build the graph; each step of the subgraphs can be streamed, interrupted and resumed in it."""

    def answer(state):
        evidence = "\n".join(passage.text for passage in state["recollection"].evidence)
        return {"messages": model.invoke([("system", f"You remember:\n{evidence}"), *state["messages"]])}

    graph = StateGraph(State)
    steps = search_memory, ("recall", memory.read_graph), answer, update_memory, ("remember", memory.write_graph)
    return graph.add_sequence(steps).add_edge(START, "search_memory").compile()


def main(memory=None, model=None):
    """Mention something, then ask about it."""
    with memory or Memory("./engram-data") as opened:
        graph = build(opened, model or ScriptedChat.of("Lovely!", "At Lake Bled."))
        for text in ("We camped at Lake Bled last weekend.", "Where did I camp?"):
            print(graph.invoke({"user_id": "ana", "messages": [("user", text)]})["messages"][-1].text)


if __name__ == "__main__":
    main(model=init_chat_model(sys.argv[1]) if sys.argv[1:] else None)
