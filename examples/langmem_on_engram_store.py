"""An agent with langmem's tools, whose memories last in a folder: LangGraph's store over Chroma.

    pip install "langgraph-engram[offline]" langchain langmem
    OPENAI_API_KEY=... python examples/langmem_on_engram_store.py

What the agent is told in one conversation it finds in another, tomorrow as well: they share a user, not a thread.
"""

from typing import Any

from langchain.agents import create_agent
from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel
from langgraph.store.base import BaseStore
from langmem import create_manage_memory_tool, create_search_memory_tool

from langgraph_engram.integrations.store import EngramStore

MEMORIES = ("memories", "{user_id}")
"""Each user's memories stand in a namespace of their own; langmem fills in who it is from the configuration."""


def build(model: BaseChatModel, store: BaseStore) -> Any:
    """Build the agent: langmem's two tools, and the store that they write to and search."""
    tools = [create_manage_memory_tool(MEMORIES), create_search_memory_tool(MEMORIES)]
    prompt = "Search your memories before you answer, and keep what the user tells you of themselves."
    return create_agent(model, tools, system_prompt=prompt, store=store)


def main() -> None:
    """Tell the agent something, and ask for it in another conversation."""
    with EngramStore("./engram-data") as store:
        agent = build(init_chat_model("openai:gpt-4.1-mini"), store)
        for text in ("I take my tea green, without sugar.", "How do I take my tea?"):
            told = agent.invoke({"messages": text}, {"configurable": {"user_id": "ana"}})
            print(told["messages"][-1].text)


if __name__ == "__main__":
    main()
