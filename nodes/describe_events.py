"""Word stored events again whose topics or boundary a model could not give when they were cut: only a retry does.

Their turns stay where they are, for records and neighbours rest on them. What is filled in is what is searched:
topics, keywords, the summary, and the text of the boundary before the event.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langgraph_engram.llm.base import LLMResult, Model, entry_of
from langgraph_engram.pending import pending_task, stored_turns, turns_to_describe
from langgraph_engram.prompts.describe_boundary import DescribeBoundary
from langgraph_engram.prompts.track_topics import TopicNote, TopicTrack, TrackTopics
from langgraph_engram.schema import Boundary, Event, Turn, make_id
from langgraph_engram.segmentation.events import EventBuilder, TurnTopic
from langgraph_engram.settings import SegmentSettings
from langgraph_engram.state import WriteState
from langgraph_engram.stores.base import Store
from langgraph_engram.stores.index import ScopeIndex


@dataclass(frozen=True)
class DescribeEvents:
    """Describe events again. Reads `retried`, `events`; changes `events`, `boundaries`, adds to `failures`."""

    store: Store
    model: Model
    settings: SegmentSettings

    def __call__(self, state: WriteState) -> WriteState:
        """Return the run's events and boundaries, worded again; what fails again is as it was, and pending."""
        index = self.store.index(state["request"].scope)
        wanted = turns_to_describe(state)
        events = [event for event in state["events"] if not wanted.isdisjoint(event.turn_ids)]
        turns = {event.event_id: stored_turns(index, event.turn_ids) for event in events}
        tracked = [self._track(turns[event.event_id]) for event in events]
        builder = EventBuilder(state["request"].scope.key, self.settings)
        told = {
            event.event_id: worded(builder, event, turns[event.event_id], asked)
            for event, asked in zip(events, tracked, strict=True)
        }
        boundaries, described = self._boundaries(index, told, turns, tracked)
        every: list[tuple[str, LLMResult[Any]]] = [
            *((event.event_id, one) for event, asked in zip(events, tracked, strict=True) for one in asked),
            *described.items(),
        ]
        failures = [
            pending_task(state["run_id"], turns[event_id], "segment", one.failure.reason)
            for event_id, one in every
            if one.failure and turns[event_id]
        ]
        return {
            "events": [told.get(event.event_id, event) for event in state["events"]],
            "boundaries": [*state["boundaries"], *boundaries],
            "failures": list({failure.pending_id: failure for failure in failures}.values()),
            "usage": [entry_of("describe_events", [one for _, one in every])],
        }

    def _track(self, turns: Sequence[Turn]) -> list[LLMResult[TopicTrack]]:
        if self.settings.strategy != "event" or self.settings.judge not in ("labels", "question"):
            return []
        size = self.settings.topic_chunk
        chunks = [tuple(turns[start : start + size]) for start in range(0, len(turns), size)]
        return self.model.ask_all([TrackTopics(chunk) for chunk in chunks])

    def _boundaries(
        self,
        index: ScopeIndex,
        events: Mapping[str, Event],
        turns: Mapping[str, Sequence[Turn]],
        tracked: Sequence[Sequence[LLMResult[TopicTrack]]],
    ) -> tuple[list[Boundary], dict[str, LLMResult[str]]]:
        """Give the stored boundaries before these events with new words, and what was asked for them, by event."""
        stored = {one: index.boundaries.get(make_id("boundary", one)) for one in events}
        known = {one: boundary for one, boundary in stored.items() if boundary}
        if self.settings.describe == "question":
            asked = self.model.ask_all([self._question(index, one, events, turns) for one in known.values()])
            texts = {one: answer.answer for one, answer in zip(known, asked, strict=True)}
            described = dict(zip(known, asked, strict=True))
        else:
            opening = dict(zip(events, (notes_of(one)[:1] for one in tracked), strict=True))
            texts = {one: opening[one][0].transition for one in known if opening[one]}
            described = {}
        worded = [known[one].model_copy(update={"text": text}) for one, text in texts.items() if text]
        return worded, described

    def _question(
        self, index: ScopeIndex, boundary: Boundary, events: Mapping[str, Event], turns: Mapping[str, Sequence[Turn]]
    ) -> DescribeBoundary:
        side = self.settings.boundary_side
        earlier = index.events.get(boundary.from_event_id or "")
        later = events[boundary.to_event_id]
        return DescribeBoundary(
            kind=boundary.kind,
            earlier_summary=earlier.summary if earlier else "",
            later_summary=later.summary,
            last_turns=tuple(stored_turns(index, earlier.turn_ids[-side:])) if earlier else (),
            first_turns=tuple(turns[later.event_id][:side]),
        )


def worded(builder: EventBuilder, event: Event, turns: Sequence[Turn], asked: Sequence[LLMResult[TopicTrack]]) -> Event:
    """Give an event with the topics and keywords of its turns; as it is where nothing was answered."""
    lines = [TurnTopic(topic=note.topic, keywords=tuple(note.keywords)) for note in notes_of(asked)]
    if not lines:
        return event
    bare = event.model_copy(update={"topics": [], "keywords": []})
    return builder.extend(bare, turns, lines)


def notes_of(asked: Sequence[LLMResult[TopicTrack]]) -> list[TopicNote]:
    """Give the notes of all answers, in order."""
    return [note for one in asked if one.answer for note in one.answer.notes]
