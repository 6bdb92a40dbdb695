"""Whatever is sent in place of what belongs there is refused by name, before anything is stored."""

import pytest

from langgraph_engram.errors import InvalidInput, InvalidMessages, StoreError
from langgraph_engram.formats.messages import Session
from langgraph_engram.memory import Memory
from langgraph_engram.state import Message

TOLD = [{"speaker": "Ana", "text": "My sister Runa lives in Oslo."}]
HALF = "a \ud83d b"
METHODS = ("remember", "remember_sessions", "retry", "search", "recall", "status", "show")


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


@pytest.mark.parametrize(("session_id", "name"), [("evening", "session 'evening'"), (None, "session number 2")])
def test_the_session_that_is_refused_is_named(memory, session_id, name):
    """By its id, or else by its number; nothing of the others is written."""
    sessions = [Session("morning", [Message(text="I row.")]), Session(session_id, [Message(text=HALF)])]

    with pytest.raises(InvalidMessages, match=f"^{name}: "):
        memory.remember_sessions(sessions, user_id="cem")

    assert memory.show("turns", "cem") == []


@pytest.mark.parametrize("store", ["folder", "memory:"])
@pytest.mark.parametrize("method", METHODS)
def test_a_closed_memory_says_so(tmp_path, store, method):
    """Every call on a memory that was closed is an error of the store that says what to do."""
    memory = Memory(store=tmp_path / "s" if store == "folder" else store, encoder="hashing")
    memory.close()

    with pytest.raises(StoreError, match="closed: open it again"):
        calls(memory)[method]()
