"""Keep a store's memories from everybody but their owner, whatever the state of a run says.

The first step of a served graph makes a request its owner's. A client may still write into the state of its own thread,
or fork it, and begin after that step. This is the door behind it: every read and every write of a served graph
passes here, and is held against the identity that the server vouches for.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from langgraph_engram.encoder import Encoder
from langgraph_engram.errors import NotAllowed
from langgraph_engram.schema import Decision, Pending, Scope
from langgraph_engram.server.owner import running_owner
from langgraph_engram.stores.scope_index import ScopeIndex
from langgraph_engram.stores.store import Changes, Row, Store


@dataclass(frozen=True, eq=False)
class OwnedStore:
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
        return self.inner.writing(owned(scope))

    def committing(self, scope: Scope) -> AbstractContextManager[None]:
        """Hold off other commits to a scope in this process."""
        return self.inner.committing(owned(scope))

    def commit(self, scope: Scope, changes: Changes) -> None:
        """Write one run's changes."""
        self.inner.commit(owned(scope), changes)

    def index(self, scope: Scope) -> ScopeIndex:
        """Give everything of a scope, ready for search."""
        return self.inner.index(owned(scope))

    def decisions(self, scope: Scope) -> list[Decision]:
        """Give the audit trail of a scope."""
        return self.inner.decisions(owned(scope))

    def pendings(self, scope: Scope) -> list[Pending]:
        """Give the turns whose later steps are not done."""
        return self.inner.pendings(owned(scope))

    def rows(self, scope: Scope) -> Iterator[Row]:
        """Give all that lies in the store under a scope."""
        return self.inner.rows(owned(scope))

    def says(self, text: str) -> bool:  # noqa: ARG002 - the port names it
        """Refuse: it would look into every memory, and no step asks for it."""
        raise NotAllowed("a served graph looks into its owner's memory alone")

    def scrub(self, scope: Scope) -> list[Path]:
        """Overwrite what files hold of a scope's rows that are gone."""
        return self.inner.scrub(owned(scope))

    def close(self) -> None:
        """Let go of the store."""
        self.inner.close()


def owned(scope: Scope) -> Scope:
    """Give the scope back where the run under way may reach it.

    Raises:
        NotAllowed: It belongs to somebody else.
    """
    owner = running_owner()
    if owner is not None and not owner.owns(scope):
        raise NotAllowed("this memory belongs to somebody else: leave user_id and tenant out, the server knows yours")
    return scope
