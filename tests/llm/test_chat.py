"""The chat adapter, through the real client, over a real socket."""

import pytest
from langchain_core.caches import InMemoryCache
from langchain_core.globals import set_llm_cache
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

from langgraph_engram.errors import ModelUnavailable
from langgraph_engram.llm.chat import ChatModel
from langgraph_engram.settings import ChatSettings
from langgraph_engram.testing import FakeServer, Reply

GOOD = '{"label": "news", "confidence": 0.5}'
BAD = '{"label": "gossip"}'


def test_a_text_question_gives_text(chat_of, tell):
    """Thoughts are left out, and the server's tokens are counted."""
    with FakeServer([Reply("<think>hm</think>Hello.")]) as server:
        asked = chat_of(server).ask(tell())

    assert asked.answer == "Hello."
    assert (asked.usage.calls, asked.usage.prompt_tokens, asked.usage.completion_tokens) == (1, 7, 3)
    assert (asked.usage.asked, asked.usage.model, asked.usage.node) == (1, "openai:fake", "")


def test_tokens_are_estimated_where_the_server_counts_none(chat_of, tell):
    """Four characters are a token."""
    with FakeServer([Reply("x" * 40, usage=False)]) as server:
        asked = chat_of(server).ask(tell("y" * 80))

    assert (asked.usage.prompt_tokens, asked.usage.completion_tokens) == (20, 10)


@pytest.mark.parametrize("method", ["json_schema", "function_calling", "json_object_schema", "json_prompt"])
def test_each_method_gives_a_validated_answer(method, chat_of, ask_note, note):
    """Each way of asking for JSON works, and sends the schema in one place at least."""
    with FakeServer([Reply(GOOD)]) as server:
        asked = chat_of(server, structured_methods=[method]).ask(ask_note())

    assert asked.answer == note(label="news", confidence=0.5)
    assert '"gossip"' not in str(server.requests)
    assert "confidence" in str(server.requests[0])


def test_a_refused_method_is_skipped_and_the_working_one_remembered(chat_of, ask_note):
    """A server like llama-cpp-python's costs one refused call, once."""
    with FakeServer(refuses=["json_schema"], otherwise=Reply(GOOD)) as server:
        model = chat_of(server)
        first, second = model.ask(ask_note()), model.ask(ask_note())

    assert first.answer == second.answer
    assert (first.usage.calls, second.usage.calls) == (2, 1)
    assert (first.usage.repaired, first.usage.invalid) == (0, 0)


def test_a_server_that_knows_no_method_is_asked_in_words(chat_of, ask_note):
    """The prompt's own words are the last way."""
    with FakeServer(refuses=["json_schema", "tools", "json_object"], otherwise=Reply(f"Well: {GOOD}")) as server:
        asked = chat_of(server).ask(ask_note())

    assert asked.answer is not None
    assert asked.usage.calls == 4
    assert "response_format" not in server.requests[-1]


def test_a_bad_answer_is_repaired_once(chat_of, ask_note):
    """The model sees its answer, what is wrong with it, and the schema."""
    with FakeServer([Reply(BAD), Reply(GOOD)]) as server:
        asked = chat_of(server).ask(ask_note())

    assert asked.answer is not None
    assert (asked.usage.calls, asked.usage.repaired, asked.usage.invalid) == (2, 1, 0)
    *_, bad, repair = server.requests[1]["messages"]
    assert bad == {"role": "assistant", "content": BAD}
    assert "label: Input should be 'news' or 'chat'" in repair["content"]


def test_an_answer_that_stays_bad_is_a_failure_of_this_question(chat_of, ask_note):
    """One repair by the method that works, then a typed failure; siblings are not lost."""
    with FakeServer([Reply(GOOD), Reply(BAD), Reply("no"), Reply(GOOD)]) as server:
        model = chat_of(server, concurrency=1)
        asked = model.ask_all([ask_note("one"), ask_note("two"), ask_note("three")])

    assert [one.failure and one.failure.kind for one in asked] == [None, "invalid", None]
    assert (asked[1].usage.calls, asked[1].usage.invalid, asked[1].usage.repaired) == (2, 1, 0)


