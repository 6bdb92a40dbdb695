"""Serve the two graphs: what `langgraph.json` names. Nothing is opened until the server asks for a graph.

Settings come from `ENGRAM_STORE`, `ENGRAM_MODEL`, `ENGRAM_ENCODER` and `ENGRAM_PRESET`. The graphs are compiled without
a checkpointer: the server brings its own.
"""

from functools import cache

from langgraph_engram.graphs.read import ReadGraph
from langgraph_engram.graphs.write import WriteGraph
from langgraph_engram.memory import Memory


@cache
def memory() -> Memory:
    """Open the memory that the environment names, once a process."""
    return Memory()


def remember() -> WriteGraph:
    """Give the write graph."""
    return memory().write_graph


def recall() -> ReadGraph:
    """Give the read graph."""
    return memory().read_graph
