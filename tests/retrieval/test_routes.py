"""A route without data is noted, and one whose data is not due yet is not."""

import pytest

from langgraph_engram.memory import Memory

BOUNDARY, SYNTHESIS = (f"the route {name!r} has no data here" for name in ("boundary", "synthesis"))
RECORDS = [f"the route {name!r} has no data here" for name in ("lexical", "dense", "dimension")]


def notes_of(folder, written, *, close_session=False, sessions=("s1",), read="engram"):
    """Return what a search under a preset notes of a memory that was written under another."""
    with Memory(folder, "rules", written, encoder="hashing") as memory:
        for day, session in enumerate(sessions, start=10):
            turn = {"speaker": "Ana", "text": "I keep bees in the garden.", "said_at": f"2024-06-{day}T08:00:00Z"}
            memory.remember([turn], user_id="ana", session_id=session, close_session=close_session)
    with Memory(folder, "rules", read, encoder="hashing") as memory:
        return memory.search("Who keeps bees?", user_id="ana").notes


@pytest.mark.parametrize("sessions", [("s1",), ("s1", "s2"), (None,)])
@pytest.mark.parametrize("close_session", [False, True])
def test_a_memory_without_narratives_lacks_nothing(tmp_path, sessions, close_session):
    """They come with time, and with a language model."""
    assert notes_of(tmp_path / "store", "engram", sessions=sessions, close_session=close_session) == []


@pytest.mark.parametrize(
    ("written", "read", "missing"),
    [
        ("dimmem", "engram", [BOUNDARY]),
        ("esmem", "engram", RECORDS),
        ("hymem", "engram", [BOUNDARY]),
        ("dimmem", "structmem", [SYNTHESIS]),
        ("dimmem", "dimmem", []),
    ],
)
def test_what_another_preset_never_writes_is_noted(tmp_path, written, read, missing):
    """Presets without records, boundaries or narratives leave routes empty, and only those that are read are noted."""
    assert notes_of(tmp_path / "store", written, close_session=True, read=read) == missing