def test_a_method_that_is_answered_in_prose_is_left(chat_of, ask_note):
    """A server that takes a response format and ignores it: the next method is tried in the same question."""
    with FakeServer([Reply("Hm."), Reply("Hm."), Reply(GOOD)], otherwise=Reply(GOOD)) as server:
        model = chat_of(server)
        first, second = model.ask(ask_note()), model.ask(ask_note())

    assert first.answer is not None
    assert (first.usage.calls, first.usage.repaired, second.usage.calls) == (3, 1, 1)
    assert "tools" in server.requests[-1]


def test_a_method_that_needs_repair_again_and_again_is_left(chat_of, ask_note):
    """Two first answers that are invalid are enough, if no answer was ever right at once."""
    with FakeServer([Reply("Hm."), Reply(GOOD), Reply("Hm."), Reply(GOOD)], otherwise=Reply(GOOD)) as server:
        model = chat_of(server)
        asked = [model.ask(ask_note()) for _ in range(3)]

    assert [one.usage.calls for one in asked] == [2, 2, 1]
    assert "tools" in server.requests[-1]


def test_a_weak_model_is_not_hunted_through_all_methods_twice(chat_of, ask_note):
    """When every method was answered badly, the first is kept, and later questions cost two calls."""
    with FakeServer(otherwise=Reply("Hm.")) as server:
        model = chat_of(server)
        first, second = model.ask(ask_note()), model.ask(ask_note())

    assert (first.usage.calls, second.usage.calls) == (8, 2)
    assert second.failure is not None
    assert second.failure.kind == "invalid"


@pytest.mark.parametrize("method", ["json_schema", "function_calling", "json_prompt"])
def test_a_cut_off_answer_says_so(method, chat_of, ask_note):
    """It is not asked for again: the same limit would cut it again."""
    with FakeServer([Reply('{"label": "ne', finish_reason="length")]) as server:
        asked = chat_of(server, structured_methods=[method]).ask(ask_note())

    assert asked.failure is not None
    assert asked.failure.kind == "too_long"
    assert "cut off" in asked.failure.reason
    assert (asked.usage.calls, asked.usage.completion_tokens, asked.usage.invalid) == (1, 3, 1)


def test_any_chat_model_will_do(ask_note, tell):
    """One without tools or response formats is asked in words."""
    chat = GenericFakeChatModel(messages=iter([AIMessage(GOOD), AIMessage("Hello.")]))
    model = ChatModel(chat, "generic", ChatSettings())

    answers = [model.ask(ask_note()).answer, model.ask(tell()).answer]

    assert answers[0].label == "news"
    assert answers[1] == "Hello."


def test_a_chat_model_that_cannot_be_built_is_a_refusal(ask_note):
    """`check` raises; `ask` does not."""

    def build():
        raise ModelUnavailable("set a key")

    model = ChatModel(build, "openai:fake", ChatSettings())

    asked = model.ask_all([ask_note(), ask_note()])

    assert [one.failure.kind for one in asked] == ["refused", "refused"]
    assert [one.usage.calls for one in asked] == [0, 0]
    with pytest.raises(ModelUnavailable, match="set a key"):
        model.check()


def test_a_mistake_in_code_is_not_hidden(tell):
    """Only what servers do is a failure of a question."""
    chat = GenericFakeChatModel(messages=iter([]))

    with pytest.raises(StopIteration):
        ChatModel(chat, "generic", ChatSettings()).ask(tell())


def test_a_reply_from_the_cache_costs_nothing(chat_of, tell):
    """LangChain's cache, where a user switches it on, is no call."""
    set_llm_cache(InMemoryCache())
    try:
        with FakeServer([Reply("Hello.")]) as server:
            model = chat_of(server)
            first, second = model.ask(tell()), model.ask(tell())
    finally:
        set_llm_cache(None)

    assert first.answer == second.answer
    assert (first.usage.calls, second.usage.calls, second.usage.prompt_tokens) == (1, 0, 0)
