"""Whose memory a served run is about is decided in one order, and a store behind it reaches nobody else's."""

import pytest
from langgraph.runtime import Runtime, ServerInfo

from langgraph_engram.errors import MissingUser, NotAllowed
from langgraph_engram.schema import Scope
from langgraph_engram.server import owned_store
from langgraph_engram.server.identity import Principal, ServedContext, principal_of_run, with_principal
from langgraph_engram.server.owned_store import ScopedStore, require_own_scope

ANA = Principal(user_id="ana")


@pytest.mark.parametrize(
    ("request_says", "owner", "context", "user", "tenant"),
    [
        ({"user_id": "eve", "tenant": "evil"}, ANA, ServedContext(user_id="ben"), "ana", "default"),
        ({"user_id": "eve", "tenant": "acme"}, None, ServedContext(user_id="ben"), "eve", "acme"),
        ({}, None, ServedContext(user_id="ben", tenant="acme"), "ben", "acme"),
        ({"user_id": ""}, None, ServedContext(user_id="ben"), "ben", None),
    ],
)
def test_the_server_comes_first_then_the_request_then_the_context(request_says, owner, context, user, tenant):
    """What comes later never overrides what came before."""
    named = with_principal({"query": "Where?", **request_says}, owner, context)

    assert (named["user_id"], named.get("tenant"), named["query"]) == (user, tenant, "Where?")


def test_nobody_is_nobody():
    """Without any name there is no memory to reach."""
    with pytest.raises(MissingUser, match=r"request\.user_id"):
        with_principal({"query": "Where?"}, None, ServedContext())


def test_a_run_without_a_server_has_no_owner():
    """Graphs that are called within a process say whose memory they are about."""
    assert principal_of_run(Runtime()) is None
    assert principal_of_run(Runtime(server_info=ServerInfo(assistant_id="", graph_id="", user=None))) is None


@pytest.mark.parametrize("scope", [Scope(user_id="eve"), Scope(user_id="ana", tenant="acme")])
def test_a_store_refuses_what_is_another_s(scope, monkeypatch):
    """Whatever the state of a run says; an agent's memory of the owner is the owner's."""
    monkeypatch.setattr(owned_store, "running_owner", lambda: ANA)

    assert require_own_scope(Scope(user_id="ana", agent_id="any")).agent_id == "any"
    with pytest.raises(NotAllowed, match="somebody else"):
        require_own_scope(scope)


def test_a_store_refuses_outside_of_a_run():
    """There is nobody then whose memory could be meant."""
    with pytest.raises(RuntimeError):
        require_own_scope(Scope(user_id="ana"))
    with pytest.raises(NotAllowed):
        ScopedStore(inner=None).contains_text("anything")
