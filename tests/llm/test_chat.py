"""The chat adapter, through the real client over a real socket: answers, repair, batches and LangGraph nodes."""

from typing import TypedDict

import pytest
from langchain_core.caches import InMemoryCache
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.globals import set_llm_cache
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.graph import END, START, StateGraph

from langgraph_engram.llm.chat import ChatModel, ChatSettings
from tests.fake_server import FakeServer, Reply
from tests.llm.conftest import GOOD, AskNote, AskText, Note, chat_of

BAD = '{"label": "gossip"}'


def test_a_text_question_gives_text():
    """Reasoning is left out, and the server's tokens are counted; four characters are one where it counts none."""
    with FakeServer([Reply("<think>hm</think>Hello."), Reply("x" * 40, usage=False)]) as server:
        result, estimated = chat_of(server).ask(AskText()), chat_of(server).ask(AskText("y" * 80))

    assert result.answer == "Hello."
    assert (result.usage.calls, result.usage.prompt_tokens, result.usage.completion_tokens) == (1, 7, 3)
    assert (result.usage.asked, result.usage.model, result.usage.node) == (1, "openai:fake", "")
    assert (estimated.usage.prompt_tokens, estimated.usage.completion_tokens) == (20, 10)


@pytest.mark.parametrize("method", ["json_schema", "json_prompt"])
def test_each_method_gives_a_validated_answer(method):
    """Each way of asking for JSON works, and sends the schema in one place at least."""
    with FakeServer([Reply(GOOD)]) as server:
        result = chat_of(server, structured_methods=[method]).ask(AskNote())

    assert result.answer == Note(label="news", confidence=0.5)
    assert '"gossip"' not in str(server.requests)
    assert "confidence" in str(server.requests[0])


def test_a_refused_method_is_skipped_and_the_working_one_remembered():
    """A refusal costs one call, once; a schema in the prompt is the last resort."""
    with FakeServer(refuses=["json_schema"], otherwise=Reply(f"Well: {GOOD}")) as server:
        model = chat_of(server)
        first, second = model.ask(AskNote()), model.ask(AskNote())

    assert first.answer == second.answer
    assert (first.usage.calls, second.usage.calls) == (2, 1)
    assert (first.usage.repaired, first.usage.invalid) == (0, 0)
    assert "response_format" not in server.requests[-1]


def test_a_bad_answer_is_repaired_once():
    """The model sees its answer, what is wrong with it, and the schema."""
    with FakeServer([Reply(BAD), Reply(GOOD)]) as server:
        result = chat_of(server).ask(AskNote())

    assert result.answer is not None
    assert (result.usage.calls, result.usage.repaired, result.usage.invalid) == (2, 1, 0)
    *_, bad, repair = server.requests[1]["messages"]
    assert bad == {"role": "assistant", "content": BAD}
    assert "label: Input should be 'news' or 'chat'" in repair["content"]


def test_an_answer_that_stays_bad_is_a_failure_of_this_question():
    """One repair by the method that works, then a typed failure; siblings are not lost."""
    with FakeServer([Reply(GOOD), Reply(BAD), Reply("no"), Reply(GOOD)]) as server:
        model = chat_of(server, concurrency=1)
        results = model.ask_all([AskNote("one"), AskNote("two"), AskNote("three")])

    assert [result.failure and result.failure.kind for result in results] == [None, "invalid", None]
    assert (results[1].usage.calls, results[1].usage.invalid, results[1].usage.repaired) == (2, 1, 0)


def test_a_method_whose_schema_is_ignored_is_left():
    """A server that takes a schema and ignores it: the repair states it, and later questions go otherwise."""
    with FakeServer([Reply("Hm."), Reply(GOOD)], otherwise=Reply(GOOD)) as server:
        model = chat_of(server)
        first, second = model.ask(AskNote()), model.ask(AskNote())

    assert first.answer == second.answer
    assert (first.usage.calls, first.usage.repaired, second.usage.calls) == (2, 1, 1)
    assert ["response_format" in request for request in server.requests] == [True, False, False]


def test_a_weak_model_costs_two_calls_a_question():
    """When both methods were answered badly, the prompt is kept."""
    with FakeServer(otherwise=Reply("Hm.")) as server:
        model = chat_of(server)
        results = [model.ask(AskNote()) for _ in range(4)]

    assert [result.usage.calls for result in results] == [2, 2, 2, 2]
    assert {result.failure and result.failure.kind for result in results} == {"invalid"}
    assert "response_format" not in server.requests[-1]


