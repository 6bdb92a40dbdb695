"""Keep a store's memories from everybody but their owner, whatever the state of a run says.

The first step of a served graph makes a request its owner's. A client may still write into the state of its own thread,
or fork it, and begin after that step. This is the door behind it: every read and every write of a served graph
passes here, and is held against the identity that the server vouches for.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from langgraph_engram.embeddings.base import Encoder
from langgraph_engram.errors import NotAllowed
from langgraph_engram.schema import Decision, PendingTask, Scope
from langgraph_engram.server.identity import running_principal
from langgraph_engram.stores.base import Changes, Row, Store
from langgraph_engram.stores.index import ScopeIndex


@dataclass(frozen=True, eq=False)
class ScopedStore:
    """A store as the steps of a served graph see it: each run reaches its owner's memories alone.

    Every method raises `NotAllowed` for a scope that is not the owner's. Where the server vouches for nobody, every
    scope may be reached.
    """

    inner: Store

    @property
    def encoder(self) -> Encoder:
        """Give the encoder that made this store's vectors."""
        return self.inner.encoder

    def writing(self, scope: Scope) -> AbstractContextManager[None]:
        """Hold off other runs of a scope in this process."""
        return self.inner.writing(require_own_scope(scope))

    def committing(self, scope: Scope) -> AbstractContextManager[None]:
        """Hold off other commits to a scope in this process."""
        return self.inner.committing(require_own_scope(scope))

    def commit(self, scope: Scope, changes: Changes) -> None:
        """Write one run's changes."""
        self.inner.commit(require_own_scope(scope), changes)

    def index(self, scope: Scope) -> ScopeIndex:
        """Give everything of a scope, ready for search."""
        return self.inner.index(require_own_scope(scope))

    def decisions(self, scope: Scope) -> list[Decision]:
        """Give the audit trail of a scope."""
        return self.inner.decisions(require_own_scope(scope))

    def pending_tasks(self, scope: Scope) -> list[PendingTask]:
        """Give the turns whose later steps are not done."""
        return self.inner.pending_tasks(require_own_scope(scope))

    def rows(self, scope: Scope) -> Iterator[Row]:
        """Give all that lies in the store under a scope."""
        return self.inner.rows(require_own_scope(scope))

    def contains_text(self, text: str) -> bool:  # noqa: ARG002 - the port names it
        """Refuse: it would look into every memory, and no step asks for it."""
        raise NotAllowed("a served graph looks into its owner's memory alone")

    def secure_delete(self, scope: Scope) -> list[Path]:
        """Overwrite what files hold of a scope's rows that are gone."""
        return self.inner.secure_delete(require_own_scope(scope))

    def close(self) -> None:
        """Let go of the store."""
        self.inner.close()


def require_own_scope(scope: Scope) -> Scope:
    """Give the scope back where the run under way may reach it.

    Raises:
        NotAllowed: It belongs to somebody else.
    """
    owner = running_principal()
    if owner is not None and not owner.owns(scope):
        raise NotAllowed("this memory belongs to somebody else: leave user_id and tenant out, the server knows yours")
    return scope
