"""New messages of a thread are distinguished from older ones, and from those that nobody said."""

import pytest
from langchain_core.messages import AIMessage, FunctionMessage, HumanMessage, SystemMessage, ToolMessage

from langgraph_engram.integrations.transcripts import (
    FROM_MEMORY,
    messages_after,
    noted,
    question_of,
    to_remember,
    unkept,
)

SUMMARY = HumanMessage("So far: they greeted.", id="s", additional_kwargs={"lc_source": "summarization"})
THREAD = [
    SystemMessage("Be kind.", id="0"),
    HumanMessage("Hi.", id="1"),
    AIMessage("Hello.", id="2"),
    HumanMessage("I row.", id="3"),
    HumanMessage("And I sail.", id="4"),
    AIMessage("", id="5", tool_calls=[{"name": "log", "args": {}, "id": "c"}]),
    ToolMessage("logged", id="6", tool_call_id="c"),
    AIMessage("Nice.", id="7"),
]


def texts(messages):
    return [message.text for message in messages]


@pytest.mark.parametrize(
    ("last_id", "ids"), [("2", "34567"), ("7", ""), ("", "01234567"), ("gone", "34567"), (None, "34567")]
)
def test_messages_after_the_last_remembered_one_are_new(last_id, ids):
    """If that message is gone, as after a summary, the newest turn is new."""
    assert "".join(message.id for message in messages_after(THREAD, last_id)) == ids


def test_only_people_and_the_assistant_say_something():
    """System messages, tool calls and results, summaries and recycled memory are not remembered."""
    answer = AIMessage("At Lake Bled [1]", response_metadata={FROM_MEMORY: True})
    messages = [*THREAD, SUMMARY, FunctionMessage("done", name="f"), answer]

    said = to_remember(messages, "all", with_ids=True)

    assert texts(said) == ["Hi.", "Hello.", "I row.", "And I sail.", "Nice."]
    assert [message.external_id for message in said] == ["1", "2", "3", "4", "7"]
    assert texts(to_remember(messages, "user", with_ids=False)) == ["Hi.", "I row.", "And I sail."]
    assert {message.external_id for message in to_remember(messages, "all", with_ids=False)} == {None}
    assert to_remember(messages, "none", with_ids=True) == []


def test_a_turn_in_which_something_was_forgotten_is_left_out():
    """Both its question and its answer; the turns around it stay, and so does one in which forgetting failed."""

    def forgetting(status):
        return ToolMessage("Done.", name="own_forget_memory", tool_call_id="c", status=status)

    done = [HumanMessage("Forget 4411."), forgetting("success"), AIMessage("4411 is gone.")]
    failed = [HumanMessage("Forget 99."), forgetting("error"), AIMessage("I cannot.")]

    said = to_remember([HumanMessage("Hi."), AIMessage("Hello."), *done, *failed], "all", with_ids=False)

    assert texts(said) == ["Hi.", "Hello.", "Forget 99.", "I cannot."]


def test_a_turn_in_which_something_was_forgotten_is_left_out_after_a_summary_of_it():
    """The summary took the question and the mark of forgetting out of the thread before the answer came."""
    call = AIMessage("", id="2", tool_calls=[{"name": "forget_memory", "args": {}, "id": "c"}])
    turn = [
        HumanMessage("Forget that my code is 4711.", id="1"),
        call,
        ToolMessage("Forgotten.", id="3", name="forget_memory", tool_call_id="c"),
    ]
    after = [SUMMARY, AIMessage("4711 is forgotten.", id="4"), HumanMessage("I row.", id="5")]

    said = noted(noted([], turn[:2]), turn)

    assert texts(to_remember(unkept(after, "", noted(said, after)), "all", with_ids=True)) == ["I row."]


def test_a_question_is_what_the_user_says_and_no_summary():
    """Several messages are one question; images alone ask nothing."""
    image = HumanMessage([{"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}])

    assert question_of([SUMMARY, *THREAD[3:]]) == "I row.\nAnd I sail."
    assert question_of([image]) == ""
