"""An agent that saves, searches and forgets by itself, with tools.

pip install "langgraph-engram[agents,offline]"
OPENAI_API_KEY=... python examples/agent_with_tools.py
"""

from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel

from langgraph_engram.integrations.tools import create_memory_tools
from langgraph_engram.memory import Memory

PROMPT = "Search your memory before you say that you do not know. Save what will matter in later conversations."


class Context(BaseModel):
    """Whose memory it is. The model never sees it, and cannot change it."""

    user_id: str


def build(memory, model):
    """Build the agent."""
    tools = create_memory_tools(memory)
    return create_agent(model, tools, system_prompt=PROMPT, context_schema=Context, checkpointer=InMemorySaver())


def ask(agent, text, thread, user):
    """Send a message to the agent on a thread, and return its reply."""
    inputs = {"messages": [("user", text)]}
    state = agent.invoke(inputs, {"configurable": {"thread_id": thread}}, context=Context(user_id=user))
    return state["messages"][-1].text


def main(memory=None, model="openai:gpt-4.1-mini"):
    """Mention something on one thread, and ask about it on another."""
    with memory or Memory("./engram-data") as opened:
        agent = build(opened, model)
        print(ask(agent, "Please remember that I am allergic to peanuts.", "monday", "ana"))
        print(ask(agent, "What should I not eat?", "tuesday", "ana"))


if __name__ == "__main__":
    main()
