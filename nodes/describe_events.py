"""Describe stored events again whose topics or boundary a model could not give; only a retry does."""

from dataclasses import dataclass

from langgraph_engram.llm.base import Model
from langgraph_engram.pending import pending_tasks_for, turns_to_describe
from langgraph_engram.segmentation.events import EventBuilder
from langgraph_engram.segmentation.redescription import EventDescriber
from langgraph_engram.settings import SegmentSettings
from langgraph_engram.state import WriteState
from langgraph_engram.stores.base import Store


@dataclass(frozen=True)
class DescribeEvents:
    """Describe events again. Reads `retried`, `events`; changes `events`, `boundaries`, adds to `failures`."""

    store: Store
    model: Model
    settings: SegmentSettings

    def __call__(self, state: WriteState) -> WriteState:
        """Return the run's events and boundaries, described again; what fails again is as it was, and pending."""
        scope = state["request"].scope
        wanted = turns_to_describe(state.get("retried", []))
        events = [event for event in state["events"] if not wanted.isdisjoint(event.turn_ids)]
        describer = EventDescriber(self.model, EventBuilder(scope.key, self.settings))
        found = describer.describe(self.store.index(scope), events)
        return {
            "events": [found.events.get(event.event_id, event) for event in state["events"]],
            "boundaries": [*state["boundaries"], *found.boundaries],
            "failures": pending_tasks_for(state["run_id"], "segment", found.unanswered),
            "usage": [found.usage],
        }
