"""Let one writer at a time into a scope, among all who share a store within this process.

Two rights are given, and never the second before the first. `writing` is held for a whole run by those who run one
and wait for it: runs of a scope then follow one another. `committing` is held for reading and committing as one,
and never while a model is asked: it alone keeps turns and events whole when runs of a scope overlap. Both go with the
block that took them, whatever ends it. This module does not know other processes.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from threading import Lock, RLock
from typing import Literal
from weakref import WeakValueDictionary

from langgraph_engram.schema import Scope

Right = Literal["writing", "committing"]


@dataclass
class Counted:
    """A lock, and how many hold it or wait for it. A thread that holds it may take it again."""

    lock: RLock = field(default_factory=RLock)
    users: int = 0


class ScopeLocks:
    """The locks of a store. One that nobody holds or waits for is gone."""

    def __init__(self) -> None:
        """Start with none."""
        self._counted: dict[tuple[Right, str], Counted] = {}
        self._lock = Lock()

    def __len__(self) -> int:
        """Give how many locks are held or waited for."""
        return len(self._counted)

    def writing(self, scope: Scope) -> AbstractContextManager[None]:
        """Hold off other runs of a scope; waits for the one under way."""
        return self._hold("writing", scope)

    def committing(self, scope: Scope) -> AbstractContextManager[None]:
        """Hold off other commits to a scope that read before they write; waits for the one under way."""
        return self._hold("committing", scope)

    @contextmanager
    def _hold(self, right: Right, scope: Scope) -> Iterator[None]:
        key = (right, scope.key)
        with self._lock:
            counted = self._counted.setdefault(key, Counted())
            counted.users += 1
        try:
            with counted.lock:
                yield
        finally:
            with self._lock:
                counted.users -= 1
                if not counted.users:
                    del self._counted[key]


class ServerLocks:
    """The locks of the servers that this process uses, by URL: all who open one share them."""

    def __init__(self) -> None:
        """Start with none."""
        self._by_url: WeakValueDictionary[str, ScopeLocks] = WeakValueDictionary()
        self._lock = Lock()

    def of(self, url: str) -> ScopeLocks:
        """Give the locks of a server; they go with the last store that has them."""
        with self._lock:
            return self._by_url.setdefault(url.rstrip("/"), ScopeLocks())


SERVER_LOCKS = ServerLocks()
"""All of this process."""
