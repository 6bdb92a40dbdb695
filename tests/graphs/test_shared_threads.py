"""A thread that is used again starts clean: nothing of one user's run reaches another's."""

from langgraph.checkpoint.memory import InMemorySaver

from langgraph_engram.embeddings.base import HashingEncoder
from langgraph_engram.graphs.read import build_read_graph
from langgraph_engram.graphs.write import build_write_graph
from langgraph_engram.presets import preset
from langgraph_engram.rule_model.model import RuleModel
from langgraph_engram.schema import Scope
from langgraph_engram.stores.folders import open_store

THREAD = {"configurable": {"thread_id": "one"}}
SECRET = "My passport number is 44117703."
"""Long enough that no score and no id holds it by chance."""


def said(user, text):
    return {"request": {"user_id": user, "session_id": text, "messages": [{"speaker": user, "text": text}]}}


def test_two_users_on_one_thread_stay_apart():
    """Writing and reading on a thread that another user used shows and keeps only one's own."""
    store = open_store("memory:", HashingEncoder())
    model = RuleModel()
    write = build_write_graph(store, model, model, preset("engram"), InMemorySaver())
    read = build_read_graph(store, model, model, preset("engram"), InMemorySaver())

    write.invoke(said("ana", SECRET), THREAD)
    write.invoke(said("ana", SECRET.replace("My", "Well, my")), THREAD)
    bob = write.invoke(said("bob", "I bought a blue canoe."), THREAD)["receipt"]
    again = write.invoke(said("bob", "I bought a blue canoe."), THREAD)["receipt"]
    ana_told = read.invoke({"request": {"user_id": "ana", "query": "What is my passport number?"}}, THREAD)
    bob_told = read.invoke({"request": {"user_id": "bob", "query": "What did Bob buy?"}}, THREAD)["recollection"]

    kept = store.index(Scope(user_id="bob"))
    assert [record.content for record in kept.records.items] == ["bob: I bought a blue canoe."]
    assert store.decisions(Scope(user_id="bob")) == []
    assert (bob.decisions, again.known_turns, again.records, again.events) == (0, 1, 0, 0)
    assert "44117703" in ana_told["recollection"].answer
    assert bob_told.query == "What did Bob buy?"
    assert "44117703" not in str(bob_told.model_dump())
    assert bob_told.rounds <= 2
    assert ana_told["recollection"].run_id != bob_told.run_id
    store.close()
