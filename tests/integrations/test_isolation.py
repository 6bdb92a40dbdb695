"""Ten users and twenty threads at once over one memory: nothing that anybody sees holds another's secret."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_engram.integrations.middleware import EngramMiddleware
from langgraph_engram.integrations.tools import create_memory_tools

USERS = [f"user{number}" for number in range(10)]
SECRETS = {user: f"zq{number}x{7000 + number}" for number, user in enumerate(USERS)}
QUESTION = "What is my secret code?"
RUNS = [(user, f"{user}-{turn}") for turn in range(2) for user in USERS]
"""Twenty runs, each on a thread of its own."""


@pytest.fixture
def filled_memory(memory):
    """A memory in which each user has told a secret."""
    for user, secret in SECRETS.items():
        memory.remember([{"role": "user", "content": f"My secret code is {secret}."}], user_id=user, session_id="s")
    return memory


def secrets_in(text):
    return {user for user, secret in SECRETS.items() if secret in text}


def searching(messages):
    """Search, then repeat everything that can be seen."""
    if isinstance(messages[-1], ToolMessage):
        return AIMessage(" ".join(str(message.text) for message in messages))
    return AIMessage(
        "", tool_calls=[{"name": "search_memory", "args": {"query": QUESTION, "user_id": "user3"}, "id": "1"}]
    )


def spoofing(user, thread):
    """A run of a user whom the server knows and who says to be somebody else everywhere."""
    others = {"user_id": USERS[0], "tenant": "default"}
    return {
        "input": {"messages": [("user", QUESTION)]},
        "config": {
            "configurable": {**others, "thread_id": thread, "langgraph_auth_user": SimpleNamespace(identity=user)}
        },
        "context": others,
    }


def plain(user, thread):
    return {
        "input": {"messages": [("user", QUESTION)]},
        "config": {"configurable": {"thread_id": thread}},
        "context": {"user_id": user},
    }


@pytest.mark.parametrize("sent", [plain, spoofing])
@pytest.mark.parametrize("is_async", [False, True])
def test_twenty_threads_at_once_hold_their_own_users_secret_alone(filled_memory, scripted, context, sent, is_async):
    """Middleware and tools together, in threads and on one event loop; a spoofed user is not believed."""
    agent = create_agent(
        scripted(searching), create_memory_tools(filled_memory, tools=["search_memory"]),
        middleware=[EngramMiddleware(filled_memory)], context_schema=context, checkpointer=InMemorySaver(),
    )  # fmt: skip

    async def gathered():
        return await asyncio.gather(*(agent.ainvoke(**sent(*run)) for run in RUNS))

    if is_async:
        states = asyncio.run(gathered())
    else:
        with ThreadPoolExecutor(8) as pool:
            states = list(pool.map(lambda run: agent.invoke(**sent(*run)), RUNS))

    for (user, _), state in zip(RUNS, states, strict=True):
        assert secrets_in(str(state["messages"])) == {user}
    for user in USERS:
        assert secrets_in(str(filled_memory.show("turns", user)) + str(filled_memory.show("records", user))) == {user}
