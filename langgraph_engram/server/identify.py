"""Make a request its sender's: the first step of a graph that is served.

Whose memory it is, is the identity that the server vouches for; without one, what the request says; without that,
what the context of the run says, which a saved configuration of an assistant may hold.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from langgraph.runtime import get_runtime
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from langgraph_engram.errors import MissingUser
from langgraph_engram.schema import Frozen
from langgraph_engram.server.owner import Owner, owner_of_run
from langgraph_engram.state import RecallRequest, RememberRequest

UNNAMED = (
    "no user was named: send request.user_id, or user_id in the context; a server with tokens knows whose memory it is"
)


class Whose(BaseModel):
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
        runtime = get_runtime(Whose)
        sent = state["request"]
        given = sent.model_dump(exclude_unset=True) if isinstance(sent, BaseModel) else dict(sent)
        named = claim(given, owner_of_run(runtime), runtime.context or Whose())
        return {"request": self.kind.model_validate(named)}


def claim(request: Mapping[str, object], owner: Owner | None, whose: Whose) -> dict[str, object]:
    """Say in a request whose memory it is: the owner's; else as the request says; else as the context does.

    Raises:
        MissingUser: Nothing says it.
    """
    context = whose.model_dump(exclude_none=True)
    named = {**context, **{key: value for key, value in request.items() if value or key not in Whose.model_fields}}
    if owner is not None:
        named |= owner.model_dump()
    if not named.get("user_id"):
        raise MissingUser(UNNAMED)
    return named
