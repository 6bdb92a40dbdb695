"""What is said again counts as said again: a change back, a mended source, a taken-back merge."""

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

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


def test_what_tools_give_back_is_found_and_is_nobodys_word(memory):
    """The output of a tool and the orders of a system are turns that search finds, and no source of any record."""
    told = [
        SystemMessage("You are the concierge of the Alfama Inn."),
        HumanMessage("I live in Rome. Where shall I stay?"),
        ToolMessage("The Baixa Palace has rooms at 80 euros.", tool_call_id="1", name="search_hotels"),
        AIMessage("Stay near the river."),
    ]

    receipt = memory.remember(told, **ANA)

    sources = {turn for record in memory.show("records", "ana") for turn in record.source_turn_ids}
    roles = {turn.role for turn in memory.show("turns", "ana") if turn.turn_id in sources}
    found = memory.search("Which rooms has the Baixa Palace?", user_id="ana").evidence[0]
    names = " ".join(event.summary for event in memory.show("events", "ana"))
    assert (receipt.stored_turns, roles) == (4, {"user", "assistant"})
    assert "80 euros" in found.text
    assert "Baixa" not in names
