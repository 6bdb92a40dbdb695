"""Name the checkpointed threads of runs, and find those of a scope: each is marked with whose it is.

The mark is a hash, so that it tells nobody's name. This module does not know what a run does.
"""

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver

from langgraph_engram.schema import Scope
from langgraph_engram.stores.revisions import scope_hash

MARK = "engram_scope"
"""The key under which a checkpoint's metadata say whose it is."""


def thread_of(run_id: str, scope: Scope) -> RunnableConfig:
    """Name the checkpointed thread of a run, and mark it with whose it is."""
    return {"configurable": {"thread_id": run_id}, "metadata": {MARK: scope_hash(scope)}}


def threads_of(checkpointer: BaseCheckpointSaver[str], scope: Scope) -> list[str]:
    """Give the threads of a scope's runs, newest first: those that were named by `thread_of`."""
    found = checkpointer.list(None, filter={MARK: scope_hash(scope)})
    return list(dict.fromkeys(str(one.config["configurable"]["thread_id"]) for one in found))
