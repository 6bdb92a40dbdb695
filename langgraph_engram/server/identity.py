"""Resolve the user of a served run: by the identity that the server has authenticated, never by what a client sends.

Without authentication, the request names the user, or else the context of the run.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid5

from langgraph.runtime import Runtime, get_runtime
from pydantic import BaseModel, Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from langgraph_engram.errors import InvalidInput, MissingUser, problems_in
from langgraph_engram.formats.requests import make_scope
from langgraph_engram.integrations.identity import ScopeOverrides, overrides_of_user, read_overrides, resolve_sent
from langgraph_engram.schema import Frozen, Scope
from langgraph_engram.state import RecallRequest, RememberRequest, ScopedRequest

UNNAMED = (
    "no user was named: send request.user_id, or user_id in the context; a server with tokens knows whose memory it is"
)


class Principal(Frozen):
    """An authenticated user, and the tenant that the user belongs to."""

    tenant: str = Field(default="default", min_length=1)
    user_id: str = Field(min_length=1)

    @property
    def key(self) -> str:
        """Return a string that no other principal has."""
        return json.dumps([self.tenant, self.user_id], ensure_ascii=False)

    def owns(self, scope: Scope) -> bool:
        """Return whether a scope is this principal's; agents' memories of a user are the user's."""
        return (scope.tenant, scope.user_id) == (self.tenant, self.user_id)


def principal_of(user: object | None) -> Principal | None:
    """Return the principal of a server's user; None for one who is not authenticated."""
    named = overrides_of_user(user)
    if named is None:
        return None
    return Principal.model_validate({"tenant": named.tenant or "default", "user_id": named.user_id})


def principal_of_run(runtime: Runtime[Any]) -> Principal | None:
    """Return the principal of a run; None without authentication."""
    return principal_of(runtime.server_info.user) if runtime.server_info else None


def current_principal() -> Principal | None:
    """Return the principal of the current run; None without authentication.

    Raises:
        RuntimeError: There is no current run.
    """
    return principal_of_run(get_runtime())


class ServedContext(BaseModel):
    """The context of a served run: whose memory it is, if neither the server nor the request names the user."""

    user_id: str | None = Field(default=None, description="Whose memory it is, unless the server knows.")
    tenant: str | None = Field(default=None, description="The organisation of the user.")
    agent_id: str | None = Field(default=None, description="The agent whose memory of the user it is.")


class ServedRememberRequest(RememberRequest):
    """The input of the served write graph: the user may be left out."""

    user_id: str = ""


class ServedRecallRequest(RecallRequest):
    """The input of the served read graph: the user may be left out."""

    user_id: str = ""


class ServedWriteInput(TypedDict):
    """What the served write graph is called with."""

    request: ServedRememberRequest


class ServedReadInput(TypedDict):
    """What the served read graph is called with."""

    request: ServedRecallRequest


DEFAULT_ASSISTANTS = UUID("6ba7b821-9dad-11d1-80b4-00c04fd430c8")
"""The namespace in which LangGraph's server names the assistant of each graph."""
INPUTS: Mapping[str, TypeAdapter[Any]] = {
    str(uuid5(DEFAULT_ASSISTANTS, "remember")): TypeAdapter(ServedWriteInput),
    str(uuid5(DEFAULT_ASSISTANTS, "recall")): TypeAdapter(ServedReadInput),
}
"""The inputs of the graphs, by their default assistants."""
AGENT = str(uuid5(DEFAULT_ASSISTANTS, "agent"))
"""The default assistant of the agent, whose memory each run names."""


def problem_of_run(run: Mapping[str, Any], principal: Principal | None) -> str:
    """Return what is wrong with the input of a run that is to be created; empty where nothing is.

    Runs of assistants that somebody made are looked at when they begin, and know what was made with them.

    Args:
        run: What a client sent.
        principal: Who sent it, if the server knows.
    """
    assistant, sent = str(run.get("assistant_id")), run.get("kwargs") or {}
    inputs, context = INPUTS.get(assistant), sent.get("context")
    try:
        if assistant == AGENT and principal is None:
            resolve_sent(context, (sent.get("config") or {}).get("configurable"))
        if inputs is not None and not sent.get("command") and sent.get("input") is not None:
            request = inputs.validate_python(sent["input"])["request"]
            served_scope(principal, read_overrides(request), read_overrides(context))
    except ValidationError as error:
        return f"the input does not fit ({problems_in(error)}): see the graph's input schema"
    except InvalidInput as error:
        return str(error)
    return ""


@dataclass(frozen=True, slots=True)
class Identify:
    """Set whose memory a request is about. Reads and sets `request`, also as JSON."""

    kind: type[ScopedRequest]
    """The type of the request that the graph takes."""

    def __call__(self, state: Any) -> Any:
        """Return the request with its scope.

        Raises:
            MissingUser: Nothing names the user.
            InvalidInput: The request does not fit.
        """
        runtime = get_runtime(ServedContext)
        sent = state.get("request") or {}
        fields = sent.model_dump(exclude_unset=True) if isinstance(sent, BaseModel) else dict(sent)
        scope = served_scope(principal_of_run(runtime), read_overrides(fields), read_overrides(runtime.context))
        try:
            return {"request": self.kind.model_validate({**fields, **dict(scope)})}
        except ValidationError as error:
            raise InvalidInput(f"the request does not fit: {problems_in(error, 'request')}") from error


def served_scope(principal: Principal | None, request: ScopeOverrides, context: ScopeOverrides) -> Scope:
    """Return the scope of a served run: of the principal; else as the request says; else as the context does.

    Raises:
        MissingUser: Nothing names the user.
        InvalidInput: A name is invalid.
    """
    sent = request.or_else(context)
    if principal is not None:
        return Scope(tenant=principal.tenant, user_id=principal.user_id, agent_id=sent.agent_id)
    if sent.user_id is None:
        raise MissingUser(UNNAMED)
    return make_scope(sent.user_id, sent.tenant or "default", sent.agent_id)
