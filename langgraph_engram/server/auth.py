"""Authenticate requests, and authorize access: threads, assistants, crons and store items belong to their owner.

Tokens are sent as `Authorization: Bearer TOKEN` or `X-Api-Key: TOKEN`. If none are configured (see `credentials`), only
requests from this machine are accepted, and they may name any user.

Browsers send no tokens, so the inspector's pages ask for one themselves: who asks for a page without a token is nobody
here, and every handler below refuses nobody.
"""

import json
import os
from typing import Any
from urllib.parse import quote

from langgraph_sdk import Auth

from langgraph_engram.integrations.identity import Principal, principal_of
from langgraph_engram.server.credentials import is_local_request, read_credentials, token_of
from langgraph_engram.server.inspector.visit import is_inspector_path
from langgraph_engram.server.served_graphs import problem_of_run

OWNER = "owner"
SYSTEM = {"created_by": "system"}
"""The metadata of each graph's default assistant, which everybody may use."""
NO_TOKEN = "a token is needed: send it as 'Authorization: Bearer TOKEN'"
WRONG_TOKEN = "this token is not known here, or no longer valid: ask who runs the server for another"
KNOWN_IN_PART = "nothing but the name {!r} is known of who scheduled this run: schedule it again, with a token"
NOT_LOCAL = (
    "this server knows no tokens and serves this machine only: set ENGRAM_TOKENS or ENGRAM_JWT_SECRET to let others in"
)

auth = Auth()
CREDENTIALS = read_credentials(os.environ)


@auth.authenticate
async def authenticate(scope: dict[str, Any]) -> dict[str, Any]:
    """Return the user of a request; 401 without a valid token, or from another machine if none are configured."""
    if not CREDENTIALS.configured:
        if not is_local_request(scope):
            raise Auth.exceptions.HTTPException(401, NOT_LOCAL)
        return _user(None)
    token = token_of(scope)
    principal = CREDENTIALS.principal(token) if token else None
    if principal is None and not is_inspector_path(scope):
        raise Auth.exceptions.HTTPException(401, WRONG_TOKEN if token else NO_TOKEN, {"WWW-Authenticate": "Bearer"})
    return _user(principal)


def identity_of(principal: Principal) -> str:
    """Return the unique identity of a principal: the user id, after the tenant unless that is the default one."""
    if principal.tenant == "default" and "/" not in principal.user_id:
        return principal.user_id
    return f"{quote(principal.tenant, safe='')}/{quote(principal.user_id, safe='')}"


def _user(principal: Principal | None) -> dict[str, Any]:
    user = {"is_authenticated": principal is not None, "permissions": [], **dict(principal or {})}
    identity = identity_of(principal) if principal else ""
    return {**user, "identity": identity, "display_name": identity or "anybody on this machine"}


@auth.on
async def refuse(ctx: Auth.types.AuthContext, value: Any) -> bool:  # noqa: ARG001 - the SDK names them
    """Refuse what no handler below authorizes, unless no tokens are configured."""
    return not CREDENTIALS.configured


@auth.on(resources=["threads", "crons"])
async def own_threads(ctx: Auth.types.AuthContext, value: Any) -> Auth.types.HandlerResult:
    """Restrict threads and scheduled runs to their owner, and refuse runs whose input does not fit."""
    principal = _principal(ctx)
    if ctx.action == "create_run" and (problem := problem_of_run(value, principal)):
        raise Auth.exceptions.HTTPException(422, problem)
    config = (value.get("payload") or {}).get("config")
    if principal and config is not None:  # of a schedule, in place: of itself a server keeps the identity alone
        config["configurable"] = {**(config.get("configurable") or {}), "langgraph_auth_user": _user(principal)}
    return _restrict_to_owner(ctx, value)


@auth.on.assistants
async def own_assistants(ctx: Auth.types.AuthContext, value: Any) -> Any:
    """Restrict assistants to their owner; the default ones are visible to everybody."""
    owned = _restrict_to_owner(ctx, value)
    if isinstance(owned, dict) and owned and ctx.action in ("read", "search"):
        return {"$or": [owned, SYSTEM]}
    return owned


@auth.on.store
async def own_items(ctx: Auth.types.AuthContext, value: Any) -> bool:
    """Put every namespace of the store under that of its owner."""
    principal = _principal(ctx)
    if principal is None:
        return not CREDENTIALS.configured
    label = store_label(principal)
    namespace = tuple(value.get("namespace") or ())
    if namespace[:1] != (label,):
        value["namespace"] = (label, *namespace)
        if value.get("max_depth"):
            value["max_depth"] += 1
    return True


def store_label(principal: Principal) -> str:
    """Return the unique namespace label of a principal; labels must not contain full stops."""
    return quote(owner_of(principal), safe="").replace(".", "%2E")


def owner_of(principal: Principal) -> str:
    """Return a string that no other principal has."""
    return json.dumps([principal.tenant, principal.user_id], ensure_ascii=False)


def _principal(ctx: Auth.types.AuthContext) -> Principal | None:
    """Return who acts; 403 for a user of whom a server kept the identity alone, where that is not the user id."""
    principal = principal_of(ctx.user)
    if principal and identity_of(principal) != ctx.user.identity:
        raise Auth.exceptions.HTTPException(403, KNOWN_IN_PART.format(ctx.user.identity))
    return principal


def _restrict_to_owner(ctx: Auth.types.AuthContext, value: Any) -> Auth.types.HandlerResult:
    """Set the owner of what is written, and return the filter for the owner's own."""
    principal = _principal(ctx)
    if principal is None:
        return not CREDENTIALS.configured
    if ctx.action in ("create", "update", "create_run"):
        metadata = value.get("metadata")
        if metadata is None:
            metadata = value["metadata"] = {}
        metadata[OWNER] = owner_of(principal)  # in place: the server continues with the same mapping
        if metadata.get("created_by") == "system":
            del metadata["created_by"]
    return {OWNER: owner_of(principal)}
