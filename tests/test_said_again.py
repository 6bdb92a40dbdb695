"""What is said again counts as said again, and a change is told once."""

import pytest

from langgraph_engram.memory import Memory

pytestmark = pytest.mark.usefixtures("syntheses_at_once")

ANA = {"user_id": "ana", "session_id": "s1"}


@pytest.fixture
def memory():
    with Memory(store="memory:", encoder="hashing") as opened:
        yield opened


def say(text, days):
    return {"speaker": "Ana", "text": text, "said_at": f"2023-05-{8 + days:02}T12:00:00Z"}


@pytest.mark.parametrize("at_once", [True, False])
def test_a_fact_that_is_changed_back_holds_again(memory, at_once):
    """The newest statement stands, though its words are those of the first one."""
    told = [say("I live in Lisbon.", 0), say("I live in Porto.", 1), say("I live in Lisbon.", 2)]
    for messages in [told] if at_once else [[message] for message in told]:
        memory.remember(messages, **ANA)

    standing = {record.content for record in memory.show("records", "ana") if record.status == "active"}

    assert standing == {"Ana: I live in Lisbon."}


def test_a_change_is_told_by_one_synthesis(memory):
    """What replaces a record is told where it was said; the old synthesis does not tell it a second time."""
    for month, place in enumerate(("Lisbon", "Porto", "Rome", "Faro"), start=1):
        told = {"speaker": "Ana", "text": f"I live in {place}.", "said_at": f"2023-{month:02}-08T12:00:00Z"}
        memory.remember([told], user_id="ana", session_id=f"s{month}", close_session=True)

    texts = [synthesis.text for synthesis in memory.show("syntheses", "ana") if synthesis.status == "active"]

    assert len(texts) == len(set(texts))
    assert sum("Faro" in text for text in texts) == 1