@pytest.mark.parametrize("method", ["json_schema", "json_prompt"])
def test_a_cut_off_answer_says_so(method):
    """It is not asked for again: the same limit would cut it again."""
    with FakeServer([Reply('{"label": "ne', finish_reason="length")]) as server:
        result = chat_of(server, structured_methods=[method]).ask(AskNote())

    assert result.failure.kind == "too_long"
    assert "cut off" in result.failure.reason
    assert (result.usage.calls, result.usage.completion_tokens, result.usage.invalid) == (1, 3, 1)


def test_any_chat_model_will_do():
    """One without tools or response formats is asked by prompt."""
    chat = GenericFakeChatModel(messages=iter([AIMessage(GOOD), AIMessage("Hello.")]))
    model = ChatModel(chat, "generic", ChatSettings())

    answers = [model.ask(AskNote()).answer, model.ask(AskText()).answer]

    assert answers[0].label == "news"
    assert answers[1] == "Hello."


def test_a_reply_from_the_cache_costs_nothing():
    """LangChain's cache, where a user switches it on, is no call."""
    set_llm_cache(InMemoryCache())
    try:
        with FakeServer([Reply("Hello.")]) as server:
            model = chat_of(server)
            first, second = model.ask(AskText()), model.ask(AskText())
    finally:
        set_llm_cache(None)

    assert first.answer == second.answer
    assert (first.usage.calls, second.usage.calls, second.usage.prompt_tokens) == (1, 0, 0)


def test_order_is_kept_and_concurrency_is_bounded():
    """Answers come in the order of the questions, whoever is quicker; never more at once than allowed."""
    script = [Reply("0")] + [Reply(str(number), after_seconds=0.05) for number in range(1, 9)]
    with FakeServer(script) as server:
        results = chat_of(server, concurrency=3).ask_all([AskText(str(number)) for number in range(9)])

    answers = {
        request["messages"][0]["content"]: reply.content for request, reply in zip(server.requests, script, strict=True)
    }
    assert [result.answer for result in results] == [answers[str(number)] for number in range(9)]
    assert 2 <= server.most_at_once <= 3


def test_a_failure_that_affects_all_is_met_once():
    """No access: one call, and the same failure for each question."""
    with FakeServer(otherwise=Reply(status=401, error="bad key")) as server:
        results = chat_of(server, concurrency=1).ask_all([AskNote(str(number)) for number in range(5)])

    assert len(server.requests) == 1
    assert {result.failure for result in results} == {results[0].failure}
    assert [result.usage.calls for result in results] == [1, 0, 0, 0, 0]
    assert sum(result.usage.asked for result in results) == 5


class Said(TypedDict, total=False):
    answers: list[str]


def graph_of(node):
    return StateGraph(Said).add_node("AskText", node).add_edge(START, "AskText").add_edge("AskText", END).compile()


class Starts(BaseCallbackHandler):
    """Counts chat models that start."""

    def __init__(self):
        self.count = 0

    def on_chat_model_start(self, serialized, messages, **kwargs):
        self.count += 1


def test_text_streams_and_json_does_not():
    """An answer for people comes word by word; JSON stays out of their sight."""
    with FakeServer([Reply(GOOD), Reply("one two three")]) as server:
        model = chat_of(server)

        def node(state):
            return {"answers": [model.ask(AskNote()).answer.label, model.ask(AskText()).answer]}

        seen = [chunk.text for chunk, _ in graph_of(node).stream({}, stream_mode="messages")]

    assert "".join(seen).split() == ["one", "two", "three"]
    assert len([text for text in seen if text]) == 3


def test_callbacks_and_writers_reach_the_threads():
    """Questions asked concurrently keep the node's callbacks, and its stream of messages."""
    starts = Starts()
    with FakeServer(otherwise=Reply("hello")) as server:
        model = chat_of(server)

        def node(state):
            return {
                "answers": [result.answer for result in model.ask_all([AskText(str(number)) for number in range(4)])]
            }

        stream = graph_of(node).stream({}, {"callbacks": [starts]}, stream_mode="messages")
        seen = [metadata["langgraph_node"] for chunk, metadata in stream if chunk.text]

    assert starts.count == 4
    assert seen == ["AskText"] * 4
