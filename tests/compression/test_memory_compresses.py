"""A memory whose settings name a rate asks about fewer words, and keeps all of them."""

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph

from langgraph_engram.config import resolve_compressor
from langgraph_engram.errors import CompressorUnavailable
from langgraph_engram.formats.messages import Session
from langgraph_engram.memory import Memory
from langgraph_engram.rule_model.model import RULES
from langgraph_engram.settings import ExtractSettings, Settings
from langgraph_engram.state import Message, RememberRequest, WriteState
from langgraph_engram.testing import FakeModel

MESSAGES = [
    {"speaker": "Ana", "text": "We camped by the small lake and it was really very nice indeed."},
    {"speaker": "Ben", "text": "Our old house has a garden, and that is where we keep the bees."},
]


@pytest.fixture
def model():
    return FakeModel([lambda question: RULES[type(question)](question)] * 50)


@pytest.fixture
def compressing_memory(model):
    """Open a memory that compresses, to half of the words, by the model of a folder."""

    def opened(folder):
        extract = ExtractSettings(compress_rate=0.5, compress_model=str(folder))
        return Memory(store="memory:", encoder="hashing", model=model, settings=Settings(extract=extract))

    return opened


def test_what_is_asked_about_is_shorter_and_what_is_kept_is_not(compressing_memory, model, tiny):
    """The question holds half of the words; the turns and the records hold all of them."""
    with compressing_memory(tiny) as memory:
        memory.remember(MESSAGES, user_id="ana", session_id="s")

        (asked,) = [question for question in model.asked if question.name == "ExtractEvents"]
        text = str(asked.render()[-1].text)
        assert [len(text.split()) for text in asked.shown] == [7, 7]
        assert all(shown in text for shown in asked.shown)
        assert not any(message["text"] in text for message in MESSAGES)
        assert [turn.text for turn in memory.show("turns", "ana")] == [message["text"] for message in MESSAGES]
        assert MESSAGES[0]["text"] in memory.show("records", "ana")[0].content


def test_without_a_model_nothing_is_asked_and_nothing_lost(compressing_memory, model, tmp_path, save):
    """Turns are stored and pending when the compressor fails; once it is there, a retry does the rest."""
    with compressing_memory(tmp_path) as memory:
        with pytest.raises(CompressorUnavailable, match="cannot read"):
            memory.remember(MESSAGES, user_id="ana", session_id="s")
        assert (model.asked, memory.status("ana").turns) == ([], 2)
        assert memory.status("ana").pending

        save(tmp_path)
        receipt = memory.retry(user_id="ana")

        assert (receipt.pending, receipt.records) == (0, 2)
        assert not memory.status("ana").pending


def test_a_session_that_cannot_be_written_is_named(compressing_memory, tmp_path):
    """The error says which of the conversations it was."""
    session = Session("monday", [Message.model_validate(message) for message in MESSAGES])
    with (
        compressing_memory(tmp_path) as memory,
        pytest.raises(CompressorUnavailable, match=r"^session 'monday': .*cannot read"),
    ):
        memory.remember_sessions([session], user_id="ana")


def test_an_embedded_run_without_an_id_is_the_same_run_once_resumed(compressing_memory, tmp_path, save):
    """The graph around it stops where the compressor is missing, and goes on from there when it is there."""
    messages = [Message.model_validate(message) for message in MESSAGES]
    request = RememberRequest(messages=messages, user_id="ana", session_id="s")
    thread = {"configurable": {"thread_id": "a"}}
    with compressing_memory(tmp_path) as memory:
        graph = StateGraph(WriteState).add_node("remember", memory.write_graph).add_edge(START, "remember")
        app = graph.compile(checkpointer=InMemorySaver())
        with pytest.raises(CompressorUnavailable):
            app.invoke({"request": request}, thread)
        save(tmp_path)

        state = app.invoke(None, thread)

        assert (state["receipt"].stored_turns, state["receipt"].records) == (2, 2)
        assert not memory.status("ana").pending


def test_a_second_run_without_an_id_is_another_run(compressing_memory, tmp_path, save):
    """Two requests on one thread have two ids: the second does not take the turns of the first for its own."""
    save(tmp_path)
    thread = {"configurable": {"thread_id": "a"}}
    requests = [
        RememberRequest(messages=[Message.model_validate(message)], user_id="ana", session_id="s")
        for message in MESSAGES
    ]
    with compressing_memory(tmp_path) as memory:
        graph = StateGraph(WriteState).add_node("remember", memory.write_graph).add_edge(START, "remember")
        app = graph.compile(checkpointer=InMemorySaver())

        receipts = [app.invoke({"request": request}, thread)["receipt"] for request in requests]

    assert len({receipt.run_id for receipt in receipts}) == 2


@pytest.mark.parametrize("extract", [ExtractSettings(), ExtractSettings(strategy="none", compress_rate=0.8)])
def test_where_nothing_is_to_be_compressed_nothing_is_opened(extract):
    """Without a rate, or without a question, there is no compressor."""
    assert resolve_compressor(extract) is None
