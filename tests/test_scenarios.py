"""Cases that the papers work through, from messages to memory, without a model."""

import pytest

from langgraph_engram.memory import Memory

PARADE = [
    {"speaker": "Mara", "text": "I walked in the lantern parade last Friday.", "said_at": "2023-08-17T12:00:00Z"},
    {"speaker": "Inga", "text": "I'm so proud of you! I loved the lantern festival last year, with the whole gang.",
     "said_at": "2023-08-17T12:01:00Z"},
    {"speaker": "Mara", "text": "We were there together, I had a blast at the festival last year.",
     "said_at": "2023-08-17T12:02:00Z"},
]  # fmt: skip


@pytest.fixture
def told():
    """Remember what two people did together, as StructMem does."""
    with Memory(store="memory:", preset="structmem", encoder="hashing") as memory:
        memory.remember(PARADE, user_id="mara", session_id="s1", close_session=True)
        yield memory


def test_what_two_did_together_is_a_relation_and_a_synthesis(told):
    """StructMem Table 4: facts alone cannot say that both were there; "last year", said in 2023, is 2022."""
    relations = [record.content for record in told.show("records", "mara") if record.kind == "relational"]
    (synthesis,) = told.show("syntheses", "mara")

    assert any("Mara to Inga" in relation and "together" in relation and "2022" in relation for relation in relations)
    assert "Inga" in synthesis.text
    assert "together" in synthesis.text
    assert "2022" in synthesis.text
    assert set(synthesis.covered_record_ids) == {record.record_id for record in told.show("records", "mara")}


def test_the_synthesis_is_found_by_the_question(told):
    """The narrative stands beside the facts."""
    found = told.search("When did Mara and Inga go to the lantern festival together?", user_id="mara")

    assert any(piece.synthesis_id for piece in found.evidence)
    assert any("2022" in piece.text for piece in found.evidence)
