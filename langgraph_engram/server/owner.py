"""Say whose run it is on a server: by the identity that the server vouches for, never by what a client sends.

This module does not know how a server finds out who somebody is; see `credentials`.
"""

import json
from typing import Any

from langgraph.runtime import Runtime, get_runtime
from pydantic import Field

from langgraph_engram.agents.identity import owner_of as known_owner_of
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


def owner_of(user: object | None) -> Owner | None:
    """Give who somebody is, or None where the server lets everybody in as whom they say they are."""
    known = known_owner_of(user)
    if known is None:
        return None
    return Owner.model_validate({"tenant": known.tenant or "default", "user_id": known.user_id})


def running_owner() -> Owner | None:
    """Give whose run is under way, or None where no server vouches for anybody.

    Raises:
        RuntimeError: No run is under way here.
    """
    return owner_of_run(get_runtime())


def owner_of_run(runtime: Runtime[Any]) -> Owner | None:
    """Give whose run it is, or None where no server vouches for anybody."""
    return owner_of(runtime.server_info.user) if runtime.server_info else None
