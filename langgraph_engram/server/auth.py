"""Say who may come in, and what is theirs: threads, assistants, crons and items of the store belong to an owner.

Tokens come as `Authorization: Bearer TOKEN` or `X-Api-Key: TOKEN`. Where none are configured (see `credentials`),
everybody on this machine may come in, as whom they say they are, and nobody else.
"""

import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from langgraph_sdk import Auth

from langgraph_engram.server.credentials import comes_from_here, headers_of, read_credentials
from langgraph_engram.server.identity import Principal, principal_of

OWNER = "owner"
"""The key of metadata that names an owner."""
SYSTEM = {"created_by": "system"}
"""The metadata of the assistants that every server has, one a graph: everybody may use them."""
WRITING = ("create", "update", "create_run")
NO_TOKEN = "a token is needed: send it as 'Authorization: Bearer TOKEN'"
ELSEWHERE = (
    "this server knows no tokens and serves this machine alone: set ENGRAM_TOKENS or ENGRAM_JWT_SECRET to let others in"
)

auth = Auth()
CREDENTIALS = read_credentials(os.environ)


@auth.authenticate
async def authenticate(scope: dict[str, Any]) -> dict[str, Any]:
    """Give who sends a request.

    Raises:
        HTTPException: 401, without a token that is somebody's, or from elsewhere where no tokens are known.
    """
    if not CREDENTIALS.configured:
        if not comes_from_here(scope):
            raise Auth.exceptions.HTTPException(401, ELSEWHERE)
        return _user("", authenticated=False)
    token = token_of(scope)
    owner = CREDENTIALS.owner(token) if token else None
    if owner is None:
        raise Auth.exceptions.HTTPException(401, NO_TOKEN, {"WWW-Authenticate": "Bearer"})
    return _user(identity_of(owner), authenticated=True, **owner.model_dump())


def token_of(scope: Mapping[str, Any]) -> str:
    """Give the token that a request shows, or an empty text."""
    headers = headers_of(scope)
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else headers.get("x-api-key", "").strip()


def identity_of(owner: Principal) -> str:
    """Name an owner: by the user id, after the tenant where it is not the default one. No two owners share a name.

    A server may know no more of somebody than this name, as when it starts a scheduled run.
    """
    if owner.tenant == "default" and "/" not in owner.user_id:
        return owner.user_id
    return f"{quote(owner.tenant, safe='')}/{quote(owner.user_id, safe='')}"


def _user(identity: str, *, authenticated: bool, **fields: str) -> dict[str, Any]:
    return {
        "identity": identity,
        "display_name": identity or "anybody on this machine",
        "is_authenticated": authenticated,
        "permissions": [],
        **fields,
    }


@auth.on
async def refuse(ctx: Auth.types.AuthContext, value: Any) -> bool:  # noqa: ARG001 - named so by the server
    """Refuse what no handler below is for, unless everybody may do everything."""
    return not CREDENTIALS.configured


@auth.on.threads
async def own_threads(ctx: Auth.types.AuthContext, value: Any) -> Auth.types.HandlerResult:
    """Show and change the owner's threads alone; what is made is the owner's."""
    return _own(ctx, value)


@auth.on.crons
async def own_crons(ctx: Auth.types.AuthContext, value: Any) -> Auth.types.HandlerResult:
    """Show and change the owner's scheduled runs alone."""
    return _own(ctx, value)


@auth.on.assistants
async def own_assistants(ctx: Auth.types.AuthContext, value: Any) -> Any:
    """Show the owner's assistants and those of the graphs; change the owner's alone."""
    owned = _own(ctx, value)
    if isinstance(owned, dict) and owned and ctx.action in ("read", "search"):
        return {"$or": [owned, SYSTEM]}
    return owned


@auth.on.store
async def own_items(ctx: Auth.types.AuthContext, value: Any) -> bool:
    """Put every namespace under the owner's."""
    owner = principal_of(ctx.user)
    if owner is None:
        return not CREDENTIALS.configured
    label = store_label(owner)
    namespace = tuple(value.get("namespace") or ())
    if namespace[:1] != (label,):
        value["namespace"] = (label, *namespace)
        if value.get("max_depth"):
            value["max_depth"] += 1
    return True


def store_label(owner: Principal) -> str:
    """Name an owner in a namespace, whose labels hold no full stops; no two owners share a name."""
    return quote(owner.key, safe="").replace(".", "%2E")


def _own(ctx: Auth.types.AuthContext, value: Any) -> Auth.types.HandlerResult:
    """Stamp what is written with its owner, and give the filter that finds the owner's own."""
    owner = principal_of(ctx.user)
    if owner is None:
        return not CREDENTIALS.configured
    if ctx.action in WRITING:
        metadata = value.get("metadata")
        if metadata is None:
            metadata = value["metadata"] = {}
        metadata[OWNER] = owner.key  # in place: the server goes on with the same mapping
        if metadata.get("created_by") == "system":
            del metadata["created_by"]
    return {OWNER: owner.key}
