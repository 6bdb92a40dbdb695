"""State what the served graphs take, and refuse a run that does not fit before it is made.

Clients may leave the user out: the server knows who asks, or else the request or the context of the run says it.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID, uuid5

from pydantic import BaseModel, Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from langgraph_engram.errors import InvalidInput, problems_in
from langgraph_engram.integrations.identity import Principal, ScopeOverrides, resolve_sent, scope_of_request
from langgraph_engram.state import RecallRequest, RememberRequest


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
    """Return what is wrong with the input of a run that a client wants to create; empty where nothing is.

    Runs of assistants that somebody made are looked at when they begin, and know what was made with them.
    """
    assistant, sent = str(run.get("assistant_id")), run.get("kwargs") or {}
    inputs, context = INPUTS.get(assistant), sent.get("context")
    server = None if principal is None else ScopeOverrides(**dict(principal))
    try:
        if assistant == AGENT and principal is None:
            resolve_sent(context, (sent.get("config") or {}).get("configurable"))
        if inputs is not None and not sent.get("command") and sent.get("input") is not None:
            request = inputs.validate_python(sent["input"])["request"]
            scope_of_request(request, context, server)
    except ValidationError as error:
        return f"the input does not fit ({problems_in(error)}): see the graph's input schema"
    except InvalidInput as error:
        return str(error)
    return ""
