"""Give the scope that a reader searches: as it stands, or as it stood at the moment that the request names."""

from langgraph_engram.state import RecallRequest
from langgraph_engram.stores.as_of import as_of
from langgraph_engram.stores.scope_index import ScopeIndex
from langgraph_engram.stores.store import Store


def standing_index(store: Store, request: RecallRequest) -> ScopeIndex:
    """Give everything that a request may be answered from."""
    index = store.index(request.scope)
    return index if request.as_of is None else as_of(index, request.as_of)
