"""Hold the indexes of the scopes used last in memory, as far as there is room, and know which of them are outdated.

Each scope has a revision that changes with every commit.
"""

import json
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from threading import RLock
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

from langgraph_engram.schema import Scope
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.stores.rows import scope_hash

if TYPE_CHECKING:
    from chromadb import Collection

MAX_SCOPES = 64
"""Scopes in memory at most."""
MAX_EARLIER = 4
"""Versions before the present one of a scope that are kept for runs that began on them; versions share arrays."""
SILENT_MS = 24 * 60 * 60 * 1000
"""After how many milliseconds without a commit a writer's row is removed."""


@dataclass
class _Held:
    """The index of a scope, with the versions before it, the newest first, and what it took when last looked at."""

    scope: Scope
    index: ScopeIndex
    earlier: tuple[ScopeIndex, ...]
    size: int


class IndexCache:
    """The scope indexes used last. Many threads may use it at once."""

    def __init__(self, memory_limit_mb: int) -> None:
        self._most_bytes = memory_limit_mb * 1_000_000
        self._held: OrderedDict[str, _Held] = OrderedDict()
        """By scope; the one used last is the last one."""
        self._lock = RLock()

    @property
    def is_over_limit(self) -> bool:
        """Return whether there is an index to let go of."""
        over = len(self._held) > MAX_SCOPES or sum(held.size for held in list(self._held.values())) > self._most_bytes
        return over and len(self._held) > 1

    def get(self, scope: Scope) -> ScopeIndex | None:
        """Return the index of a scope, if it is cached."""
        with self._lock:
            held = self._held.get(scope.key)
            if held is None:
                return None
            last = self._held[next(reversed(self._held))]
            if last is not held:
                last.size = last.index.nbytes  # it grows as it is read
                self._held.move_to_end(scope.key)
            return held.index

    def version(self, scope: Scope, revision: str) -> ScopeIndex | None:
        """Return the index of a scope as it was at a revision, if it is cached."""
        with self._lock:
            held = self._held.get(scope.key)
        versions = (held.index, *held.earlier) if held else ()
        return next((index for index in versions if index.revision == revision), None)

    def put(self, scope: Scope, index: ScopeIndex, before: ScopeIndex | None = None) -> list[tuple[Scope, ScopeIndex]]:
        """Cache the index of a scope, and keep `before`, the version that it was made from.

        Returns:
            The indexes used longest ago that were beyond the limits and were removed; never the one that was put.
        """
        surplus = []
        with self._lock:
            held = self._held.pop(scope.key, None)
            earlier = held.earlier if held and (before is not None or held.index is index) else ()
            if before is not None:
                earlier = (before, *earlier)[:MAX_EARLIER]
            self._held[scope.key] = _Held(scope, index, earlier, index.nbytes)
            while self.is_over_limit:
                _, last = self._held.popitem(last=False)
                surplus.append((last.scope, last.index))
        return surplus

    def all(self) -> list[tuple[Scope, ScopeIndex]]:
        """Return the indexes in the cache, with their scopes; the one used last is the last one."""
        with self._lock:
            return [(held.scope, held.index) for held in self._held.values()]

    def clear(self) -> None:
        """Remove all indexes."""
        with self._lock:
            self._held.clear()

    def drop(self, scope: Scope) -> None:
        """Remove the index of a scope."""
        with self._lock:
            self._held.pop(scope.key, None)


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
        mine = {self.writer: ""}
        return bool(json.loads(before) | mine == json.loads(now) | mine)

    def _rows(self, scope: Scope) -> list[Mapping[str, Any]]:
        return list(self.collection.get(where={"scope": scope_hash(scope)}, include=["metadatas"])["metadatas"] or [])


def _as_text(rows: Iterable[Mapping[str, Any]]) -> str:
    return json.dumps({row["writer"]: row["token"] for row in rows}, sort_keys=True)
