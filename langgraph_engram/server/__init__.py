"""Serve memory: what `langgraph.json` names. Nothing is opened until the server asks for a graph.

Settings come from `ENGRAM_STORE`, `ENGRAM_MODEL`, `ENGRAM_ENCODER`, `ENGRAM_PRESET` and `ENGRAM_SETTINGS`, credentials
from `ENGRAM_TOKENS` and `ENGRAM_JWT_*` (see `credentials`). The graphs are compiled without a checkpointer: the server
adds its own. Opening a store blocks, so it happens in a thread, never on the event loop.
"""

import asyncio
from typing import TYPE_CHECKING

from langgraph_engram.server import factory

if TYPE_CHECKING:
    from langgraph_engram.graphs.read import ReadGraph
    from langgraph_engram.graphs.write import WriteGraph
    from langgraph_engram.integrations.agent import Agent


async def remember() -> "WriteGraph":
    """Return the write graph."""
    return (await asyncio.to_thread(factory.graphs))[0]


async def recall() -> "ReadGraph":
    """Return the read graph."""
    return (await asyncio.to_thread(factory.graphs))[1]


async def agent() -> "Agent":
    """Return the chat agent with memory."""
    return await asyncio.to_thread(factory.agent_graph)
