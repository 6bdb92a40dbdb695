"""An agent that saves, searches and forgets by itself, with tools.

pip install ".[agents,offline]"         # in a clone
python examples/agent_with_tools.py     # without a key: a script calls the tools
OPENAI_API_KEY=... python examples/agent_with_tools.py openai:gpt-4.1-mini
"""

import sys

from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel

from langgraph_engram.integrations.tools import create_memory_tools
from langgraph_engram.memory import Memory
from langgraph_engram.testing import ScriptedChat

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


def calls(name, **arguments):
    """Return the message of a model that calls a tool."""
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": name}])


def script():
    """Return a model that calls the tools as a model of a provider would."""
    return ScriptedChat.of(
        calls("save_memory", text="Ana is allergic to peanuts."),
        "I will remember that you are allergic to peanuts.",
        calls("search_memory", query="What is Ana allergic to?"),
        "No peanuts.",
    )


def main(memory=None, model=None):
    """Mention something on one thread, and ask about it on another."""
    with memory or Memory("./engram-data") as opened:
        agent = build(opened, model or script())
        print(ask(agent, "Please remember that I am allergic to peanuts.", "monday", "ana"))
        print(ask(agent, "What should I not eat?", "tuesday", "ana"))


if __name__ == "__main__":
    main(model=sys.argv[1] if sys.argv[1:] else None)
