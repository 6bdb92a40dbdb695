"""Whose memory a served run is about is decided in one order, and a store behind it reaches nobody else's."""

import pytest
from langgraph.runtime import Runtime, ServerInfo

from langgraph_engram.errors import MissingUser, NotAllowed
from langgraph_engram.schema import Scope
from langgraph_engram.server import owned_store
from langgraph_engram.server.identify import Whose, claim
from langgraph_engram.server.owned_store import OwnedStore, owned
from langgraph_engram.server.owner import Owner, owner_of_run

ANA = Owner(user_id="ana")


@pytest.mark.parametrize(
    ("request_says", "owner", "context", "user", "tenant"),
    [
        ({"user_id": "eve", "tenant": "evil"}, ANA, Whose(user_id="ben"), "ana", "default"),
        ({"user_id": "eve", "tenant": "acme"}, None, Whose(user_id="ben"), "eve", "acme"),
        ({}, None, Whose(user_id="ben", tenant="acme"), "ben", "acme"),
        ({"user_id": ""}, None, Whose(user_id="ben"), "ben", None),
    ],
)
def test_the_server_comes_first_then_the_request_then_the_context(request_says, owner, context, user, tenant):
    """What comes later never overrides what came before."""
    named = claim({"query": "Where?", **request_says}, owner, context)

    assert (named["user_id"], named.get("tenant"), named["query"]) == (user, tenant, "Where?")


def test_nobody_is_nobody():
    """Without any name there is no memory to reach."""
    with pytest.raises(MissingUser, match=r"request\.user_id"):
        claim({"query": "Where?"}, None, Whose())


def test_a_run_without_a_server_has_no_owner():
    """Graphs that are called within a process say whose memory they are about."""
    assert owner_of_run(Runtime()) is None
    assert owner_of_run(Runtime(server_info=ServerInfo(assistant_id="", graph_id="", user=None))) is None


@pytest.mark.parametrize("scope", [Scope(user_id="eve"), Scope(user_id="ana", tenant="acme")])
def test_a_store_refuses_what_is_another_s(scope, monkeypatch):
    """Whatever the state of a run says; an agent's memory of the owner is the owner's."""
    monkeypatch.setattr(owned_store, "running_owner", lambda: ANA)

    assert owned(Scope(user_id="ana", agent_id="any")).agent_id == "any"
    with pytest.raises(NotAllowed, match="somebody else"):
        owned(scope)


def test_a_store_refuses_outside_of_a_run():
    """There is nobody then whose memory could be meant."""
    with pytest.raises(RuntimeError):
        owned(Scope(user_id="ana"))
    with pytest.raises(NotAllowed):
        OwnedStore(inner=None).says("anything")
