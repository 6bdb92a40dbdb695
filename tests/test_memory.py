"""The facade keeps each turn once, each user apart, and says what it could not do."""

import pytest

from langgraph_engram.formats.messages import Session
from langgraph_engram.memory import Memory
from langgraph_engram.presets import PRESETS
from langgraph_engram.results import Receipt
from langgraph_engram.state import Message

pytestmark = pytest.mark.usefixtures("syntheses_at_once")

TOLD = [
    {"speaker": "Ana", "text": "My sister Runa lives in Oslo.", "said_at": "2023-05-08T12:00:00Z"},
    {"speaker": "Ben", "text": "I keep bees in the garden.", "said_at": "2023-05-08T12:01:00Z"},
    {"speaker": "Ana", "text": "I went camping by the lake yesterday.", "said_at": "2023-05-08T12:02:00Z"},
]
MORE = [{"speaker": "Ben", "text": "The bees gave four jars of honey.", "said_at": "2023-05-08T12:03:00Z"}]


def texts(memory, user, **whose):
    return [turn.text for turn in memory.show("turns", user, **whose)]


def test_what_is_told_is_found_with_its_source(memory, user):
    """A search gives evidence without an answer, a recall an answer that cites it."""
    receipt = memory.remember(TOLD, user_id=user, session_id="s1", close_session=True)

    found = memory.search("Where does Ana's sister Runa live?", user_id=user)
    told = memory.recall("Where does Ana's sister Runa live?", user_id=user)

    assert (receipt.stored_turns, receipt.known_turns, receipt.pending, receipt.quarantined) == (3, 0, 0, 0)
    assert found.answer is None
    assert "Oslo" in found.evidence[0].text
    assert "Oslo" in told.answer
    assert (told.verdict, told.quoted) == ("partial", True)
    assert [turn.text for turn in found.evidence[0].turns] == ["My sister Runa lives in Oslo."]


def test_a_session_may_be_closed_without_a_new_turn(memory, user):
    """Closing ends the open event and writes the synthesis, though nothing was said."""
    memory.remember(TOLD, user_id=user, session_id="s1")

    receipt = memory.remember([], user_id=user, session_id="s1", close_session=True)

    assert receipt.syntheses == 1
    assert {event.status for event in memory.show("events", user)} == {"closed"}


@pytest.mark.parametrize("whose", [{"user_id": "other"}, {"tenant": "other"}, {"agent_id": "other"}])
def test_scopes_see_nothing_of_one_another(memory, user, whose):
    """Another user, tenant or agent finds nothing, and its own words stay its own."""
    memory.remember(TOLD, user_id=user, session_id="s1")
    other = {"user_id": f"{user}-{whose['user_id']}"} if "user_id" in whose else {"user_id": user, **whose}

    found = memory.search("Where does Runa live?", **other)
    memory.remember(MORE, session_id="s1", **other)

    assert (found.verdict, found.evidence) == ("absent", [])
    assert texts(memory, other.pop("user_id"), **other) == [MORE[0]["text"]]
    assert len(memory.show("turns", user)) == 3


def test_status_counts_what_is_kept(memory, user):
    """Counts agree with the lists, and nothing is left to do."""
    memory.remember(TOLD, user_id=user, session_id="s1", close_session=True)

    status = memory.status(user)

    assert (status.store, status.encoder, status.preset, status.model) == ("memory:", "hashing-256", "engram", "rules")
    assert status.turns == 3
    assert sum(status.records.values()) == len(memory.show("records", user))
    assert status.events == len(memory.show("events", user))
    assert (status.boundaries, status.syntheses) == (status.events, 1)
    assert status.pending == []


def test_receipts_of_sessions_add_up(memory, user):
    """A file of sessions gives one receipt, which is the sum of what each did; each session is closed."""
    sessions = [
        Session(session_id=name, messages=[Message.model_validate(message) for message in said])
        for name, said in (("a", TOLD), ("b", MORE))
    ]
    steps = []

    receipt = memory.remember_sessions(sessions, user_id=user, progress=lambda *step: steps.append(step))

    assert (receipt.stored_turns, receipt.syntheses) == (4, 2)
    assert receipt.records == len(memory.show("records", user))
    assert receipt.usage.calls == 0
    assert steps == [("remembering a", 0, 2), ("remembering b", 1, 2), ("remembered", 2, 2)]
    assert memory.remember_sessions([], user_id=user) == Receipt(run_id="")


@pytest.mark.parametrize("name", PRESETS)
def test_a_memory_written_under_any_preset_is_read_under_any(tmp_path, name):
    """What one preset wrote, every other reads; what it has no data for, it says."""
    with Memory(store=tmp_path / "store", encoder="hashing", preset=name) as memory:
        receipt = memory.remember(TOLD, user_id="ana", session_id="s1", close_session=True)
        assert (receipt.stored_turns, receipt.pending) == (3, 0)

    for other in PRESETS:
        with Memory(store=tmp_path / "store", encoder="hashing", preset=other) as memory:
            found = memory.search("Where does Ana's sister Runa live?", user_id="ana")
            told = memory.recall("Where does Ana's sister Runa live?", user_id="ana")

        assert found.evidence or found.notes
        assert told.evidence or told.notes
        if other in ("engram", name):
            assert any("Oslo" in piece.text for piece in found.evidence)
            assert "Oslo" in told.answer
