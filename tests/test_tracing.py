"""Whoever observes the run around a call of memory sees it in one tree, with as much text as is allowed."""

import asyncio
from functools import partial
from typing import Any, TypedDict

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.runnables import RunnableLambda
from langchain_core.tracers import BaseTracer
from langchain_openai import ChatOpenAI
from langgraph.graph import START, StateGraph

from langgraph_engram.integrations.retriever import EngramRetriever
from langgraph_engram.memory import Memory
from langgraph_engram.settings import DeepSettings, Settings, TraceSettings
from tests.fake_server import FakeServer, Reply

SECRET = "Lisbon"
SAID = {"role": "user", "name": "Ana", "content": f"I live in {SECRET} with my cat."}
WRITTEN = Settings(deep=DeepSettings(sufficiency="always", reflect=False))
"""Settings under which a recall calls the model once, for the answer."""


class Collector(BaseTracer):
    """Keep the finished roots."""

    def __init__(self) -> None:
        super().__init__()
        self.roots: list[Any] = []

    def _persist_run(self, run: Any) -> None:
        self.roots.append(run)

    def all(self) -> list[Any]:
        found = list(self.roots)
        for run in found:
            found += run.child_runs
        return found

    def named(self, name: str) -> Any:
        (run,) = (run for run in self.all() if run.name == name)
        return run

    def text(self) -> str:
        return " ".join(str((run.inputs, run.outputs, run.extra, run.error, run.events)) for run in self.all())


class Tokens(BaseCallbackHandler):
    """Keep the tokens of chat models."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def on_llm_new_token(self, token: str, **options: Any) -> None:
        self.seen.append(token)


class State(TypedDict, total=False):
    question: str
    found: int


def calling(memory, method="search"):
    """Return a graph whose node calls a memory."""

    def node(state: State) -> State:
        found = getattr(memory, method)(state["question"], user_id="ana")
        return {"found": len(found.evidence)}

    graph = StateGraph(State)
    graph.add_node("call", node)
    graph.add_edge(START, "call")
    return graph.compile(name="outer")


@pytest.fixture
def tracer():
    return Collector()


@pytest.fixture
def open_memory():
    opened = []

    def make(model="rules", **options):
        memory = Memory("memory:", model, encoder="hashing", **options)
        opened.append(memory)
        memory.remember([SAID], user_id="ana")
        return memory

    yield make
    for memory in opened:
        memory.close()


def test_a_search_in_a_node_is_part_of_its_tree(open_memory, tracer):
    """Below the node: the call, its graph, its steps, and retrieval as a retriever with its documents."""
    calling(open_memory()).invoke({"question": "Where do I live?"}, {"callbacks": [tracer]})

    (root,) = tracer.roots
    search, retrieval = tracer.named("search"), tracer.named("retrieve")
    path, run = [], retrieval
    while run:
        path.append(run.name)
        run = next((parent for parent in tracer.all() if parent.id == run.parent_run_id), None)
    assert root.name == "outer"
    assert path == ["retrieve", "light_retrieve", "read graph", "search", "call", "outer"]
    assert (search.run_type, retrieval.run_type) == ("chain", "retriever")
    assert [SECRET in document.page_content for document in retrieval.outputs["documents"]] == [True]


def test_a_call_says_what_it_was_and_cost(open_memory, tracer):
    """Its tags and metadata name the preset and the scope by a hash; its output has the verdict, calls and tokens."""
    RunnableLambda(lambda question: open_memory().search(question, user_id="ana")).invoke(
        "Where do I live?", {"callbacks": [tracer], "tags": ["mine"], "metadata": {"team": "red"}}
    )

    search, remembered = tracer.named("search"), tracer.named("remember")
    assert {"engram", "mine"} <= set(search.tags)
    assert search.extra["metadata"]["team"] == "red"
    assert search.extra["metadata"]["engram_preset"] == "engram"
    assert search.extra["metadata"]["engram_scope"] == remembered.extra["metadata"]["engram_scope"]
    assert "ana" not in str(search.extra)
    assert search.inputs == {}
    assert search.outputs == {"verdict": "partial", "evidence": 1, "rounds": 1, "calls": 0, "tokens": 0}
    assert remembered.outputs["stored_turns"] == 1


@pytest.mark.parametrize("method", ["recall", "stream"])
def test_the_tokens_of_memorys_model_reach_the_handlers_around(tracer, method):
    """A handler that is passed to the run around sees what memory's model is asked, and each word that it writes."""
    with FakeServer([], otherwise=Reply("In Lisbon [1]")) as server:
        chat = ChatOpenAI(base_url=server.url, api_key="any", model="fake", streaming=True)
        with Memory("memory:", chat, encoder="hashing", settings=WRITTEN) as memory:
            memory.remember([SAID], user_id="ana")
            tokens = Tokens()
            ask = getattr(memory, method)

            def node(question: str) -> str:
                found = ask(question, user_id="ana")
                return found.answer if method == "recall" else [*found][-1].recollection.answer

            answer = RunnableLambda(node).invoke("Where do I live?", {"callbacks": [tokens, tracer]})

    recall = tracer.named("recall")
    assert answer == "In Lisbon [1]"
    assert answer in "".join(tokens.seen)
    assert [run.run_type for run in tracer.all()].count("llm") >= 1
    assert recall.outputs["calls"] >= 1
    assert recall.outputs["tokens"] >= 1
    assert [run.name for run in tracer.roots] == ["node"]


