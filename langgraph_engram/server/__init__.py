"""Serve memory: what `langgraph.json` names. Nothing is opened until the server asks for a graph.

Settings come from `ENGRAM_STORE`, `ENGRAM_MODEL`, `ENGRAM_ENCODER`, `ENGRAM_PRESET` and `ENGRAM_SETTINGS`, credentials
from `ENGRAM_TOKENS` and `ENGRAM_JWT_*` (see `credentials`). The graphs are compiled without a checkpointer: the server
adds its own.
"""

from langgraph_engram.server.factory import agent, improve, recall, remember

__all__ = ["agent", "improve", "recall", "remember"]
