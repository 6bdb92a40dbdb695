"""Whatever is sent in place of what belongs there is refused by name, before anything is stored."""

from datetime import datetime

import pytest

from langgraph_engram.errors import InvalidInput, InvalidMessages, StoreError
from langgraph_engram.formats.messages import Session
from langgraph_engram.memory import Memory
from langgraph_engram.state import Message

TOLD = [{"speaker": "Ana", "text": "My sister Runa lives in Oslo."}]
HALF = "a \ud83d b"
METHODS = ("remember", "remember_sessions", "retry", "search", "recall", "status", "show")


@pytest.fixture(scope="module")
def memory():
    with Memory(store="memory:", encoder="hashing", model="rules") as opened:
        yield opened


def calls(memory, **whose):
    """Give a call of every method that takes whose memory it is."""
    known = {"user_id": "ana", **whose}
    return {
        "remember": lambda: memory.remember(TOLD, **known),
        "remember_sessions": lambda: memory.remember_sessions([], **known),
        "retry": lambda: memory.retry(**known),
        "search": lambda: memory.search("x", **known),
        "recall": lambda: memory.recall("x", **known),
        "status": lambda: memory.status(**known),
        "show": lambda: memory.show("turns", **known),
    }


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("user_id", 5), ("user_id", "   "), ("user_id", ""),
        ("user_id", HALF), ("user_id", "a\x00b"), ("user_id", None), ("tenant", 5), ("tenant", None),
        ("tenant", ""), ("tenant", HALF), ("agent_id", []), ("agent_id", ""), ("agent_id", HALF), ("agent_id", 0),
    ],
)  # fmt: skip
def test_whose_memory_it_is_is_a_name(memory, method, argument, value):
    """Every method names the argument that is no name."""
    with pytest.raises(InvalidInput, match=argument):
        calls(memory, **{argument: value})[method]()


@pytest.mark.parametrize(
    ("argument", "value"),
    [("session_id", 5), ("session_id", HALF), ("session_id", ""), ("session_id", []), ("close_session", "no")],
)
def test_a_session_has_a_name(memory, argument, value):
    """What is no name, or neither true nor false, is refused, and nothing is stored."""
    with pytest.raises(InvalidInput, match=argument):
        memory.remember(TOLD, user_id="ben", **{argument: value})

    assert memory.show("turns", "ben") == []


@pytest.mark.parametrize("messages", ["Hello", 5, None, [5], [None], {"a": 1}, [Message(text=HALF)], [object()]])
def test_messages_are_a_list_of_messages(memory, messages):
    """What is no list of messages, or cannot be kept, is refused, and nothing is stored."""
    with pytest.raises(InvalidInput, match="message"):
        memory.remember(messages, user_id="ben")

    assert memory.show("turns", "ben") == []


@pytest.mark.parametrize("sessions", [5, "abc", [5], [TOLD], None])
def test_sessions_are_a_list_of_sessions(memory, sessions):
    """A list of lists is not a list of sessions."""
    with pytest.raises(InvalidInput, match="sessions"):
        memory.remember_sessions(sessions, user_id="ben")


@pytest.mark.parametrize(("session_id", "name"), [("evening", "session 'evening'"), (None, "session number 2")])
def test_the_session_that_is_refused_is_named(memory, session_id, name):
    """By its id, or else by its number; nothing of the others is written."""
    sessions = [Session("morning", [Message(text="I row.")]), Session(session_id, [Message(text=HALF)])]

    with pytest.raises(InvalidMessages, match=f"^{name}: "):
        memory.remember_sessions(sessions, user_id="cem")

    assert memory.show("turns", "cem") == []


@pytest.mark.parametrize("method", ["search", "recall"])
@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("budget", "7"), ("budget", True), ("budget", 1.5), ("budget", 0), ("budget", []), ("now", "yesterday"),
        ("now", 7), ("now", datetime(1, 1, 1)), ("query", 5), ("query", ""),
        ("query", " \n"), ("query", None), ("query", HALF), ("query", b"x"),
    ],
)  # fmt: skip
def test_a_question_is_asked_in_order(memory, method, argument, value):
    """Budgets are whole numbers, moments are datetimes, questions are text."""
    with pytest.raises(InvalidInput, match=argument):
        getattr(memory, method)(**{"query": "Where does Runa live?", "user_id": "ana", argument: value})


@pytest.mark.parametrize("kind", ["things", 5, None, []])
def test_a_kind_is_one_of_those_there_are(memory, kind):
    """The message names them."""
    with pytest.raises(InvalidInput, match="records"):
        memory.show(kind, "ana")


@pytest.mark.parametrize("store", ["folder", "memory:"])
@pytest.mark.parametrize("method", METHODS)
def test_a_closed_memory_says_so(tmp_path, store, method):
    """Every call on a memory that was closed is an error of the store that says what to do."""
    memory = Memory(store=tmp_path / "s" if store == "folder" else store, encoder="hashing")
    memory.close()

    with pytest.raises(StoreError, match="closed: open it again"):
        calls(memory)[method]()