def test_the_streams_of_the_graph_around_stay_its_own(open_memory, tracer):
    """The steps of memory's graphs are in the trace, and in no stream of the caller."""
    graph = calling(open_memory(), "recall")

    parts = list(
        graph.stream(
            {"question": "Where do I live?"},
            {"callbacks": [tracer]},
            stream_mode=["messages", "custom", "updates"],
            subgraphs=True,
        )
    )

    assert [mode for _, mode, _ in parts] == ["updates"]
    assert tracer.named("light_retrieve")


def test_without_text_a_trace_has_none(open_memory, tracer):
    """A call is one run without a word of the question, of memory or of an error; its figures stay."""
    memory = open_memory(settings=Settings(trace=TraceSettings(text=False)))
    graph = calling(memory)

    def node(_: str) -> int:
        memory.remember([SAID | {"content": f"I left {SECRET}."}], user_id="ana")
        return len(memory.recall(f"Did I leave {SECRET}?", user_id="ana").evidence)

    RunnableLambda(node).invoke("", {"callbacks": [tracer]})
    graph.invoke({"question": "Where?"}, {"callbacks": [tracer]})

    names = [run.name for run in tracer.all() if "engram" in (run.tags or ())]
    assert sorted(names) == ["recall", "remember", "search"]
    assert SECRET not in tracer.text()
    assert tracer.named("search").outputs["evidence"] == 1


def test_an_error_ends_its_run(open_memory, tracer, monkeypatch):
    """The run of the call has it; without text only its kind."""
    for text in (True, False):
        memory = open_memory(settings=Settings(trace=TraceSettings(text=text)))
        monkeypatch.setattr(memory.store, "index", lambda *_: (_ for _ in ()).throw(ValueError(SECRET)))
        search = RunnableLambda(partial(memory.search, user_id="ana"))
        with pytest.raises(ValueError, match=SECRET):
            search.invoke("Where?", {"callbacks": [tracer]})

    shown, hidden = (run.error for run in tracer.all() if run.name == "search")
    assert SECRET in shown
    assert "ValueError" in hidden
    assert SECRET not in hidden


def test_a_retriever_by_itself_is_one_tree(open_memory, tracer):
    """Its run is the root, with the documents; the search of memory is below it. Also when it is asynchronous."""
    retriever = EngramRetriever(memory=open_memory(), user_id="ana")
    retriever.invoke("Where do I live?", {"callbacks": [tracer]})
    asyncio.run(retriever.ainvoke("Where do I live?", {"callbacks": [tracer]}))

    assert [(root.name, root.run_type) for root in tracer.roots] == [("EngramRetriever", "retriever")] * 2
    assert [[run.name for run in root.child_runs] for root in tracer.roots] == [["search"]] * 2


def test_asynchronous_calls_are_traced_as_the_others(open_memory, tracer):
    """In an asynchronous node as well, whose handlers are an asynchronous manager's."""
    memory = open_memory()

    async def node(question: str) -> int:
        streamed = [update async for update in memory.astream(question, user_id="ana")]
        return len((await memory.asearch(question, user_id="ana")).evidence) + len(streamed)

    asyncio.run(RunnableLambda(node).ainvoke("Where do I live?", {"callbacks": [tracer]}))

    (root,) = tracer.roots
    assert [run.name for run in root.child_runs] == ["recall", "search"]


def test_a_stream_that_is_left_ends_its_run(open_memory, tracer):
    """No run stays open."""
    memory = open_memory()

    def node(question: str) -> str:
        updates = memory.stream(question, user_id="ana")
        first = next(updates)
        updates.close()
        return first.step

    RunnableLambda(node).invoke("Where do I live?", {"callbacks": [tracer]})

    assert tracer.named("recall").end_time is not None
    assert tracer.run_map == {}
