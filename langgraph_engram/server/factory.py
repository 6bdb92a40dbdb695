"""Open the memory that a server serves, once a process, and build its graphs, each with a door before its first step.

The heavy libraries are imported here, at the first call, so that naming the graphs stays light.
"""

from functools import cache
from threading import RLock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from langgraph_engram.graphs.read import ReadGraph
    from langgraph_engram.graphs.write import WriteGraph
    from langgraph_engram.integrations.agent import Agent
    from langgraph_engram.memory import Memory
    from langgraph_engram.server.owned_store import ScopedStore


OPENING = RLock()
"""Held while something is opened, so that requests that come at once share one."""


def memory() -> "Memory":
    """Give the memory that the environment names, opening it at the first call."""
    with OPENING:
        return _memory()


def write_graph() -> "WriteGraph":
    """Give the write graph as it is served: its requests are their senders'."""
    with OPENING:
        return _write_graph()


def read_graph() -> "ReadGraph":
    """Give the read graph as it is served: its requests are their senders'."""
    with OPENING:
        return _read_graph()


def agent_graph() -> "Agent":
    """Give the chat agent over the memory that is served; its tools and middleware look up whose memory it is."""
    with OPENING:
        return _agent_graph()


def close() -> None:
    """Close what is open, so that the next call opens it anew."""
    with OPENING:
        if _memory.cache_info().currsize:
            _memory().close()
        for one in (_memory, _store, _write_graph, _read_graph, _agent_graph):
            one.cache_clear()


@cache
def _memory() -> "Memory":
    from langgraph_engram.memory import Memory

    return Memory()


@cache
def _store() -> "ScopedStore":
    from langgraph_engram.server.owned_store import ScopedStore as OwnedStore

    return OwnedStore(memory().store)


@cache
def _write_graph() -> "WriteGraph":
    from langgraph_engram.config import resolve_compressor as choose_compressor
    from langgraph_engram.graphs.instrumentation import EntryNode as Door
    from langgraph_engram.graphs.write import build_write_graph
    from langgraph_engram.server.identity import Identify, OwnWriteInput
    from langgraph_engram.server.identity import ServedContext as Whose
    from langgraph_engram.server.typed_graph import with_typed_state as served
    from langgraph_engram.state import RememberRequest

    own = memory()
    built = build_write_graph(
        _store(),
        own.model,
        own.settings,
        compressor=choose_compressor(own.settings.extract),
        entry=Door(Identify(RememberRequest), OwnWriteInput, Whose),
    )
    return served(built)


@cache
def _read_graph() -> "ReadGraph":
    from langgraph_engram.config import resolve_reranker as choose_reranker
    from langgraph_engram.graphs.instrumentation import EntryNode as Door
    from langgraph_engram.graphs.read import build_read_graph
    from langgraph_engram.rule_model.model import RuleModel
    from langgraph_engram.server.identity import Identify, OwnReadInput
    from langgraph_engram.server.identity import ServedContext as Whose
    from langgraph_engram.server.typed_graph import with_typed_state as served
    from langgraph_engram.state import RecallRequest

    own = memory()
    built = build_read_graph(
        _store(),
        own.model,
        RuleModel(),
        own.settings,
        reranker=choose_reranker(own.settings.retrieve),
        door=Door(Identify(RecallRequest), OwnReadInput, Whose),
    )
    return served(built)


@cache
def _agent_graph() -> "Agent":
    from langgraph_engram.integrations.agent import build_agent

    return build_agent(memory())
