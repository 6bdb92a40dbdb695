"""Cut a run's turns into events, and describe how each begins (ES-Mem sections 3.1 and 3.2)."""

from dataclasses import dataclass

from langgraph_engram.llm.base import Model
from langgraph_engram.pending import pending_tasks_for
from langgraph_engram.segmentation.events import EventBuilder, events_with_turns
from langgraph_engram.segmentation.segmenter import Segmentation, Segmenter
from langgraph_engram.settings import SegmentSettings
from langgraph_engram.state import WriteState
from langgraph_engram.stores.base import Store


@dataclass(frozen=True)
class Segment:
    """Cut turns into events. Reads `request`, `session_ids`, `turns`; sets `events`, `boundaries`, `failures`."""

    store: Store
    model: Model
    settings: SegmentSettings

    def __call__(self, state: WriteState) -> WriteState:
        """Return the events that this run opens, continues or closes, and the boundaries before the new ones.

        Turns of a retry that an event holds already are not cut again.
        """
        request = state["request"]
        index = self.store.index(request.scope)
        done = [
            event
            for session_id in state["session_ids"]
            for event in events_with_turns(index, session_id, request.retry_turn_ids)
        ]
        held = {turn_id for event in done for turn_id in event.turn_ids}
        turns = [turn for turn in state["turns"] if turn.turn_id not in held]
        if done and not turns:
            return {"events": done, "boundaries": []}
        segmenter = Segmenter(self.model, self.store.encoder, self.settings)
        builder = EventBuilder(request.scope.key, self.settings)
        found = Segmentation()
        for session_id in state["session_ids"]:
            own = [turn for turn in turns if turn.session_id == session_id]
            found += segmenter.segment(index, builder, session_id, own, found.events, close=request.close_session)
        new = {event.event_id for event in found.events}
        return {
            "events": [*(event for event in done if event.event_id not in new), *found.events],
            "boundaries": found.boundaries,
            "failures": pending_tasks_for(state["run_id"], "segment", found.unanswered),
            "usage": found.usage,
        }
