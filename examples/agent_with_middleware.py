"""An agent that recalls before each answer and remembers the conversation, without a tool call.

pip install ".[agents,offline]"               # in a clone
python examples/agent_with_middleware.py      # without a key: it answers with quotes from memory
OPENAI_API_KEY=... python examples/agent_with_middleware.py openai:gpt-4.1-mini
"""

import sys

from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel

from langgraph_engram.integrations.agent import AnswerFromMemory
from langgraph_engram.integrations.middleware import EngramMiddleware
from langgraph_engram.memory import Memory


class Context(BaseModel):
    """Whose memory it is. The model never sees it, and cannot change it."""

    user_id: str


def build(memory, model):
    """Build the agent. The checkpointer keeps each thread; the memory spans all threads of a user."""
    return create_agent(
        model, middleware=[EngramMiddleware(memory)], context_schema=Context, checkpointer=InMemorySaver()
    )


def ask(agent, text, thread, user):
    """Send a message to the agent on a thread, and return its reply."""
    inputs = {"messages": [("user", text)]}
    state = agent.invoke(inputs, {"configurable": {"thread_id": thread}}, context=Context(user_id=user))
    return state["messages"][-1].text


def main(memory=None, model=None):
    """Mention something on one thread, and ask about it on another."""
    with memory or Memory("./engram-data") as opened:
        agent = build(opened, model or AnswerFromMemory(memory=opened))
        print(ask(agent, "We camped at Lake Bled last weekend.", "monday", "ana"))
        print(ask(agent, "Where did I camp?", "tuesday", "ana"))


if __name__ == "__main__":
    main(model=sys.argv[1] if sys.argv[1:] else None)
