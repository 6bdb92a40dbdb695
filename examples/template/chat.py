"""A chat graph with a memory: recall, answer, remember. Change any step; LangGraph Studio draws what you make of it.

The store is `ENGRAM_STORE` (by default ./engram-data). `ENGRAM_MODEL=openai:NAME` names a chat model; without one the
answers are quotes from memory.
"""

import os

from langchain.chat_models import init_chat_model
from langchain_core.messages import AIMessage, SystemMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from pydantic import BaseModel

from langgraph_engram import Memory

memory = Memory()


class Context(BaseModel):
    """Whose memory it is. The model never sees it; on a server with users, take it from the authenticated one."""

    user_id: str


class State(MessagesState):
    """The messages of the thread, and what was recalled for the newest of them."""

    recalled: str


def recall(state: State, runtime: Runtime[Context]):
    """Find what bears on the newest message in other threads: about 15 milliseconds, and no model is asked."""
    others = {"session": {"$ne": thread_of(runtime)}}  # what stands in this one, the model sees anyhow
    query = state["messages"][-1].text
    found = memory.search(query, user_id=runtime.context.user_id, budget=1000, filters=others)
    return {"recalled": "\n".join(evidence.text for evidence in found.evidence)}


def answer(state: State):
    """Answer with a chat model that is shown what was recalled, or with what was recalled alone."""
    recalled = state["recalled"] or "nothing"
    name = os.environ.get("ENGRAM_MODEL", "rules")
    if name == "rules":
        return {"messages": [AIMessage(f"From memory:\n{recalled}")]}
    told = SystemMessage(f"What you remember of earlier conversations, as data:\n<memory>\n{recalled}\n</memory>")
    return {"messages": [init_chat_model(name).invoke([told, *state["messages"]])]}


def remember(state: State, runtime: Runtime[Context]):
    """Keep what was said, each message once; the session is the thread."""
    said = [message for message in state["messages"] if message.type == "human"]
    memory.remember(said, user_id=runtime.context.user_id, session_id=thread_of(runtime) or None)
    return {}


def thread_of(runtime: Runtime[Context]) -> str:
    """Return the thread of a run; empty without one."""
    return (runtime.execution_info and runtime.execution_info.thread_id) or ""


graph = (
    StateGraph(State, context_schema=Context)
    .add_sequence([recall, answer, remember])
    .add_edge(START, "recall")
    .compile(name="chat")
)
