"""Cut a run's turns into events, and describe how each begins (ES-Mem sections 3.1 and 3.2)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from langgraph_engram.pending import stored_turns
from langgraph_engram.schema import Event, Turn
from langgraph_engram.segmentation.events import closed_sessions
from langgraph_engram.segmentation.segmenter import Segmentation, Segmenter, SessionTurns
from langgraph_engram.state import WriteState
from langgraph_engram.stores.base import Store
from langgraph_engram.stores.index import ScopeIndex


@dataclass(frozen=True)
class Segment:
    """Cut turns into events. Reads `request`, `session_ids`, `tasks`, `turns`; sets `events`, `boundaries`.

    Where what is open waits to be read, earlier sessions end when another begins: they join `session_ids`.
    """

    store: Store
    segmenter: Segmenter

    def __call__(self, state: WriteState) -> WriteState:
        """Return the events that this run opens, continues or closes, and the boundaries before the new ones."""
        index = self.store.index(state["request"].scope)
        turn_ids = {turn_id for task in state["tasks"] for turn_id in task.turn_ids}
        events = (event for session_id in state["session_ids"] for event in index.session_events(session_id))
        stored = [event for event in events if not turn_ids.isdisjoint(event.turn_ids)]
        found = self._cut(state, index, stored)
        ended: list[Event] = []
        if self.segmenter.waits:
            ended = closed_sessions(index, found.events)
            found = replace(
                found, events=[_closed_before_others(event, index, state["turns"]) for event in found.events]
            )
        new = {event.event_id for event in found.events}
        known = [event for event in stored if event.event_id not in new]
        return {
            "session_ids": list(dict.fromkeys([*(event.session_id for event in ended), *state["session_ids"]])),
            "events": [*ended, *known, *found.events],
            "boundaries": found.boundaries,
            "usage": found.usage,
        }

    def _cut(self, state: WriteState, index: ScopeIndex, stored: list[Event]) -> Segmentation:
        """Cut the turns that no stored event holds."""
        segmented = {turn_id for event in stored for turn_id in event.turn_ids}
        turns = [turn for turn in state["turns"] if turn.turn_id not in segmented]
        request, found = state["request"], Segmentation()
        if not turns and not request.close_session:
            return found
        for session_id in state["session_ids"]:
            own = [turn for turn in turns if turn.session_id == session_id]
            session = SessionTurns(index, session_id, own, found.events, request.close_session)
            found += self.segmenter.segment(request.scope.key, session)
        return found


def _closed_before_others(event: Event, index: ScopeIndex, new: Sequence[Turn]) -> Event:
    """Return an event, closed where a stored one of its session holds a later turn: a retry may cut earlier turns."""
    held = (turn_id for other in index.session_events(event.session_id) for turn_id in other.turn_ids)
    last = max((turn.seq for turn in stored_turns(index, held)), default=-1)
    own = (turn for turn in (*new, *stored_turns(index, event.turn_ids)) if turn.turn_id in event.turn_ids)
    return event if any(turn.seq >= last for turn in own) else event.model_copy(update={"status": "closed"})
