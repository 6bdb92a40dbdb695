"""End the sessions that nobody closed, once a later one begins: what they hold is told then (decision 12)."""

from collections.abc import Sequence

from langgraph_engram.nodes.keeping.receive import is_unnamed
from langgraph_engram.schema import Event
from langgraph_engram.stores.scope_index import ScopeIndex


def ended_by(index: ScopeIndex, session_id: str, events: Sequence[Event]) -> list[Event]:
    """Give the last events of earlier sessions that were still open, as closed.

    Args:
        index: The scope as it is stored.
        session_id: The session of the run.
        events: What the run writes of it, oldest first.

    Returns:
        None where the session has begun before. Sessions that went on after this one began are no earlier ones, and
        calls that named no session neither end others nor are ended.
    """
    if not events or is_unnamed(session_id) or index.events.in_session(session_id):
        return []
    return [
        one.model_copy(update={"status": "closed"})
        for one in index.events.items
        if one.status == "open" and not is_unnamed(one.session_id) and _is_before(one, events[0])
    ]


def _is_before(earlier: Event, later: Event) -> bool:
    return bool(earlier.ended_at and later.started_at and earlier.ended_at <= later.started_at)
