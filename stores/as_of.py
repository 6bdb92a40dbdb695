"""Show the memories of a scope as of an earlier moment: what was said by then, and taken to be true then.

Nothing is overwritten in a store, so that all of it is there.
"""

from collections.abc import Callable, Collection
from datetime import datetime

import numpy as np

from langgraph_engram.schema import Event, Record
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.stores.kinds import BOUNDARIES, EVENTS, RECORDS, SYNTHESES, TURNS, Kind, T


def as_of(index: ScopeIndex, moment: datetime) -> ScopeIndex:
    """Return what a scope held at a moment, ready for search.

    Turns and records mentioned by then are part of it, and so are those of unknown time. A record is active if what
    superseded it was not known yet. Events, boundaries and syntheses count if they were complete by then; an event
    that was under way keeps the turns that were said, without the summary that was written later.
    """
    if index.view is None or index.view[0] != moment:
        index.view = moment, _view(index, moment)
    return index.view[1]


def _view(index: ScopeIndex, moment: datetime) -> ScopeIndex:
    view = ScopeIndex(index.revision)
    turns = {turn.turn_id for turn in index.turns.items if _is_by(turn.said_at, moment)}
    known = {
        record.record_id
        for record in index.records.items
        if _is_by(record.mentioned_at, moment) and turns.issuperset(record.source_turn_ids)
    }
    events = {event.event_id for event in index.events.items if not turns.isdisjoint(event.turn_ids)}
    view = _with_kind(view, index, TURNS, lambda turn: turn if turn.turn_id in turns else None)
    view = _with_kind(view, index, EVENTS, lambda event: _event_as_of(event, turns))
    view = _with_kind(view, index, BOUNDARIES, lambda boundary: boundary if boundary.to_event_id in events else None)
    view = _with_kind(view, index, RECORDS, lambda record: _record_as_of(record, known, moment))
    return _with_kind(
        view, index, SYNTHESES, lambda synthesis: synthesis if known.issuperset(synthesis.covered_record_ids) else None
    )


def _with_kind(view: ScopeIndex, index: ScopeIndex, kind: Kind[T], item_as_of: Callable[[T], T | None]) -> ScopeIndex:
    """Add the items of a kind to a view as they were then, with the vectors that they have."""
    source = index.of_kind(kind)
    items = {position: then for position, item in enumerate(source.items) if (then := item_as_of(item)) is not None}
    if not items:
        return view
    return view.with_items(kind, list(items.values()), source.vectors[np.array(list(items))])


def _is_by(said: datetime | None, moment: datetime) -> bool:
    return said is None or said <= moment


def _event_as_of(event: Event, turns: Collection[str]) -> Event | None:
    said = [turn_id for turn_id in event.turn_ids if turn_id in turns]
    if not said or len(said) == len(event.turn_ids):
        return event if said else None
    return event.model_copy(update={"turn_ids": said, "summary": "", "status": "open"})


def _record_as_of(record: Record, known: Collection[str], moment: datetime) -> Record | None:
    if record.record_id not in known:
        return None
    superseded_later = record.superseded_by is not None and record.superseded_by not in known
    still_valid = record.status == "superseded" and record.valid_to is not None and record.valid_to > moment
    if record.status in ("merged", "superseded") and (superseded_later or still_valid):
        return record.model_copy(update={"status": "active", "superseded_by": None, "valid_to": None})
    return record
