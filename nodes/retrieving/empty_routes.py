"""Say which routes have nothing to search, where that tells something.

Narratives tell sessions that have ended or grown long: while every session is under way, having none is no lack. A
memory that was written under a preset without narratives lacks them all the same. This module scores nothing.
"""

from collections.abc import Sequence

from langgraph_engram.stores.scope_index import ScopeIndex

TOLD_KINDS = frozenset({"event", "buffer"})
"""Kinds of events of the presets that write narratives."""


def empty_routes(index: ScopeIndex, routes: Sequence[str]) -> tuple[str, ...]:
    """Give the routes, of those named, whose data is missing."""
    held = {
        "lexical": len(index.records),
        "dense": len(index.records),
        "dimension": len(index.records),
        "boundary": len(index.boundaries),
        "synthesis": len(index.syntheses) or _awaits_narratives(index),
        "turn": len(index.turns),
    }
    return tuple(name for name in routes if not held[name])


def _awaits_narratives(index: ScopeIndex) -> bool:
    """Say whether no narrative was due yet: there are records, and all that are active are of sessions under way."""
    events = sorted(index.events.items, key=lambda event: event.seq)
    last = {event.session_id: event for event in events}
    told = (last.get(record.session_id) for record in index.records.items if record.status == "active")
    return bool(len(index.records)) and all(
        event is None or (event.kind in TOLD_KINDS and event.status == "open") for event in told
    )
