"""Open the served memory once a process, and build its graphs, each with an entry node that identifies the user.

Heavy libraries are imported at the first call, so that a server starts quickly.
"""

from functools import cache
from threading import RLock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from langgraph_engram.graphs.read import ReadGraph
    from langgraph_engram.graphs.write import WriteGraph
    from langgraph_engram.integrations.agent import Agent
    from langgraph_engram.memory import Memory
    from langgraph_engram.server.scoped_store import ScopedStore


LOCK = RLock()
"""Held while something is opened, so that concurrent requests share it."""


def memory() -> "Memory":
    """Return the memory that the environment configures, opened at the first call."""
    with LOCK:
        return _memory()


def write_graph() -> "WriteGraph":
    """Return the served write graph, whose requests are always about their sender."""
    with LOCK:
        return _write_graph()


def read_graph() -> "ReadGraph":
    """Return the served read graph, whose requests are always about their sender."""
    with LOCK:
        return _read_graph()


def agent_graph() -> "Agent":
    """Return the chat agent over the served memory; its tools and middleware resolve the scope of each run."""
    with LOCK:
        return _agent_graph()


def close() -> None:
    """Close everything, so that the next call opens it again."""
    with LOCK:
        if _memory.cache_info().currsize:
            _memory().close()
        for cached in (_memory, _store, _write_graph, _read_graph, _agent_graph):
            cached.cache_clear()


@cache
def _memory() -> "Memory":
    from langgraph_engram.memory import Memory

    return Memory()


@cache
def _store() -> "ScopedStore":
    from langgraph_engram.server.scoped_store import ScopedStore

    return ScopedStore(memory().store)


@cache
def _write_graph() -> "WriteGraph":
    from langgraph_engram.config import resolve_compressor
    from langgraph_engram.graphs.instrumentation import EntryNode
    from langgraph_engram.graphs.write import build_write_graph
    from langgraph_engram.server.identity import Identify, ServedContext, ServedWriteInput
    from langgraph_engram.server.typed_graph import with_typed_state
    from langgraph_engram.state import RememberRequest

    served = memory()
    graph = build_write_graph(
        _store(),
        served.model,
        served.settings,
        compressor=resolve_compressor(served.settings.extract),
        entry=EntryNode(Identify(RememberRequest), ServedWriteInput, ServedContext),
    )
    return with_typed_state(graph)


@cache
def _read_graph() -> "ReadGraph":
    from langgraph_engram.config import resolve_reranker
    from langgraph_engram.graphs.instrumentation import EntryNode
    from langgraph_engram.graphs.read import build_read_graph
    from langgraph_engram.rule_model.model import RuleModel
    from langgraph_engram.server.identity import Identify, ServedContext, ServedReadInput
    from langgraph_engram.server.typed_graph import with_typed_state
    from langgraph_engram.state import RecallRequest

    served = memory()
    graph = build_read_graph(
        _store(),
        served.model,
        RuleModel(),
        served.settings,
        reranker=resolve_reranker(served.settings.retrieve),
        entry=EntryNode(Identify(RecallRequest), ServedReadInput, ServedContext),
    )
    return with_typed_state(graph)


@cache
def _agent_graph() -> "Agent":
    from langgraph_engram.integrations.agent import build_agent

    return build_agent(memory())
