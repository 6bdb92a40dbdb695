"""Keep the scope indexes used lately, and drop the one used longest ago when there are too many."""

from collections import OrderedDict
from threading import Lock

from langgraph_engram.schema import Scope
from langgraph_engram.stores.scope_index import ScopeIndex


class IndexCache:
    """Scope indexes by scope. Many threads may use it at once."""

    def __init__(self, size: int) -> None:
        """Start empty, with room for `size` indexes; at least 1."""
        self._size = size
        self._indexes: OrderedDict[str, ScopeIndex] = OrderedDict()
        self._lock = Lock()

    def get(self, scope: Scope) -> ScopeIndex | None:
        """Give the index of a scope, if it is kept."""
        with self._lock:
            index = self._indexes.get(scope.key)
            if index is not None:
                self._indexes.move_to_end(scope.key)
            return index

    def keep(self, scope: Scope, index: ScopeIndex) -> None:
        """Keep the index of a scope, in place of an earlier one."""
        with self._lock:
            self._indexes[scope.key] = index
            self._indexes.move_to_end(scope.key)
            while len(self._indexes) > self._size:
                self._indexes.popitem(last=False)

    def drop(self, scope: Scope) -> None:
        """Forget the index of a scope."""
        with self._lock:
            self._indexes.pop(scope.key, None)
