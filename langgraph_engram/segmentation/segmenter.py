"""Cut a run's turns into events, by the strategy of the settings, and describe how each begins.

Every strategy yields events with core turns and read-only context turns; sessions are never crossed. An event that is
open at the end of a call goes on in the next call of its session, under the same id.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from langgraph_engram.embeddings.base import Encoder
from langgraph_engram.llm.base import Model
from langgraph_engram.results import UsageEntry, count_tokens
from langgraph_engram.schema import Boundary, Event, Turn
from langgraph_engram.segmentation.boundaries import BoundaryDescriber
from langgraph_engram.segmentation.boundary_model import BoundaryDetector
from langgraph_engram.segmentation.events import (
    EventBuilder,
    TurnTopic,
    buffers,
    exchange_starts,
    last_topic,
    limited_starts,
    open_event_of,
    provisional_topics,
    windows,
)
from langgraph_engram.segmentation.titles import name_by_keywords
from langgraph_engram.segmentation.topic_tracking import TopicTracker, TrackedTopics, Unanswered
from langgraph_engram.settings import SegmentSettings
from langgraph_engram.stores.index import ScopeIndex


@dataclass(frozen=True)
class Segmentation:
    """The events of a run's turns, and the boundaries before the new ones."""

    events: list[Event] = field(default_factory=list)
    boundaries: list[Boundary] = field(default_factory=list)
    usage: list[UsageEntry] = field(default_factory=list)
    unanswered: list[Unanswered] = field(default_factory=list)

    def __add__(self, other: "Segmentation") -> "Segmentation":
        """Return what was found in two sessions."""
        return Segmentation(
            [*self.events, *other.events],
            [*self.boundaries, *other.boundaries],
            [*self.usage, *other.usage],
            [*self.unanswered, *other.unanswered],
        )


@dataclass(frozen=True)
class Segmenter:
    """Cut turns into events."""

    model: Model
    encoder: Encoder
    settings: SegmentSettings

    def segment(
        self,
        index: ScopeIndex,
        builder: EventBuilder,
        session_id: str,
        turns: Sequence[Turn],
        others: Sequence[Event] = (),
        *,
        close: bool,
    ) -> Segmentation:
        """Return the events of a session that a run opens, extends or closes.

        Args:
            index: What is stored of the scope.
            builder: What builds its events.
            session_id: The session of the turns.
            turns: Turns that no event holds yet, in order; may be none where a session is only closed.
            others: The run's events of other sessions, which are not stored yet.
            close: Whether the session ends with them.
        """
        stored = _earlier_turns(index, session_id, turns)
        open_event = open_event_of(index, session_id)
        tracked = self._track(turns, stored, open_event)
        seq = len(index.session_events(session_id))
        events = self._events(builder, turns, tracked.topics, stored, open_event, seq)
        if close and events:
            events[-1] = events[-1].model_copy(update={"status": "closed"})
        topic_of = {turn.turn_id: topic for turn, topic in zip(turns, tracked.topics, strict=True)}
        if any(not topic.noted for topic in tracked.topics):
            events = name_by_keywords(events, [*stored, *turns], topic_of, self.settings)
        describer = BoundaryDescriber(self.model, self.settings)
        described = describer.describe(index, events, {turn.turn_id: turn for turn in turns}, topic_of, others)
        return Segmentation(
            events,
            described.boundaries,
            [*tracked.usage, *described.usage],
            [*tracked.unanswered, *described.unanswered],
        )

    def _track(self, turns: Sequence[Turn], stored: Sequence[Turn], open_event: Event | None) -> TrackedTopics:
        if not turns or (self.settings.strategy != "event" and self.settings.describe == "none"):
            return TrackedTopics([TurnTopic() for _ in turns])
        if self.settings.tracks_topics:
            return TopicTracker(self.model, self.encoder, self.settings).track(turns, stored, open_event)
        if self.settings.strategy != "event":
            return TrackedTopics(provisional_topics(turns, last_topic(open_event)))
        return TrackedTopics(BoundaryDetector(self.encoder, self.settings).track(turns, stored, open_event))

    def _events(
        self,
        builder: EventBuilder,
        turns: Sequence[Turn],
        topics: Sequence[TurnTopic],
        stored: Sequence[Turn],
        open_event: Event | None,
        seq: int,
    ) -> list[Event]:
        cuts = self._cuts(turns, topics, stored, open_event)
        edges = [*([0] if turns else []), *(cut for cut in cuts if cut), len(turns)]
        events = [open_event] if open_event else []
        for start, end in pairwise(edges):
            core, about = turns[start:end], topics[start:end]
            if open_event and start == 0 and 0 not in cuts:
                events[-1] = builder.extend(open_event, core, about)
                continue
            events.append(builder.begin(core, about, seq, self._context(stored, turns, start)))
            seq += 1
        return [event.model_copy(update={"status": "closed"}) for event in events[:-1]] + events[-1:]

    def _cuts(
        self, turns: Sequence[Turn], topics: Sequence[TurnTopic], stored: Sequence[Turn], open_event: Event | None
    ) -> list[int]:
        """Return the positions before which an event begins, as if the whole session had come in one call."""
        held = [turn for turn in stored if open_event and turn.turn_id in open_event.turn_ids]
        match self.settings.strategy:
            case "session":
                return []
            case "window":
                exchanges = exchange_starts([*stored, *turns])
                spans = windows(len(exchanges), self.settings.window, self.settings.overlap)
                ends = [exchanges[end] for _, end in spans[:-1]]
                return [end - len(stored) for end in ends if end >= len(stored)]
            case "buffer":
                sizes = [count_tokens(turn.text) for turn in (*held, *turns)]
                starts = [start - len(held) for start, _ in buffers(sizes, self.settings.buffer_tokens)]
                return [start for start in starts[1:] if start >= 0]
        full = [0] if len(held) >= self.settings.max_turns else []
        shifts = [position for position, topic in enumerate(topics) if topic.cut]
        starts = limited_starts([*full, *shifts], len(turns), len(held), self.settings.max_turns)
        return [start for start in starts if start or full or 0 in shifts]

    def _context(self, stored: Sequence[Turn], turns: Sequence[Turn], start: int) -> list[Turn]:
        earlier, size = [*stored, *turns[:start]], self.settings.preceding_turns
        if self.settings.strategy == "window":
            starts = exchange_starts(earlier)[-size:] if size else []
            return earlier[starts[0] :] if starts else []
        return earlier[-size:] if size else []


def _earlier_turns(index: ScopeIndex, session_id: str, turns: Sequence[Turn]) -> list[Turn]:
    """Return the stored turns of a session that come before a run's."""
    stored = index.session_turns(session_id)
    return [turn for turn in stored if turn.seq < turns[0].seq] if turns else stored
