"""Define the port of a memory store, and what one commit carries.

A store keeps the memories of many scopes, apart from one another. It embeds what it is given with the encoder it was
opened with. Reads are served from a `ScopeIndex`. This module does not know Chroma.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from langgraph_engram.embeddings.base import Encoder
from langgraph_engram.schema import Boundary, Decision, Event, PendingTask, Record, Scope, Synthesis, Turn
from langgraph_engram.stores.index import ScopeIndex


@dataclass(frozen=True)
class Changes:
    """What one commit writes: things new and things changed, each under its id. Writing them twice changes nothing."""

    turns: Sequence[Turn] = ()
    events: Sequence[Event] = ()
    boundaries: Sequence[Boundary] = ()
    records: Sequence[Record] = ()
    syntheses: Sequence[Synthesis] = ()
    decisions: Sequence[Decision] = ()
    pending_tasks: Sequence[PendingTask] = ()
    changed: Sequence[Record] = ()
    """Older records whose status changes. They are marked after everything new is written."""
    completed: Sequence[str] = field(default=())
    """Ids of pending_tasks that are done; they are removed last."""
    removed: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Ids of what is taken away for good, by the name of its kind, in the order in which it goes."""


@dataclass(frozen=True)
class Row:
    """One thing as it lies in a store, for those who look for what ought not to be there."""

    kind: str
    item_id: str
    texts: Sequence[str]
    """Everything in it that is text, its id and its document included."""


class Store(Protocol):
    """Keep the memories of many scopes."""

    @property
    def encoder(self) -> Encoder:
        """Give the encoder that made this store's vectors."""

    def writing(self, scope: Scope) -> AbstractContextManager[None]:
        """Hold off other runs of a scope in this process, for those who run one and wait for it."""

    def committing(self, scope: Scope) -> AbstractContextManager[None]:
        """Hold off other commits to a scope in this process, to read and commit as one. Never ask a model inside."""

    def commit(self, scope: Scope, changes: Changes) -> None:
        """Write one run's changes: what is new first, then what it marks, removes and settles. Idempotent.

        Raises:
            StoreError: The store cannot write; nothing old is lost.
        """

    def index(self, scope: Scope) -> ScopeIndex:
        """Give everything of a scope, ready for search, as of the last commit of any process."""

    def decisions(self, scope: Scope) -> list[Decision]:
        """Give the audit trail of a scope, oldest first."""

    def pending_tasks(self, scope: Scope) -> list[PendingTask]:
        """Give the turns whose later steps are not done, oldest first."""

    def rows(self, scope: Scope) -> Iterator[Row]:
        """Give all that lies in the store under a scope, of every kind, read from where it is kept for good."""

    def contains_text(self, text: str) -> bool:
        """Say whether anything that is kept, of whatever scope, holds a text word for word."""

    def secure_delete(self, scope: Scope) -> list[Path]:
        """Overwrite what files hold of a scope's rows that are gone, as far as can be.

        Returns:
            The files that the store is kept in; none where they are not of this machine, or there are none.
        """

    def close(self) -> None:
        """Let go of the store. Closing twice is harmless."""
