"""Both graphs are nodes of any graph, and a memory that a node calls keeps its own run to itself."""

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from typing_extensions import TypedDict

from langgraph_engram.formats.messages import to_messages
from langgraph_engram.memory import Memory
from langgraph_engram.results import Receipt, Recollection
from langgraph_engram.settings import DeepSettings, Settings, UpdateSettings
from langgraph_engram.state import RecallRequest, RememberRequest
from tests.fake_server import FakeServer, Reply

LISBON = '"I live in Lisbon."'


class State(TypedDict, total=False):
    text: str
    request: RecallRequest | RememberRequest
    recollection: Recollection
    receipt: Receipt


def remember_text(state):
    said = to_messages([{"role": "user", "content": state["text"]}])
    return {"request": RememberRequest(messages=said, user_id="ana", session_id="s")}


def ask(state):
    return {"request": RecallRequest(query="Where do I live?", user_id="ana")}


def embedded(memory):
    """A graph that tells memory something, then asks it."""
    steps = remember_text, ("remember", memory.write_graph), ask, ("recall", memory.read_graph)
    return StateGraph(State).add_sequence(steps).add_edge(START, "remember_text").compile(checkpointer=InMemorySaver())


def test_both_graphs_embed(memory, on):
    """Requests go in under `request`; receipt and recollection come out, typed, after the checkpoint too.

    Nothing of a turn is added to the next one on the same thread.
    """
    graph = embedded(memory)

    state = graph.invoke({"text": "I live in Lisbon."}, on("a"))
    saved = graph.get_state(on("a")).values
    second = graph.invoke({"text": "I have a cat."}, on("a"))

    assert state["receipt"].stored_turns == 1
    assert LISBON in state["recollection"].answer
    assert isinstance(saved["recollection"], Recollection)
    assert isinstance(saved["receipt"], Receipt)
    assert (second["receipt"].stored_turns, second["receipt"].known_turns) == (1, 0)
    assert LISBON in second["recollection"].answer


def test_their_steps_are_drawn_and_streamed(memory, on):
    """Whoever opens the graph sees inside of memory."""
    graph = embedded(memory)

    drawn = set(graph.get_graph(xray=True).nodes)
    steps = [step for _, part in graph.stream({"text": "I row."}, on("a"), subgraphs=True) for step in part]

    assert {"remember:receive", "remember:persist", "recall:light_retrieve", "recall:conclude"} <= drawn
    assert steps.index("receive") < steps.index("remember") < steps.index("parse_intent") < steps.index("recall")


def caller(memory, saver=None):
    """A graph whose only step calls the memory."""

    def call(state):
        memory.remember([{"role": "user", "content": state["text"]}], user_id="ana", session_id="s")
        memory.search("Where do I live?", user_id="ana")
        return {"recollection": memory.recall("Where do I live?", user_id="ana")}

    return StateGraph(State).add_node("call", call).add_edge(START, "call").compile(checkpointer=saver)


def test_a_memory_that_a_step_calls_leaves_no_trace_in_its_run(memory, on):
    """No steps of memory in the caller's checkpoints, nor in its stream."""
    saver = InMemorySaver()

    streamed = list(caller(memory, saver).stream({"text": "I live in Lisbon."}, on("a"), subgraphs=True))

    assert [list(part) for _, part in streamed] == [["call"]]
    assert list(saver.storage) == ["a"]
    assert list(saver.storage["a"]) == [""]


def test_the_words_of_memorys_model_do_not_stream_as_the_callers(monkeypatch):
    """Whoever streams messages of an agent does not see what memory's model writes."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    settings = Settings(deep=DeepSettings(sufficiency="always", reflect=False))
    with FakeServer([Reply("In Lisbon [1]")] * 40) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        with Memory(store="memory:", encoder="hashing", model="openai:fake", settings=settings) as memory:
            graph = caller(memory)

            messages = list(graph.stream({"text": "I live in Lisbon."}, stream_mode="messages", subgraphs=True))
            found = memory.recall("Where do I live?", user_id="ana")

    assert found.answer == "In Lisbon [1]"
    assert messages == []


def test_an_approval_pauses_memorys_run_alone(on):
    """The caller's run goes on; what waits for a person waits in the memory."""
    settings = Settings(update=UpdateSettings(approve=["SUPERSEDE", "MERGE", "CONFLICT"]))
    with Memory(store="memory:", encoder="hashing", settings=settings) as memory:
        graph = caller(memory, InMemorySaver())
        graph.invoke({"text": "I live in Lisbon."}, on("a"))

        state = graph.invoke({"text": "I live in Porto now."}, on("a"))

        assert "__interrupt__" not in state
        assert graph.get_state(on("a")).next == ()
        assert len(memory.approvals(user_id="ana")) == 1
