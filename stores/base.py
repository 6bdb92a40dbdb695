"""Define the port of a memory store, and what one commit writes."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal, Protocol

from langgraph_engram.embeddings.base import Encoder
from langgraph_engram.schema import Boundary, Decision, Event, PendingTask, Record, Scope, Synthesis, Turn
from langgraph_engram.stores.index import ScopeIndex

MEMORY = "memory:"
"""The location of a store that is gone when it is closed."""


def kind_of_location(location: str | Path) -> Literal["memory", "server", "folder"]:
    """Return what a store's location names: "memory:", the URL of a Chroma server, or a folder."""
    if location == MEMORY:
        return "memory"
    return "server" if isinstance(location, str) and "://" in location else "folder"


@dataclass(frozen=True)
class Changes:
    """What one commit writes, each item under its id: writing it twice changes nothing."""

    turns: Sequence[Turn] = ()
    events: Sequence[Event] = ()
    boundaries: Sequence[Boundary] = ()
    records: Sequence[Record] = ()
    syntheses: Sequence[Synthesis] = ()
    decisions: Sequence[Decision] = ()
    pending_tasks: Sequence[PendingTask] = ()
    changed: Sequence[Record] = ()
    """Stored records whose status changes; written after everything new."""
    completed: Sequence[str] = ()
    """Ids of the pending tasks that are done; removed last."""
    removed: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Ids to remove for good, by the name of their kind, in the order in which they go."""


class Store(Protocol):
    """Keep the memories of many scopes apart, and embed them with one encoder."""

    @property
    def encoder(self) -> Encoder:
        """Return the encoder of this store's vectors."""

    def writing(self, scope: Scope) -> AbstractContextManager[None]:
        """Hold off other runs of a scope in this process, for callers that wait for their run."""

    def committing(self, scope: Scope) -> AbstractContextManager[None]:
        """Hold off other commits to a scope in this process, to read and commit as one. Never ask a model inside."""

    def commit(self, scope: Scope, changes: Changes) -> None:
        """Write the changes of one run, new items first, then what it changes, removes and completes. Idempotent.

        Raises:
            StoreError: The store cannot write; nothing old is lost.
            InvalidMessages: A text is not valid Unicode.
        """

    def index(self, scope: Scope, revision: str | None = None) -> ScopeIndex:
        """Return everything of a scope, ready for search, as of the last commit of any process.

        An index that a run has read is returned again by its revision, unless it is gone by now.
        """

    def drop_index(self, scope: Scope) -> None:
        """Drop the cached index of a scope: the next read loads it from the rows, whatever its revision."""

    def decisions(self, scope: Scope) -> list[Decision]:
        """Return the audit trail of a scope, oldest first."""

    def pending_tasks(self, scope: Scope) -> list[PendingTask]:
        """Return the pending tasks of a scope, oldest first."""

    def rows(self, scope: Scope) -> Iterator[tuple[str, list[str]]]:
        """Return the kind and every text of each row of a scope, its id included, read from durable storage."""

    def contains_text(self, text: str) -> bool:
        """Return whether any row holds a text word for word: the one question that is asked of all scopes at once."""

    def secure_delete(self, scope: Scope) -> list[Path]:
        """Overwrite what files hold of a scope's removed rows, as far as possible; return those on this machine."""

    def close(self) -> None:
        """Close the store. Closing twice is harmless."""


def index_as_of(store: Store, scope: Scope, moment: datetime | None, revision: str | None = None) -> ScopeIndex:
    """Return the index of a scope, at a revision if it is still there: the whole of it, or a view of a moment."""
    index = store.index(scope, revision)
    return index if moment is None else index.as_of(moment)
