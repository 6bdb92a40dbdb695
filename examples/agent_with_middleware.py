"""An agent that recalls before each answer and keeps what was said, without a tool call.

OPENAI_API_KEY=... python examples/agent_with_middleware.py
"""

from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel

from langgraph_engram.integrations.middleware import EngramMiddleware
from langgraph_engram.memory import Memory


class Context(BaseModel):
    """Whose memory it is. The model never sees it, and cannot change it."""

    user_id: str


def build(memory, model):
    """Build the agent. Its checkpointer keeps threads, the memory what outlives them."""
    return create_agent(
        model, middleware=[EngramMiddleware(memory)], context_schema=Context, checkpointer=InMemorySaver()
    )


def ask(agent, text, thread, user):
    """Say something to the agent on a thread, and give what it answers."""
    said = {"messages": [("user", text)]}
    state = agent.invoke(said, {"configurable": {"thread_id": thread}}, context=Context(user_id=user))
    return state["messages"][-1].text


def main(memory=None, model="openai:gpt-4.1-mini"):
    """Tell the agent something on one thread, and ask for it on another."""
    with memory or Memory("./engram-data") as opened:
        agent = build(opened, model)
        print(ask(agent, "We camped at Lake Bled last weekend.", "monday", "ana"))
        print(ask(agent, "Where did I camp?", "tuesday", "ana"))


if __name__ == "__main__":
    main()
