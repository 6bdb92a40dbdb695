"""Serve the two graphs: what `langgraph.json` names. Nothing is opened until the server asks for a graph.

Settings come from `ENGRAM_STORE`, `ENGRAM_MODEL`, `ENGRAM_ENCODER` and `ENGRAM_PRESET`. The graphs are compiled without
a checkpointer: the server brings its own. Opening a store blocks, so it happens in a thread, never on the event loop.
"""

import asyncio
from functools import cache
from threading import Lock

from langgraph_engram.graphs.read import ReadGraph
from langgraph_engram.graphs.write import WriteGraph
from langgraph_engram.memory import Memory

OPENING = Lock()
"""Held while the memory is opened, so that requests that come at once share one."""


@cache
def opened() -> Memory:
    """Open the memory that the environment names, once a process. Call it through `memory`."""
    return Memory()


def memory() -> Memory:
    """Give the memory that the environment names, opening it at the first call."""
    with OPENING:
        return opened()


async def remember() -> WriteGraph:
    """Give the write graph."""
    return (await asyncio.to_thread(memory)).write_graph


async def recall() -> ReadGraph:
    """Give the read graph."""
    return (await asyncio.to_thread(memory)).read_graph
