"""Say whose run it is on a server: by the identity that the server vouches for, never by what a client sends.

This module does not know how a server finds out who somebody is; see `credentials`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from langgraph.runtime import Runtime, get_runtime
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from langgraph_engram.errors import MissingUser
from langgraph_engram.integrations.identity import overrides_of_user as known_owner_of
from langgraph_engram.schema import Frozen, Scope
from langgraph_engram.state import RecallRequest, RememberRequest


class Principal(Frozen):
    """A user that a server knows, and the organisation that the user belongs to."""

    tenant: str = Field(default="default", min_length=1)
    user_id: str = Field(min_length=1)

    @property
    def key(self) -> str:
        """Give one string that no other owner shares."""
        return json.dumps([self.tenant, self.user_id], ensure_ascii=False)

    def owns(self, scope: Scope) -> bool:
        """Say whether a memory is this owner's; agents' memories of a user are the user's."""
        return (scope.tenant, scope.user_id) == (self.tenant, self.user_id)


def principal_of(user: object | None) -> Principal | None:
    """Give who somebody is, or None where the server lets everybody in as whom they say they are."""
    known = known_owner_of(user)
    if known is None:
        return None
    return Principal.model_validate({"tenant": known.tenant or "default", "user_id": known.user_id})


def running_principal() -> Principal | None:
    """Give whose run is under way, or None where no server vouches for anybody.

    Raises:
        RuntimeError: No run is under way here.
    """
    return principal_of_run(get_runtime())


def principal_of_run(runtime: Runtime[Any]) -> Principal | None:
    """Give whose run it is, or None where no server vouches for anybody."""
    return principal_of(runtime.server_info.user) if runtime.server_info else None


UNNAMED = (
    "no user was named: send request.user_id, or user_id in the context; a server with tokens knows whose memory it is"
)


class ServedContext(BaseModel):
    """The context of a served run: whose memory it is, where neither the server nor the request says so."""

    user_id: str | None = Field(default=None, description="Whose memory it is, unless the server knows.")
    tenant: str | None = Field(default=None, description="The organisation of the user.")
    agent_id: str | None = Field(default=None, description="The agent whose memory of the user it is.")


class OwnRememberRequest(RememberRequest):
    """What a client asks of the served write graph: whose memory it is may be left out."""

    user_id: str = ""


class OwnRecallRequest(RecallRequest):
    """What a client asks of the served read graph: whose memory it is may be left out."""

    user_id: str = ""


class OwnWriteInput(TypedDict):
    """What the served write graph is called with."""

    request: OwnRememberRequest


class OwnReadInput(TypedDict):
    """What the served read graph is called with."""

    request: OwnRecallRequest


@dataclass(frozen=True, slots=True)
class Identify:
    """Make the request its sender's. Reads and sets `request`, JSON included."""

    kind: type[Frozen]
    """What a request is once whose memory it is, is known."""

    def __call__(self, state: Any) -> Any:
        """Return the request with the user and the tenant that it is for.

        Raises:
            MissingUser: Nothing says whose memory it is.
        """
        runtime = get_runtime(ServedContext)
        sent = state["request"]
        given = sent.model_dump(exclude_unset=True) if isinstance(sent, BaseModel) else dict(sent)
        named = with_principal(given, principal_of_run(runtime), runtime.context or ServedContext())
        return {"request": self.kind.model_validate(named)}


def with_principal(request: Mapping[str, object], owner: Principal | None, whose: ServedContext) -> dict[str, object]:
    """Say in a request whose memory it is: the owner's; else as the request says; else as the context does.

    Raises:
        MissingUser: Nothing says it.
    """
    context = whose.model_dump(exclude_none=True)
    named = {
        **context,
        **{key: value for key, value in request.items() if value or key not in ServedContext.model_fields},
    }
    if owner is not None:
        named |= owner.model_dump()
    if not named.get("user_id"):
        raise MissingUser(UNNAMED)
    return named
