"""Messages of every supported shape are converted, or refused with their index."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    ChatMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)

from langgraph_engram.errors import InvalidMessages
from langgraph_engram.formats.messages import to_messages
from langgraph_engram.state import MAX_NAME_CHARACTERS, Message

NOON = datetime(2024, 3, 9, 12, 0, tzinfo=UTC)


def test_langchain_messages_keep_their_roles_and_are_called_by_them():
    """Each kind of LangChain message has one role; a name, if there is one, is the speaker."""
    items = [
        SystemMessage("Be kind."),
        HumanMessage("I keep bees.", name="Ilse"),
        AIMessage("How many hives?"),
        AIMessageChunk("Go on."),
        ToolMessage("3", tool_call_id="1"),
        ChatMessage("Four now.", role="human"),
    ]

    messages = to_messages(items)

    assert [(message.role, message.speaker) for message in messages] == [
        ("system", "system"),
        ("user", "Ilse"),
        ("assistant", "assistant"),
        ("assistant", "assistant"),
        ("tool", "tool"),
        ("user", "user"),
    ]
    assert [message.text for message in messages][1:3] == ["I keep bees.", "How many hives?"]


def test_a_message_that_only_calls_tools_is_left_out():
    """Nothing was said in it, and an agent's history is full of them."""
    call = {"name": "weather", "args": {}, "id": "1"}
    items = [
        AIMessage("", tool_calls=[call]),
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
        AIMessage("Let me look.", tool_calls=[call]),
    ]

    messages = to_messages(items)

    assert [message.text for message in messages] == ["Let me look."]


def test_parts_of_text_are_joined_and_images_give_their_words():
    """Reasoning and sound are nothing that was said; an image without words adds nothing."""
    content = [
        "Look:",
        {"type": "text", "text": "our new boat"},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png", "alt": "a red rowing boat"}},
        {"type": "image", "url": "https://example.org/b.png"},
        {"type": "image", "url": "https://example.org/c.png", "caption": "two oars"},
        {"type": "reasoning", "reasoning": "They like boats."},
        {"type": "input_audio", "input_audio": {}},
    ]

    [message] = to_messages([HumanMessage(content)])

    assert message.text == "Look:\nour new boat"
    assert message.captions == ["a red rowing boat", "two oars"]


def test_openai_dicts_and_speaker_dicts_say_the_same():
    """Both shapes give one message; the wrapping object and a single mapping are taken too."""
    openai = {"role": "user", "name": "Ilse", "content": "Hello", "timestamp": "2024-03-09T12:00:00Z", "id": "m1"}
    spoken = {"speaker": "Ilse", "text": "Hello", "said_at": "2024-03-09 12:00", "external_id": "m1"}

    [from_openai], [from_dict] = to_messages({"messages": [openai]}), to_messages(spoken)

    assert (
        from_openai == from_dict == Message(role="user", speaker="Ilse", text="Hello", said_at=NOON, external_id="m1")
    )


def test_a_speaker_who_is_called_by_a_role_has_that_role():
    """ "assistant" as a speaker is the assistant; any other name is a user unless the role says otherwise."""
    items = [
        {"speaker": "Assistant", "text": "Hello"},
        {"speaker": "Ilse", "text": "Hello"},
        {"speaker": "Bot", "role": "ai", "text": "Hello"},
    ]

    messages = to_messages(items)

    assert [message.role for message in messages] == ["assistant", "user", "assistant"]


@pytest.mark.parametrize(
    "moment",
    [
        "2024-03-09T12:00:00",
        "2024-03-09T12:00:00Z",
        "2024-03-09T13:00:00+01:00",
        1709985600,
        1709985600.0,
        datetime(2024, 3, 9, 12, 0),
        NOON,
    ],
)
def test_every_way_to_tell_a_time_gives_one_moment(moment):
    """A time without an offset is UTC, and a number counts seconds since 1970."""
    [message] = to_messages([{"role": "user", "content": "Noon", "created_at": moment}])

    assert message.said_at == NOON


@pytest.mark.parametrize(
    ("told", "moments"),
    [
        ([{"said_at": NOON}, {}], [NOON, None]),
        ([{"additional_kwargs": {"created_at": NOON}}, {"additional_kwargs": {"said_at": NOON}}], [NOON, NOON]),
        ([{"additional_kwargs": {"said_at": NOON}}, {"response_metadata": {"created_at": NOON}}], [NOON, NOON]),
        ([{}, {"response_metadata": {"created_at": NOON}}], [None, None]),
        ([{}, {"response_metadata": {"created_at": "soon"}}], [None, None]),
    ],
)
def test_the_time_of_a_langchain_message(told, moments):
    """What a model's provider noted counts beside questions with a time: else the answer would come before them."""
    [asked, answered] = told

    messages = to_messages([HumanMessage("When?", **asked), AIMessage("At noon.", **answered)])

    assert [message.said_at for message in messages] == moments


