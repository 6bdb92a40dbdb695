"""Hold the indexes of the scopes used last in memory, as far as there is room for them."""

from collections import OrderedDict
from threading import Lock

from langgraph_engram.schema import Scope
from langgraph_engram.stores.index import ScopeIndex

MAX_SCOPES = 64
"""Scopes in memory at most."""


MAX_EARLIER = 4
"""Versions before the present one of a scope that are kept for runs that began on them; versions share arrays."""


class IndexCache:
    """The scope indexes used last. Many threads may use it at once."""

    def __init__(self, memory_limit_mb: int) -> None:
        """Start empty."""
        self._most_bytes = memory_limit_mb * 1_000_000
        self._indexes: OrderedDict[str, tuple[Scope, ScopeIndex]] = OrderedDict()
        """The index used last is the last one."""
        self._bytes: dict[str, int] = {}
        """What each took when it was last looked at: it grows as it is read."""
        self._earlier: dict[str, tuple[ScopeIndex, ...]] = {}
        """The versions before each, the newest first."""
        self._lock = Lock()

    @property
    def is_over_limit(self) -> bool:
        """Return whether there is an index to let go of."""
        over = len(self._indexes) > MAX_SCOPES or sum(self._bytes.values()) > self._most_bytes
        return over and len(self._indexes) > 1

    def get(self, scope: Scope) -> ScopeIndex | None:
        """Return the index of a scope, if it is cached."""
        with self._lock:
            if scope.key not in self._indexes:
                return None
            last = next(reversed(self._indexes))
            if last != scope.key:
                self._bytes[last] = self._indexes[last][1].nbytes
                self._indexes.move_to_end(scope.key)
            return self._indexes[scope.key][1]

    def version(self, scope: Scope, revision: str) -> ScopeIndex | None:
        """Return the index of a scope as it was at a revision, if it is cached."""
        with self._lock:
            present = [self._indexes[scope.key][1]] if scope.key in self._indexes else []
            versions = (*present, *self._earlier.get(scope.key, ()))
        return next((index for index in versions if index.revision == revision), None)

    def put(self, scope: Scope, index: ScopeIndex, before: ScopeIndex | None = None) -> None:
        """Cache the index of a scope, in place of an earlier one; keep `before`, the version that it was made from."""
        with self._lock:
            if before is not None:
                self._earlier[scope.key] = (before, *self._earlier.get(scope.key, ()))[:MAX_EARLIER]
            elif scope.key in self._indexes and self._indexes[scope.key][1] is not index:
                self._earlier.pop(scope.key, None)
            self._indexes[scope.key] = scope, index
            self._indexes.move_to_end(scope.key)
            self._bytes[scope.key] = index.nbytes

    def take_surplus(self) -> list[tuple[Scope, ScopeIndex]]:
        """Remove the indexes used longest ago that are beyond the limits, and return them; the one used last stays."""
        taken = []
        with self._lock:
            while self.is_over_limit:
                key, entry = self._indexes.popitem(last=False)
                del self._bytes[key]
                self._earlier.pop(key, None)
                taken.append(entry)
        return taken

    def all(self) -> list[tuple[Scope, ScopeIndex]]:
        """Return the indexes in the cache, with their scopes; the one used last is the last one."""
        with self._lock:
            return list(self._indexes.values())

    def clear(self) -> None:
        """Remove all indexes."""
        with self._lock:
            self._indexes.clear()
            self._bytes.clear()
            self._earlier.clear()

    def drop(self, scope: Scope) -> None:
        """Remove the index of a scope."""
        with self._lock:
            self._indexes.pop(scope.key, None)
            self._bytes.pop(scope.key, None)
            self._earlier.pop(scope.key, None)
