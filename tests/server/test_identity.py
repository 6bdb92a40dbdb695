"""Whose memory a served run is about is decided in one order, and a store behind it reaches nobody else's."""

from dataclasses import dataclass

import pytest
from langgraph.runtime import Runtime, ServerInfo

from langgraph_engram.errors import MissingUser, NotAllowed
from langgraph_engram.integrations.identity import Principal, ScopeOverrides, scope_of_request
from langgraph_engram.schema import Scope
from langgraph_engram.server import served_graphs
from langgraph_engram.server.served_graphs import ScopedStore, require_own_scope

ANA = Principal(user_id="ana")


@dataclass
class User:
    """A user as a server hands one over."""

    identity: str
    is_authenticated: bool = True


@pytest.mark.parametrize(
    ("request_says", "principal", "context", "expected"),
    [
        ({"user_id": "eve", "tenant": "evil"}, ANA, {"user_id": "ben"}, Scope(user_id="ana")),
        ({"agent_id": "coach"}, ANA, {"agent_id": "cook"}, Scope(user_id="ana", agent_id="coach")),
        ({"user_id": "eve", "tenant": "acme"}, None, {"user_id": "ben"}, Scope(user_id="eve", tenant="acme")),
        ({}, None, {"user_id": "ben", "tenant": "acme"}, Scope(user_id="ben", tenant="acme")),
        ({"user_id": None}, None, {"user_id": "ben"}, Scope(user_id="ben")),
    ],
)
def test_the_server_comes_first_then_the_request_then_the_context(request_says, principal, context, expected):
    """A later source never overrides an earlier one."""
    server = ScopeOverrides(**dict(principal)) if principal else None
    scope = scope_of_request(request_says, context, server)

    assert scope == expected


def test_without_a_user_there_is_no_scope():
    """The error says where to name one."""
    with pytest.raises(MissingUser, match=r"request\.user_id"):
        scope_of_request({}, None, None)


@pytest.mark.parametrize("server", [None, ServerInfo(assistant_id="", graph_id="", user=None)])
def test_a_run_without_a_server_has_no_principal(server, monkeypatch):
    """Graphs that are called within a process say whose memory they are about."""
    monkeypatch.setattr(served_graphs, "get_runtime", lambda: Runtime(server_info=server))

    assert require_own_scope(Scope(user_id="any")).user_id == "any"


@pytest.mark.parametrize("scope", [Scope(user_id="eve"), Scope(user_id="ana", tenant="acme")])
def test_a_store_refuses_the_scope_of_another_user(scope, monkeypatch):
    """Whatever the state of a run says; an agent's memory of a user is that user's."""
    user = User("ana")
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
