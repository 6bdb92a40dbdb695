"""Give a scope as it stood at an earlier moment: what was said by then, and what was held to be true then.

Nothing is overwritten in a store, so that the past can be read off it. This module does not know who asks.
"""

from collections.abc import Callable, Collection
from datetime import datetime
from weakref import WeakKeyDictionary

import numpy as np

from langgraph_engram.schema import Event, Record
from langgraph_engram.state import RecallRequest
from langgraph_engram.stores.base import Store
from langgraph_engram.stores.index import BOUNDARIES, EVENTS, RECORDS, SYNTHESES, TURNS, Kind, ScopeIndex, T

LAST: WeakKeyDictionary[ScopeIndex, tuple[str, datetime, ScopeIndex]] = WeakKeyDictionary()
"""The view last made of each index, with the revision and the moment it was made for."""


def as_of(index: ScopeIndex, moment: datetime) -> ScopeIndex:
    """Give what a scope held at a moment, ready for search.

    Turns and records that were told by then are there, and those of unknown time. A record is active if what took its
    place was not there yet. Events and their turns, boundaries and syntheses count if they were complete by then; an
    event that was under way keeps the turns that were said, without the summary that was written later.
    """
    held = LAST.get(index)
    if held is None or held[:2] != (index.revision, moment):
        LAST[index] = held = (index.revision, moment, _view(index, moment))
    return held[2]


def _view(index: ScopeIndex, moment: datetime) -> ScopeIndex:
    view = ScopeIndex(f"{index.revision} as of {moment.isoformat()}")
    turns = {turn.turn_id for turn in index.turns.items if _by(turn.said_at, moment)}
    known = {
        record.record_id
        for record in index.records.items
        if _by(record.mentioned_at, moment) and turns.issuperset(record.source_turn_ids)
    }
    events = {event.event_id for event in index.events.items if not turns.isdisjoint(event.turn_ids)}
    view = _with(view, index, TURNS, lambda turn: turn if turn.turn_id in turns else None)
    view = _with(view, index, EVENTS, lambda event: _event(event, turns))
    view = _with(view, index, BOUNDARIES, lambda one: one if one.to_event_id in events else None)
    view = _with(view, index, RECORDS, lambda one: _record(one, known, moment))
    return _with(view, index, SYNTHESES, lambda one: one if known.issuperset(one.covered_record_ids) else None)


def _with(view: ScopeIndex, index: ScopeIndex, kind: Kind[T], then: Callable[[T], T | None]) -> ScopeIndex:
    """Put the things of a kind into a view as they were then, with the vectors that they have."""
    shelf = index.shelf(kind)
    kept = [(place, one) for place, item in enumerate(shelf.items) if (one := then(item)) is not None]
    if not kept:
        return view
    return view.put(kind, [one for _, one in kept], shelf.vectors[np.array([place for place, _ in kept])])


def _by(said: datetime | None, moment: datetime) -> bool:
    return said is None or said <= moment


def _event(event: Event, turns: Collection[str]) -> Event | None:
    said = [turn_id for turn_id in event.turn_ids if turn_id in turns]
    if not said or len(said) == len(event.turn_ids):
        return event if said else None
    return event.model_copy(update={"turn_ids": said, "summary": "", "status": "open"})


def _record(record: Record, known: Collection[str], moment: datetime) -> Record | None:
    if record.record_id not in known:
        return None
    replaced = record.superseded_by is not None and record.superseded_by not in known
    still_true = record.status == "superseded" and record.valid_to is not None and record.valid_to > moment
    if record.status in ("merged", "superseded") and (replaced or still_true):
        return record.model_copy(update={"status": "active", "superseded_by": None, "valid_to": None})
    return record


def index_as_of(store: Store, request: RecallRequest) -> ScopeIndex:
    """Give everything that a request may be answered from."""
    index = store.index(request.scope)
    return index if request.as_of is None else as_of(index, request.as_of)
