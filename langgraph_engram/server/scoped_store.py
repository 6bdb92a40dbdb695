"""Restrict a store to the memories of the authenticated user, whatever the state of a run says.

The entry node of a served graph sets the user of a request. A client may still write into the state of its own thread,
or fork it, and start after that node. So every read and write of the graphs `remember` and `recall` that a server runs
is checked here again, against the identity that it has authenticated. Ways in that run no such graph, as tools and
pages do, take their scope from that identity themselves.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from langgraph.runtime import get_runtime

from langgraph_engram.embeddings.base import Encoder
from langgraph_engram.errors import NotAllowed
from langgraph_engram.integrations.identity import principal_of_run
from langgraph_engram.schema import Decision, PendingTask, Scope
from langgraph_engram.stores.base import Changes, Row, Store
from langgraph_engram.stores.index import ScopeIndex


@dataclass(frozen=True, eq=False)
class ScopedStore:
    """A store in which each run reaches only the memories of its principal.

    Every method raises `NotAllowed` for the scope of another user. Without authentication every scope is allowed.
    """

    inner: Store

    @property
    def encoder(self) -> Encoder:
        """Return the encoder of this store's vectors."""
        return self.inner.encoder

    def writing(self, scope: Scope) -> AbstractContextManager[None]:
        """Lock a scope against other runs in this process."""
        return self.inner.writing(require_own_scope(scope))

    def committing(self, scope: Scope) -> AbstractContextManager[None]:
        """Lock a scope against other commits in this process."""
        return self.inner.committing(require_own_scope(scope))

    def commit(self, scope: Scope, changes: Changes) -> None:
        """Write one run's changes."""
        self.inner.commit(require_own_scope(scope), changes)

    def index(self, scope: Scope, revision: str | None = None) -> ScopeIndex:
        """Return the index of a scope, at a revision if it is still there."""
        return self.inner.index(require_own_scope(scope), revision)

    def drop_index(self, scope: Scope) -> None:
        """Drop the cached index of a scope."""
        self.inner.drop_index(require_own_scope(scope))

    def decisions(self, scope: Scope) -> list[Decision]:
        """Return the decisions of a scope."""
        return self.inner.decisions(require_own_scope(scope))

    def pending_tasks(self, scope: Scope) -> list[PendingTask]:
        """Return the pending tasks of a scope."""
        return self.inner.pending_tasks(require_own_scope(scope))

    def rows(self, scope: Scope) -> Iterator[Row]:
        """Yield every row of a scope."""
        return self.inner.rows(require_own_scope(scope))

    def contains_text(self, text: str) -> bool:  # noqa: ARG002 - the port names it
        """Refuse: it would search every memory, and no step needs it."""
        raise NotAllowed("a served graph searches the memory of its own user alone")

    def secure_delete(self, scope: Scope) -> list[Path]:
        """Overwrite deleted rows of a scope in files."""
        return self.inner.secure_delete(require_own_scope(scope))

    def close(self) -> None:
        """Close the store."""
        self.inner.close()


def require_own_scope(scope: Scope) -> Scope:
    """Return the scope if the current run may access it."""
    principal = principal_of_run(get_runtime())
    if principal is not None and not principal.owns(scope):
        raise NotAllowed("this memory belongs to somebody else: leave user_id and tenant out, the server knows yours")
    return scope
