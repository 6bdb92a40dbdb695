"""Hold the indexes of the scopes used last in memory, as far as there is room."""

from collections import OrderedDict
from dataclasses import dataclass
from threading import RLock

from langgraph_engram.schema import Scope
from langgraph_engram.stores.index import ScopeIndex

MAX_SCOPES = 64
"""Scopes in memory at most."""
MAX_EARLIER = 4
"""Versions before the present one of a scope that are kept for runs that began on them; versions share arrays."""


@dataclass
class _Held:
    """The index of a scope, with the versions before it, the newest first, and what it took when last looked at."""

    index: ScopeIndex
    earlier: tuple[ScopeIndex, ...]
    size: int


class IndexCache:
    """The scope indexes used last. Many threads may use it at once."""

    def __init__(self, memory_limit_mb: int) -> None:
        self._most_bytes = memory_limit_mb * 1_000_000
        self._held: OrderedDict[Scope, _Held] = OrderedDict()
        """By scope; the one used last is the last one."""
        self._lock = RLock()

    @property
    def is_over_limit(self) -> bool:
        """Return whether there is an index to let go of."""
        with self._lock:
            over = len(self._held) > MAX_SCOPES or sum(held.size for held in self._held.values()) > self._most_bytes
            return over and len(self._held) > 1

    def get(self, scope: Scope) -> ScopeIndex | None:
        """Return the index of a scope, if it is cached."""
        with self._lock:
            held = self._held.get(scope)
            if held is None:
                return None
            last = self._held[next(reversed(self._held))]
            if last is not held:
                last.size = last.index.nbytes  # it grows as it is read
                self._held.move_to_end(scope)
            return held.index

    def version(self, scope: Scope, revision: str) -> ScopeIndex | None:
        """Return the index of a scope as it was at a revision, if it is cached."""
        with self._lock:
            held = self._held.get(scope)
        versions = (held.index, *held.earlier) if held else ()
        return next((index for index in versions if index.revision == revision), None)

    def put(self, scope: Scope, index: ScopeIndex, before: ScopeIndex | None = None) -> list[tuple[Scope, ScopeIndex]]:
        """Cache the index of a scope, and keep `before`, the version that it was made from.

        Returns:
            The indexes used longest ago that were beyond the limits and were removed; never the one that was put.
        """
        surplus = []
        with self._lock:
            held = self._held.pop(scope, None)
            earlier = held.earlier if held and (before is not None or held.index is index) else ()
            if before is not None:
                earlier = (before, *earlier)[:MAX_EARLIER]
            self._held[scope] = _Held(index, earlier, index.nbytes)
            while self.is_over_limit:
                last, of_last = self._held.popitem(last=False)
                surplus.append((last, of_last.index))
        return surplus

    def all(self) -> list[tuple[Scope, ScopeIndex]]:
        """Return the indexes in the cache, with their scopes; the one used last is the last one."""
        with self._lock:
            return [(scope, held.index) for scope, held in self._held.items()]

    def clear(self) -> None:
        """Remove all indexes."""
        with self._lock:
            self._held.clear()

    def drop(self, scope: Scope) -> None:
        """Remove the index of a scope."""
        with self._lock:
            self._held.pop(scope, None)
