"""Any graph takes our store as its `store`."""

import asyncio

import pytest
from langgraph.config import get_store
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from typing_extensions import TypedDict

from langgraph_engram.integrations.store import EngramStore


class State(TypedDict, total=False):
    said: str
    found: list[str]


def keep(state: State, runtime: Runtime) -> State:
    runtime.store.put(("said",), state["said"], {"text": state["said"]})
    return {}


async def find(state: State, *, store: BaseStore) -> State:
    assert store is get_store()
    return {"found": [item.key for item in await store.asearch(("said",), query=state["said"])]}


@pytest.fixture
def store():
    with EngramStore("memory:", encoder="hashing") as opened:
        yield opened


def test_nodes_are_given_the_store(store):
    """By runtime, by argument and by context; sync and async nodes side by side."""
    builder = StateGraph(State).add_node(keep).add_node(find)
    graph = builder.add_edge(START, "keep").add_edge("keep", "find").add_edge("find", END).compile(store=store)

    asyncio.run(graph.ainvoke({"said": "A dog in the garden."}))
    result = asyncio.run(graph.ainvoke({"said": "We camped at the lake."}))

    assert result["found"] == ["We camped at the lake.", "A dog in the garden."]
