"""Describe stored events again whose topics or boundary a model could not give when they were cut.

Their turns stay where they are, for records and neighbours rest on them. What is filled in is what is searched:
topics, keywords, the summary, and the text of the boundary before the event.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from langgraph_engram.llm.base import LLMResult, Model, entry_of
from langgraph_engram.pending import stored_turns
from langgraph_engram.prompts.describe_boundary import DescribeBoundary
from langgraph_engram.prompts.track_topics import TopicNote, TopicTrack
from langgraph_engram.results import UsageEntry
from langgraph_engram.schema import Boundary, Event, Turn, make_id
from langgraph_engram.segmentation.events import EventBuilder, TurnTopic
from langgraph_engram.segmentation.topic_tracking import Unanswered, ask_topics
from langgraph_engram.settings import SegmentSettings
from langgraph_engram.stores.index import ScopeIndex

_Tracks: TypeAlias = Sequence[LLMResult[TopicTrack]]
"""The answers about the turns of one event, a chunk each."""


@dataclass(frozen=True)
class Redescription:
    """Events and boundaries described again; what failed again is as it was."""

    events: dict[str, Event]
    """By id."""
    boundaries: list[Boundary]
    usage: UsageEntry
    unanswered: list[Unanswered]


@dataclass(frozen=True)
class EventDescriber:
    """Describe stored events."""

    model: Model
    builder: EventBuilder

    @property
    def settings(self) -> SegmentSettings:
        """Return how events are cut."""
        return self.builder.settings

    def describe(self, index: ScopeIndex, events: Sequence[Event]) -> Redescription:
        """Return these events with new topics, and the boundaries before them with new texts."""
        turns = {event.event_id: stored_turns(index, event.turn_ids) for event in events}
        tracks = {event.event_id: self._track(turns[event.event_id]) for event in events}
        described = {
            event.event_id: self._renamed(event, turns[event.event_id], tracks[event.event_id]) for event in events
        }
        boundaries, asked = self._boundaries(index, described, turns, tracks)
        results: list[tuple[str, LLMResult[Any]]] = [
            *((event_id, track) for event_id, chunks in tracks.items() for track in chunks),
            *asked.items(),
        ]
        return Redescription(
            described,
            boundaries,
            entry_of("describe_events", [result for _, result in results]),
            [(turns[event_id], result.failure.reason) for event_id, result in results if result.failure],
        )

    def _track(self, turns: Sequence[Turn]) -> _Tracks:
        if not self.settings.tracks_topics:
            return []
        return [result for _, result in ask_topics(self.model, turns, self.settings.topic_chunk)]

    def _renamed(self, event: Event, turns: Sequence[Turn], tracks: _Tracks) -> Event:
        """Return an event with the topics and keywords of its turns; as it is where nothing was answered."""
        topics = [TurnTopic(topic=note.topic, keywords=tuple(note.keywords)) for note in _notes(tracks)]
        if not topics:
            return event
        return self.builder.extend(event.model_copy(update={"topics": [], "keywords": []}), turns, topics)

    def _boundaries(
        self,
        index: ScopeIndex,
        events: Mapping[str, Event],
        turns: Mapping[str, Sequence[Turn]],
        tracks: Mapping[str, _Tracks],
    ) -> tuple[list[Boundary], dict[str, LLMResult[str]]]:
        """Return the stored boundaries before these events with new texts, and what was asked for them, by event."""
        stored = {event_id: index.boundaries.get(make_id("boundary", event_id)) for event_id in events}
        known = {event_id: boundary for event_id, boundary in stored.items() if boundary}
        asked: dict[str, LLMResult[str]] = {}
        if self.settings.describe == "question":
            results = self.model.ask_all([self._question(index, found, events, turns) for found in known.values()])
            asked = dict(zip(known, results, strict=True))
            texts = {event_id: result.answer for event_id, result in asked.items()}
        else:
            notes = {event_id: _notes(tracks[event_id]) for event_id in known}
            texts = {event_id: found[0].transition for event_id, found in notes.items() if found}
        described = [known[event_id].model_copy(update={"text": text}) for event_id, text in texts.items() if text]
        return described, asked

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


def _notes(tracks: _Tracks) -> list[TopicNote]:
    return [note for track in tracks if track.answer for note in track.answer.notes]
