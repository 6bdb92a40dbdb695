"""Whose memory a served run is about is decided in one order, and a store behind it reaches nobody else's."""

from types import SimpleNamespace

import pytest
from langgraph.runtime import Runtime, ServerInfo

from langgraph_engram.errors import NotAllowed
from langgraph_engram.integrations.identity import ScopeOverrides, resolve_sent
from langgraph_engram.schema import Scope
from langgraph_engram.server import served_graphs
from langgraph_engram.server.served_graphs import ScopedStore, require_own_scope


@pytest.mark.parametrize(
    ("server", "expected"),
    [(ScopeOverrides(user_id="ana", tenant="default"), Scope(user_id="ana")), (None, Scope(user_id="eve"))],
)
def test_the_server_comes_first_then_the_request_then_the_context(server, expected):
    """A later source never overrides an earlier one."""
    assert resolve_sent({"user_id": "eve"}, {"user_id": "ben", "tenant": "acme"}, server=server) == expected
    assert resolve_sent({"user_id": None}, {"user_id": "ana"}, server=server) == Scope(user_id="ana")


@pytest.mark.parametrize("server", [None, ServerInfo(assistant_id="", graph_id="", user=None)])
def test_a_run_without_a_server_has_no_principal(server, monkeypatch):
    """Graphs that are called within a process say whose memory they are about."""
    monkeypatch.setattr(served_graphs, "get_runtime", lambda: Runtime(server_info=server))

    assert require_own_scope(Scope(user_id="any")).user_id == "any"


@pytest.mark.parametrize("scope", [Scope(user_id="eve"), Scope(user_id="ana", tenant="acme")])
def test_a_store_refuses_the_scope_of_another_user(scope, monkeypatch):
    """Whatever the state of a run says; an agent's memory of a user is that user's."""
    user = SimpleNamespace(identity="ana")
    served = Runtime(server_info=ServerInfo(assistant_id="", graph_id="", user=user))
    monkeypatch.setattr(served_graphs, "get_runtime", lambda: served)

    assert require_own_scope(Scope(user_id="ana", agent_id="any")).agent_id == "any"
    with pytest.raises(NotAllowed, match="somebody else"):
        require_own_scope(scope)


def test_a_store_refuses_outside_of_a_run():
    """Then there is no principal to check against."""
    with pytest.raises(RuntimeError):
        require_own_scope(Scope(user_id="ana"))


def test_a_store_refuses_what_takes_no_scope(store):
    """It would reach every memory."""
    with pytest.raises(NotAllowed):
        ScopedStore(store).contains_text("anything")
