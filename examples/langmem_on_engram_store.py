"""An agent with langmem's tools on a persistent store: LangGraph's `BaseStore` over Chroma.

    pip install ".[agents,offline]" langmem       # in a clone
    python examples/langmem_on_engram_store.py    # without a key: a script calls the tools
    OPENAI_API_KEY=... python examples/langmem_on_engram_store.py openai:gpt-4.1-mini

What the user mentions in one conversation the agent finds in the next: they share a user, not a thread.
"""

import sys
from typing import Any

from langchain.agents import create_agent
from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langgraph.store.base import BaseStore
from langmem import create_manage_memory_tool, create_search_memory_tool

from langgraph_engram.integrations.store import EngramStore
from langgraph_engram.testing import ScriptedChat

MEMORIES = ("memories", "{user_id}")
"""Each user has a namespace; langmem fills in the user from the configuration."""


def build(model: BaseChatModel, store: BaseStore) -> Any:
    """Build the agent with langmem's two tools, and the store that they write to and search."""
    tools = [create_manage_memory_tool(MEMORIES), create_search_memory_tool(MEMORIES)]
    prompt = "Search your memories before you answer, and save what the user tells you about themselves."
    return create_agent(model, tools, system_prompt=prompt, store=store)


def script() -> BaseChatModel:
    """Return a model that calls the tools as a model of a provider would."""
    note = {"content": "Takes tea green, without sugar."}
    asked = {"query": "How does the user take their tea?"}
    return ScriptedChat.of(
        AIMessage("", tool_calls=[{"name": "manage_memory", "args": note, "id": "save"}]),
        "Green, without sugar: noted.",
        AIMessage("", tool_calls=[{"name": "search_memory", "args": asked, "id": "search"}]),
        "Green, without sugar.",
    )


def main(model: BaseChatModel | None = None) -> None:
    """Mention something, and ask about it in another conversation."""
    with EngramStore("./engram-data") as store:
        agent = build(model or script(), store)
        for text in ("I take my tea green, without sugar.", "How do I take my tea?"):
            state = agent.invoke({"messages": text}, {"configurable": {"user_id": "ana"}})
            print(state["messages"][-1].text)


if __name__ == "__main__":
    main(init_chat_model(sys.argv[1]) if sys.argv[1:] else None)
