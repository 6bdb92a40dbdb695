"""Open the served memory once a process, and build its graphs, each with an entry node that identifies the user.

Heavy libraries are imported at the first call, so that a server starts quickly. Opening a store blocks, so it happens
in a thread, never on the event loop.
"""

import asyncio
from collections.abc import Callable
from functools import cache, wraps
from threading import RLock
from typing import TYPE_CHECKING, TypeVar, cast

if TYPE_CHECKING:
    from langgraph_engram.graphs.read import ReadGraph
    from langgraph_engram.graphs.write import WriteGraph
    from langgraph_engram.integrations.agent import Agent
    from langgraph_engram.memory import Memory
    from langgraph_engram.server.improving import ImproveGraph
    from langgraph_engram.stores.base import Store

Part = TypeVar("Part")
LOCK = RLock()
"""Held while something is opened, so that concurrent requests share it."""


def opened_once(make: Callable[[], Part]) -> Callable[[], Part]:
    """Return a function that makes a part of the server at its first call, and returns it at all later ones."""
    kept = cache(make)

    @wraps(make)
    def get() -> Part:
        with LOCK:
            return kept()

    return get


@opened_once
def memory() -> "Memory":
    """Return the memory that the environment configures."""
    from langgraph_engram.memory import Memory

    return Memory()


@opened_once
def graphs() -> "tuple[WriteGraph, ReadGraph]":
    """Return the served graphs, whose requests are always about their sender, and which reach nobody else's memory."""
    from langgraph_engram.graphs.instrumentation import EntryNode
    from langgraph_engram.graphs.read import build_read_graph
    from langgraph_engram.graphs.write import build_write_graph
    from langgraph_engram.integrations.identity import Identify, RunContext
    from langgraph_engram.rule_model.model import RuleModel
    from langgraph_engram.server.served_graphs import ScopedStore, ServedReadInput, ServedWriteInput, with_typed_state
    from langgraph_engram.state import RecallRequest, RememberRequest

    served = memory()
    store, model, settings = cast("Store", ScopedStore(served.store)), served.model, served.settings
    write = build_write_graph(
        store, model, RuleModel(), settings, entry=EntryNode(Identify(RememberRequest), ServedWriteInput, RunContext)
    )
    read = build_read_graph(
        store, model, RuleModel(), settings, entry=EntryNode(Identify(RecallRequest), ServedReadInput, RunContext)
    )
    return with_typed_state(write), with_typed_state(read)


@opened_once
def agent_graph() -> "Agent":
    """Return the chat agent over the served memory; its tools and middleware resolve the scope of each run."""
    from langgraph_engram.integrations.agent import build_agent

    return build_agent(memory())


@opened_once
def improve_graph() -> "ImproveGraph":
    """Return the graph that improves memories."""
    from langgraph_engram.server.improving import build_improve_graph

    return build_improve_graph(memory())


async def remember() -> "WriteGraph":
    """Return the write graph."""
    return (await asyncio.to_thread(graphs))[0]


async def recall() -> "ReadGraph":
    """Return the read graph."""
    return (await asyncio.to_thread(graphs))[1]


async def agent() -> "Agent":
    """Return the chat agent with memory."""
    return await asyncio.to_thread(agent_graph)


async def improve() -> "ImproveGraph":
    """Return the graph that spends a budget on what was written free."""
    return await asyncio.to_thread(improve_graph)