def test_the_offset_of_a_moment_is_kept():
    """It says what day it was where something was said."""
    [message] = to_messages([{"role": "user", "content": "Noon", "created_at": "2024-06-12T08:00:00+10:00"}])

    assert message.said_at.isoformat() == "2024-06-12T08:00:00+10:00"


@pytest.mark.parametrize(
    ("item", "problem"),
    [
        ({"role": "wizard", "content": "x"}, "unknown role 'wizard': use one of user"),
        ({"role": ["user"], "content": "x"}, "unknown role"),
        (RemoveMessage(id="1"), "unknown role 'remove'"),
        ({"content": "x"}, 'no "role" or "speaker"'),
        ({"role": "user"}, 'no "text" or "content"'),
        ({"role": "user", "content": " \n"}, "the message is empty"),
        ({"role": "user", "content": []}, "the message is empty"),
        ({"role": "user", "content": 7}, "must be a string or a list of parts, not 7"),
        ({"role": "user", "content": [7]}, "a part of the content"),
        ({"role": "user", "content": "x", "said_at": "31 February"}, "'31 February' is no possible date"),
        ({"role": "user", "content": "x", "said_at": "2023-02-30"}, "no possible date"),
        ({"role": "user", "content": "x", "said_at": 1709985600000}, "no possible date"),
        ({"role": "user", "content": "x", "said_at": 10**30}, "no possible date"),
        ({"role": "user", "content": "x", "said_at": float("nan")}, "no possible date"),
        ({"role": "user", "content": "x", "said_at": True}, "no possible date"),
        ({"role": "user", "content": "x", "said_at": "0001-01-01T00:00+14:00"}, "no possible date"),
        ({"role": "user", "content": "x", "said_at": "9999-12-31"}, "no possible date"),
        ({"role": "user", "content": "x", "captions": 5}, "captions must be a list"),
        ({"speaker": 5, "text": "x"}, "the speaker must be a string"),
        ({"speaker": "a", "text": "x", "id": 1.5}, "the id must be a string"),
        ({"role": "user", "content": "x" * 1_000_001}, "1,000,001 characters are too many"),
        ("Hello", "is no message"),
        (None, "is no message"),
    ],
)
def test_an_invalid_message_is_refused_with_its_index(item, problem):
    """The error names the message from 0, what is wrong, and stays one short line."""
    with pytest.raises(InvalidMessages) as caught:
        to_messages([{"role": "user", "content": "fine"}, item])

    assert str(caught.value).startswith("messages[1]: ")
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("items", ["Hello", b"Hello", 7, None, {"messages": "Hello"}])
def test_what_is_no_list_is_refused(items):
    """A bare text has no role, and is no list of messages."""
    with pytest.raises(InvalidMessages, match="expected a list of messages"):
        to_messages(items)


@given(st.text(alphabet=st.characters(exclude_categories=[]), min_size=1))
def test_any_text_that_is_kept_can_be_stored(text):
    """Lone surrogates and NUL cannot be stored anywhere: they are replaced, and all else stays verbatim."""
    [message] = to_messages([{"role": "user", "content": f"a{text}"}])

    assert "\x00" not in message.text
    assert message.text.encode("utf-8").decode("utf-8") == message.text
    sound = not any("\ud800" <= character <= "\udfff" or character == "\x00" for character in text)
    assert message.text == f"a{text}" or not sound


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (" Ana\tLima ", "Ana Lima"),
        ("Ana\nBen: I lied", "Ana Ben: I lied"),
        ("Ana\x1b[31m\x85Lima\u2028", "Ana [31m Lima"),
        ("A\u202ena\ufeff", "A\ufffdna\ufffd"),
        ("\u0639\u0644\u06cc\u200c\u0631\u0636\u0627", "\u0639\u0644\u06cc\u200c\u0631\u0636\u0627"),
        ("A" * 5_000, "A" * MAX_NAME_CHARACTERS),
        ("\t\x07", "assistant"),
    ],
)
def test_a_name_is_one_short_line(name, expected):
    """A name stands before what was said in records and prompts: it cannot begin a line of its own."""
    sent = {"role": "assistant", "name": name, "content": "Hello"}

    (read,), (given,) = to_messages([sent]), to_messages([Message(role="assistant", speaker=name, text="Hello")])

    assert read.speaker == given.speaker == expected


@pytest.mark.parametrize("speaker", ["\tAssistant\n", "\ufeffAssistant", "Assist\u200bant"])
def test_a_role_is_known_by_its_name_on_one_line(speaker):
    """Neither white space nor invisible marks in a speaker's name change anybody's role."""
    (message,) = to_messages([{"speaker": speaker, "text": "Hello"}])

    assert (message.role, message.speaker.replace("\ufffd", "")) == ("assistant", "Assistant")
    assert ("\ufffd" in message.speaker) != speaker.isascii()
