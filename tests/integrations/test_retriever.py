"""The retriever gives evidence as documents, best first, for whom the run is about."""

import asyncio
import json

import pytest
from langchain_core.runnables import RunnableLambda

from langgraph_engram.errors import MissingUser
from langgraph_engram.integrations.retriever import EngramRetriever

MESSAGES = [
    {"speaker": "Ana", "text": "I camped at Lake Bled.", "said_at": "2024-06-12T09:00:00Z"},
    {"speaker": "Ana", "text": "My cat is called Miso.", "said_at": "2024-06-13T09:00:00Z"},
    {"speaker": "Ana", "text": "I work at the harbour.", "said_at": "2024-06-14T09:00:00Z"},
]
ANA = {"configurable": {"user_id": "ana"}}


@pytest.fixture
def filled_memory(memory):
    memory.remember(MESSAGES, user_id="ana", session_id="june")
    return memory


def test_a_document_says_where_it_comes_from(filled_memory):
    """Its metadata is JSON: record, turns, session, moment, score and routes."""
    document = EngramRetriever(memory=filled_memory, user_id="ana").invoke("Where did Ana camp?")[0]

    turn = filled_memory.show("turns", "ana")[0]
    record = filled_memory.show("records", "ana")[0]
    about = document.metadata
    assert document.page_content == "12 Jun 2024, Ana: I camped at Lake Bled."
    assert (about["record_id"], about["turn_ids"]) == (record.record_id, [turn.turn_id])
    assert (about["session_ids"], about["said_at"]) == (["june"], "2024-06-12T09:00:00+00:00")
    assert about["routes"]
    assert json.loads(json.dumps(about)) == about
    assert document.id == record.record_id


def test_documents_come_best_first_and_no_more_than_asked_for(filled_memory):
    """k of the call goes before k of the retriever."""
    retriever = EngramRetriever(memory=filled_memory, user_id="ana", k=2)

    documents = retriever.invoke("What is the cat called?", k=3)

    scores = [document.metadata["score"] for document in documents]
    assert len(retriever.invoke("What is the cat called?")) == 2
    assert len(documents) == 3
    assert scores == sorted(scores, reverse=True)
    assert "Miso" in documents[0].page_content


def test_the_config_names_the_user_in_a_chain(filled_memory):
    """A chain hands its config on, synchronously or not."""
    chain = RunnableLambda(lambda query: f"{query}?") | EngramRetriever(memory=filled_memory)

    found = [chain.invoke("Where did Ana camp", ANA), asyncio.run(chain.ainvoke("Where did Ana camp", ANA))]

    assert found[0] == found[1]
    assert "Bled" in found[0][0].page_content
    assert chain.invoke("Where did Ana camp", {"configurable": {"user_id": "bob"}}) == []


def test_without_a_user_nothing_is_searched(filled_memory):
    """Neither synchronously nor asynchronously."""
    retriever = EngramRetriever(memory=filled_memory)

    with pytest.raises(MissingUser):
        retriever.invoke("Where did Ana camp?")
    with pytest.raises(MissingUser):
        asyncio.run(retriever.ainvoke("Where did Ana camp?"))
