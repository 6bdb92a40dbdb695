"""Give each scope a revision that changes with every commit, so that an index in the process knows it is outdated."""

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

from langgraph_engram.schema import Scope
from langgraph_engram.stores.rows import scope_hash

if TYPE_CHECKING:
    from chromadb import Collection


SILENT_MS = 24 * 60 * 60 * 1000
"""After how many milliseconds without a commit a writer's row is removed."""


class LocalRevisions:
    """The revisions of a store that one process has to itself: none is written, because nobody else would read it.

    Everything in the process shares the store's indexes, so that a token in memory is enough. It saves a write and a
    read a commit: a fifth of the time that writing a short session takes.
    """

    def read(self, scope: Scope) -> str:
        """Return a text that no revision of the scope was before."""
        return self.renew(scope)

    def renew(self, scope: Scope) -> str:  # noqa: ARG002 - the port names it
        """Return the revision after a commit."""
        return _as_text([{"writer": "own", "token": uuid4().hex}])

    def only_mine_since(self, before: str, now: str) -> bool:  # noqa: ARG002 - the port names them
        """Return true: there is no other writer."""
        return True


@dataclass(frozen=True)
class SharedRevisions:
    """The revisions of a store that several processes write to: one row for each scope and writer."""

    collection: "Collection"
    writer: str
    """The writer's own name; no other process has it."""

    def read(self, scope: Scope) -> str:
        """Return the revision of a scope: a text that changes with every commit of any process."""
        return _as_text(self._rows(scope))

    def renew(self, scope: Scope) -> str:
        """Record a commit to a scope, and return the revision with it."""
        now = time.time_ns() // 1_000_000
        name = scope_hash(scope)  # the row outlives what it is about, so it must not name the user
        row: dict[str, str | int] = {"scope": name, "writer": self.writer, "token": uuid4().hex, "written_at": now}
        self.collection.upsert(
            ids=[f"{name}:{self.writer}"], embeddings=np.ones((1, 1), dtype=np.float32), metadatas=[row]
        )
        rows = self._rows(scope)
        if any(row["written_at"] < now - SILENT_MS for row in rows):
            silent: Any = [{"scope": name}, {"written_at": {"$lt": now - SILENT_MS}}]
            self.collection.delete(where={"$and": silent})
        return _as_text(rows)

    def only_mine_since(self, before: str, now: str) -> bool:
        """Return whether nobody but this writer has committed between two revisions."""
        return self._others(before) == self._others(now)

    def _others(self, revision: str) -> dict[str, str]:
        tokens: dict[str, str] = json.loads(revision)
        return {writer: token for writer, token in tokens.items() if writer != self.writer}

    def _rows(self, scope: Scope) -> list[Mapping[str, Any]]:
        return list(self.collection.get(where={"scope": scope_hash(scope)}, include=["metadatas"])["metadatas"] or [])


def _as_text(rows: Iterable[Mapping[str, Any]]) -> str:
    return json.dumps({row["writer"]: row["token"] for row in rows}, sort_keys=True)
