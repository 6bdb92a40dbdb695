"""The tools and the retriever pass LangChain's own suites."""

from concurrent.futures import ThreadPoolExecutor
from functools import cache

import pytest
from langchain_tests.integration_tests import RetrieversIntegrationTests, ToolsIntegrationTests

from langgraph_engram.integrations.retriever import EngramRetriever
from langgraph_engram.integrations.tools import create_memory_tools
from langgraph_engram.memory import Memory

PLACES = ("at Lake Bled", "near Rome in spring", "on the island of Cres", "in my garden once")
MESSAGES = [{"speaker": "Ana", "text": f"I camped {where}."} for where in PLACES]


@cache
def memory():
    """Open what all suites share, at the first test."""
    return Memory(store="memory:", encoder="hashing", model="rules")


@cache
def tools():
    return {tool.name: tool for tool in create_memory_tools(memory(), user_id="ana", ask_to_forget=False)}


@pytest.fixture(autouse=True, scope="module")
def filled_memory():
    """Keep what the suites search."""
    memory().remember(MESSAGES, user_id="ana", session_id="s1")
    yield
    memory().close()


def newest_turn():
    """Name a turn that may be forgotten, made for whoever asks; some suites ask in an event loop."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(_remember_turn).result()


def _remember_turn():
    memory().remember([{"speaker": "Ana", "text": "Forget me."}], user_id="ana", session_id="s2")
    return memory().show("turns", "ana")[-1].turn_id


class OfTool:
    """What the suites ask of a tool: the tool of a name, and a call of it."""

    name: str

    @property
    def tool_constructor(self):
        return tools()[self.name]

    @property
    def tool_invoke_params_example(self):
        return EXAMPLES[self.name]()


EXAMPLES = {
    "save_memory": lambda: {"text": "Ana is allergic to peanuts."},
    "search_memory": lambda: {"query": "Where did Ana camp?"},
    "forget_memory": lambda: {"memory_id": newest_turn()},
}


class TestSaveMemory(OfTool, ToolsIntegrationTests):
    name = "save_memory"


class TestSearchMemory(OfTool, ToolsIntegrationTests):
    name = "search_memory"


class TestForgetMemory(OfTool, ToolsIntegrationTests):
    name = "forget_memory"


class TestEngramRetriever(RetrieversIntegrationTests):
    @property
    def retriever_constructor(self):
        return EngramRetriever

    @property
    def retriever_constructor_params(self):
        return {"memory": memory(), "user_id": "ana"}

    @property
    def retriever_query_example(self):
        return "Where did Ana camp?"
