"""Restrict a store to the memories of the authenticated user, whatever the state of a run says.

The entry node of a served graph sets the user of a request. A client may still write into the state of its own thread,
or fork it, and start after that node. So every read and write of the graphs `remember` and `recall` that a server runs
is checked here again, against the identity that it has authenticated. Ways in that run no such graph, as tools and
pages do, take their scope from that identity themselves.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from langgraph.runtime import get_runtime

from langgraph_engram.embeddings.base import Encoder
from langgraph_engram.errors import NotAllowed
from langgraph_engram.integrations.identity import principal_of
from langgraph_engram.schema import Scope
from langgraph_engram.stores.base import Store


@dataclass(frozen=True, eq=False)
class ScopedStore:
    """A `Store` in which each run reaches only the memories of its principal.

    Every method raises `NotAllowed` for the scope of another user, and where it takes no scope and so may reach every
    memory. Without authentication every scope is allowed.
    """

    inner: Store

    @property
    def encoder(self) -> Encoder:
        """Return the encoder of this store's vectors."""
        return self.inner.encoder

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return a method of the store, behind the check of the scope that it is called with."""
        return partial(_call_in_own_scope, getattr(self.inner, name))


def require_own_scope(scope: Scope) -> Scope:
    """Return the scope if the current run may access it."""
    server = get_runtime().server_info
    principal = principal_of(server.user) if server else None
    if principal is not None and not principal.owns(scope):
        raise NotAllowed("this memory belongs to somebody else: leave user_id and tenant out, the server knows yours")
    return scope


def _call_in_own_scope(method: Callable[..., Any], scope: object, *arguments: Any) -> Any:
    if not isinstance(scope, Scope):
        raise NotAllowed("a served graph searches the memory of its own user alone")
    return method(require_own_scope(scope), *arguments)
