"""Say whose run it is on a server: by the identity that the server vouches for, never by what a client sends.

This module does not know how a server finds out who somebody is; see `credentials`.
"""

import json
from typing import Any, Protocol, cast

from langgraph.runtime import Runtime, get_runtime
from pydantic import Field

from langgraph_engram.schema import Frozen, Scope


class Owner(Frozen):
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


class ServerUser(Protocol):
    """Somebody as a LangGraph server describes them. Fields of our own are there where our handler let them in."""

    @property
    def identity(self) -> str:
        """Give the name that the server knows them by."""

    @property
    def is_authenticated(self) -> bool:
        """Say whether the server knows them at all."""

    def get(self, key: str, default: object, /) -> object:
        """Give a field, or the default where it is not there."""


def owner_of(user: object | None) -> Owner | None:
    """Give who somebody is, or None where the server lets everybody in as whom they say they are.

    A user of another handler than ours has an identity alone, which is then the user id.
    """
    known = cast(ServerUser | None, user)
    if known is None or not known.is_authenticated or not known.identity:
        return None
    tenant, user_id = known.get("tenant", "default"), known.get("user_id", known.identity)
    return Owner.model_validate({"tenant": tenant, "user_id": user_id})


def running_owner() -> Owner | None:
    """Give whose run is under way, or None where no server vouches for anybody.

    Raises:
        RuntimeError: No run is under way here.
    """
    return owner_of_run(get_runtime())


def owner_of_run(runtime: Runtime[Any]) -> Owner | None:
    """Give whose run it is, or None where no server vouches for anybody."""
    return owner_of(runtime.server_info.user) if runtime.server_info else None
