"""A route without data is noted, and one whose data is not due yet is not."""

import pytest

from langgraph_engram.llm.base import Failure
from langgraph_engram.memory import Memory
from langgraph_engram.presets import preset
from langgraph_engram.prompts.write_synthesis import WriteSynthesis
from langgraph_engram.rule_model.model import RULES
from langgraph_engram.testing import FakeModel

BOUNDARY, SYNTHESIS = (f"the route {name!r} has no data here" for name in ("boundary", "synthesis"))
RECORDS = [f"the route {name!r} has no data here" for name in ("lexical", "dense", "dimension")]


def notes_of(folder, written, *, close_session=False, model="rules", sessions=("s1",)):
    """Return what a search under `engram` notes of a memory that was written under a preset."""
    with Memory(folder, model, written, encoder="hashing") as memory:
        for day, session in enumerate(sessions, start=10):
            turn = {"speaker": "Ana", "text": "I keep bees in the garden.", "said_at": f"2024-06-{day}T08:00:00Z"}
            memory.remember([turn], user_id="ana", session_id=session, close_session=close_session)
    with Memory(folder, "rules", encoder="hashing") as memory:
        return memory.search("Who keeps bees?", user_id="ana").notes


@pytest.mark.parametrize("sessions", [("s1",), ("s1", "s2"), (None,)])
def test_a_session_under_way_lacks_no_narrative(tmp_path, sessions):
    """Nothing is noted of a memory that is fed without ever closing a session."""
    assert notes_of(tmp_path / "store", "engram", sessions=sessions) == []


@pytest.mark.parametrize(
    ("written", "missing", "close_session"),
    [
        ("dimmem", [BOUNDARY, SYNTHESIS], True),
        ("dimmem", [BOUNDARY, SYNTHESIS], False),
        ("esmem", [*RECORDS, SYNTHESIS], True),
        ("esmem", [*RECORDS, SYNTHESIS], False),
        ("hymem", [BOUNDARY, SYNTHESIS], True),
        ("hymem", [BOUNDARY], False),
    ],
)
def test_what_another_preset_never_writes_is_noted(tmp_path, written, missing, close_session):
    """Presets without narratives, or without records, leave routes empty; an open event may have its narrative yet."""
    assert notes_of(tmp_path / "store", written, close_session=close_session) == missing


def test_a_narrative_that_is_due_and_was_not_written_is_noted(tmp_path):
    """The session has ended, and the model failed over its narrative."""

    def answer(question):
        return Failure("timeout", "no") if isinstance(question, WriteSynthesis) else RULES[type(question)](question)

    failing = FakeModel([answer] * 50)

    assert notes_of(tmp_path / "store", "engram", close_session=True, model=failing) == [SYNTHESIS]


def test_a_route_that_is_not_read_is_no_lack(tmp_path):
    """A preset notes its own routes only."""
    assert "boundary" not in preset("dimmem").retrieve.routes
    assert notes_of(tmp_path / "store", "dimmem") != []
    with Memory(tmp_path / "store", "rules", "dimmem", encoder="hashing") as memory:
        assert memory.search("Who keeps bees?", user_id="ana").notes == []
