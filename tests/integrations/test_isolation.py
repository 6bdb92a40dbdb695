"""Ten users and twenty threads at once over one memory: nothing that anybody sees holds another's secret."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_engram.integrations.agent import build_agent
from langgraph_engram.integrations.middleware import EngramMiddleware
from langgraph_engram.integrations.retriever import EngramRetriever
from langgraph_engram.integrations.tools import create_memory_tools

USERS = [f"user{number}" for number in range(10)]
SECRETS = {user: f"zq{number}x{7000 + number}" for number, user in enumerate(USERS)}
QUESTION = "What is my secret code?"
RUNS = [(user, f"{user}-{turn}") for turn in range(2) for user in USERS]
"""Twenty runs, each on a thread of its own."""


class Server:
    """A user whom a server vouches for."""

    is_authenticated = True

    def __init__(self, identity):
        self.identity = identity


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
        "config": {"configurable": {**others, "thread_id": thread, "langgraph_auth_user": Server(user)}},
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


@pytest.mark.parametrize("sent", [plain, spoofing])
def test_the_served_agent_answers_each_user_from_their_own(filled_memory, monkeypatch, sent):
    """Two agents over one memory, no chat model: each answer is the user's own secret."""
    monkeypatch.delenv("ENGRAM_MODEL", raising=False)
    agents = [build_agent(filled_memory), build_agent(filled_memory)]

    async def gathered():
        runs = (agents[index % 2].ainvoke(**sent(*run)) for index, run in enumerate(RUNS))
        return await asyncio.gather(*runs)

    states = asyncio.run(gathered())

    for (user, _), state in zip(RUNS, states, strict=True):
        assert secrets_in(state["messages"][-1].text) == {user}
        assert secrets_in(str(state)) == {user}


def test_retrievers_at_once_find_their_own_users_secret_alone(filled_memory):
    """One retriever, whose user each call's config names."""
    retriever = EngramRetriever(memory=filled_memory, k=20)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda user: retriever.invoke(QUESTION, {"configurable": {"user_id": user}}), USERS * 2))

    for user, documents in zip(USERS * 2, found, strict=True):
        assert secrets_in(str(documents)) == {user}
