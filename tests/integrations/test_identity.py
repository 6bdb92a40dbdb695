"""The scope of a run comes from trusted sources, in their order."""

from contextlib import nullcontext
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.graph import START, StateGraph
from langgraph.prebuilt import ToolRuntime
from langgraph.runtime import Runtime, ServerInfo
from typing_extensions import TypedDict

from langgraph_engram.errors import MissingUser
from langgraph_engram.integrations import identity
from langgraph_engram.integrations.identity import ScopeOverrides, overrides_of_user, resolve_scope, thread_of
from langgraph_engram.schema import Scope
from tests.integrations.conftest import Context


@dataclass
class User:
    """A user as a server hands one over."""

    identity: str
    is_authenticated: bool = True
    tenant: str | None = None
    user_id: str | None = None


GUEST = User("guest", is_authenticated=False)
ANA_OF_ACME = Scope(user_id="ana", tenant="acme")


class State(TypedDict, total=False):
    scope: str
    thread: str | None


def run(context=None, user=None):
    server = ServerInfo(assistant_id="a", graph_id="g", user=user) if user else None
    return Runtime(context=context, server_info=server)


def configured(**said):
    return {"configurable": said}


@pytest.mark.parametrize("context", [{"user_id": "ana"}, Context(user_id="ana"), User("any", user_id="ana")])
def test_a_context_of_any_kind_names_the_user(context):
    """A mapping, a pydantic model and a dataclass are read alike."""
    scope = resolve_scope(run(context))

    assert scope == Scope(user_id="ana")


@pytest.mark.parametrize(
    ("user", "tenant", "sent", "whole"),
    [
        (User("paul"), None, {"cron_id": "c"}, False),
        (User("paul"), None, {}, True),
        (User("paul"), "default", {"cron_id": "c"}, True),
        (User("paul", tenant="acme"), None, {"cron_id": "c"}, True),
    ],
)
def test_a_schedule_that_kept_a_name_alone_is_refused(user, tenant, sent, whole, monkeypatch):
    """Two tenants may have a user of that name."""
    monkeypatch.setattr(identity, "get_config", lambda: configured(**sent))

    with nullcontext() if whole else pytest.raises(MissingUser, match="the name 'paul' alone"):
        assert resolve_scope(run(user=user), default=ScopeOverrides(tenant=tenant)).user_id == "paul"


SPOOFED = {"user_id": "bob", "tenant": "other", "agent_id": "spy"}
OWNER = ScopeOverrides(user_id="ana", tenant="acme", agent_id="coach")


@pytest.mark.parametrize(
    ("context", "user", "config", "default", "expected"),
    [
        (SPOOFED, User("ana"), SPOOFED, None, Scope(user_id="ana", agent_id="spy")),
        ({"tenant": "other"}, User("token-1", tenant="acme", user_id="ana"), {}, None, ANA_OF_ACME),
        (SPOOFED, None, SPOOFED, OWNER, Scope(user_id="ana", tenant="acme", agent_id="coach")),
        (SPOOFED, User("cleo"), {}, OWNER, Scope(user_id="cleo", tenant="acme", agent_id="coach")),
        ({"user_id": "bob"}, None, {}, ScopeOverrides(tenant="acme"), Scope(user_id="bob", tenant="acme")),
        ({"user_id": ""}, None, {"user_id": "ana", "tenant": "acme"}, None, ANA_OF_ACME),
        ({"user_id": "bob"}, None, {"user_id": "ana", "tenant": "acme"}, None, Scope(user_id="bob")),
        *(({"user_id": "ana"}, user, {}, None, Scope(user_id="ana")) for user in (User(""), GUEST, None)),
    ],
)
def test_the_server_comes_first_then_the_default_the_context_and_the_config(context, user, config, default, expected):
    """Neither user nor tenant of whom an earlier source knows can be sent; who is not authenticated is ignored."""
    assert resolve_scope(run(context, user), configured(**config), default) == expected
    assert (overrides_of_user(user) is None) is (user in (User(""), GUEST, None))


@pytest.mark.parametrize(
    "said", [{}, {"context": {"user_id": None}}, {"context": {"user_id": 7}}, {"context": {"user_id": "  "}}]
)
def test_without_a_user_there_is_no_scope(said):
    """No name, an empty one and one that is no string are errors; nothing is made into a name."""
    with pytest.raises(MissingUser, match="user_id"):
        resolve_scope(run(**said))


def test_the_current_run_is_consulted_too():
    """Whatever config is passed, the identity of the current run still counts."""

    def look(state):
        inner = ToolRuntime(
            state={}, context={"user_id": "bob"}, config={}, stream_writer=print, tool_call_id=None, store=None
        )
        scopes = [resolve_scope(), resolve_scope(inner), resolve_scope(config=configured(user_id="bob"))]
        return {"scope": ",".join(scope.user_id for scope in scopes), "thread": thread_of()}

    graph = StateGraph(State).add_node("look", look).add_edge(START, "look").compile()

    seen = graph.invoke({}, configured(langgraph_auth_user=User("ana"), user_id="bob", thread_id="t1"))

    assert seen == {"scope": "ana,ana,ana", "thread": "t1"}


def test_a_thread_is_named_by_the_config_outside_of_a_graph():
    """A tool that is called by itself still knows its session; without a thread there is none."""
    assert thread_of(config=configured(thread_id=3)) == "3"
    assert thread_of() is None


NAMES = st.sampled_from(["ana", "bob", "cleo", "dan"])
SOURCES = ("server", "default", "context", "config")


@given(st.dictionaries(st.sampled_from(SOURCES), NAMES, min_size=1), st.booleans())
def test_an_earlier_source_always_wins(names, tenants):
    """Whoever comes first names the user, whatever the others say; and the tenant comes from no later source."""
    said = {key: {"user_id": name, "tenant": f"of-{key}"} for key, name in names.items()}
    user = User(names["server"], tenant="of-server" if tenants else None) if "server" in names else None
    default = ScopeOverrides(**said["default"]) if "default" in said else None

    scope = resolve_scope(run(said.get("context"), user), configured(**said.get("config", {})), default)

    first = next(source for source in SOURCES if source in names)
    assert scope.user_id == names[first]
    assert scope.tenant not in {f"of-{source}" for source in ("context", "config")} - {f"of-{first}"}


@pytest.mark.parametrize("key", ["user_id", "langgraph_user_id", "langgraph_auth_user_id"])
def test_the_names_that_langgraph_gives_users_count(key):
    """That of langmem's namespaces and that of LangGraph's server, where ours is not sent."""
    assert resolve_scope(config=configured(**{key: "ana"})).user_id == "ana"
    assert resolve_scope(config=configured(**{key: "ben", "user_id": "ana"})).user_id == "ana"
    assert resolve_scope(run(Context(user_id="ana")), configured(**{key: "ben"})).user_id == "ana"
