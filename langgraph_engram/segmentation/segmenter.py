"""Cut a run's turns into events where their subject changes, and describe how each begins.

Events have core turns and read-only context turns; sessions are never crossed. An event that is open at the end of a
call goes on in the next call of its session, under the same id.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from langgraph_engram.embeddings.base import Encoder
from langgraph_engram.results import UsageEntry
from langgraph_engram.schema import Boundary, Event, Turn
from langgraph_engram.segmentation.boundary_model import BoundaryDetector
from langgraph_engram.segmentation.events import EventBuilder, SummaryLimits, TurnTopic, name_by_keywords, transitions
from langgraph_engram.stores.index import ScopeIndex


@dataclass(frozen=True)
class Segmentation:
    """The events of a run's turns, the boundaries before the new ones, and what these cost."""

    events: list[Event] = field(default_factory=list)
    boundaries: list[Boundary] = field(default_factory=list)
    usage: list[UsageEntry] = field(default_factory=list)

    def __add__(self, other: "Segmentation") -> "Segmentation":
        return Segmentation(self.events + other.events, self.boundaries + other.boundaries, self.usage + other.usage)


@dataclass(frozen=True)
class SessionTurns:
    """A run's turns of one session, beside what is stored of it."""

    index: ScopeIndex
    session_id: str
    turns: Sequence[Turn]
    """Turns that no event holds yet, in order; may be none where a session is only closed."""
    others: Sequence[Event] = ()
    """The run's events of other sessions, which are not stored yet."""
    closes: bool = False
    """Whether the session ends with these turns."""

    @cached_property
    def stored(self) -> list[Turn]:
        """Return the stored turns that come before them."""
        stored = self.index.session_turns(self.session_id)
        return [turn for turn in stored if turn.seq < self.turns[0].seq] if self.turns else stored

    @cached_property
    def open_event(self) -> Event | None:
        """Return the event of the session that is still open; None if all are closed."""
        events = self.index.session_events(self.session_id)
        return events[-1] if events and events[-1].status == "open" else None

    @property
    def open_turns(self) -> list[Turn]:
        """Return the stored turns of the open event."""
        return [turn for turn in self.stored if self.open_event and turn.turn_id in self.open_event.turn_ids]

    def events(
        self,
        builder: EventBuilder,
        topics: Sequence[TurnTopic],
        cuts: Sequence[int],
        context: Callable[[Sequence[Turn]], Sequence[Turn]] | None = None,
    ) -> list[Event]:
        """Return the events that the turns open or extend; all but the last are closed.

        One begins before each position of `cuts`, in order; without 0, an open event goes on. `context` returns what is
        read before an event, of all turns that come before it.
        """
        edges = [*([0] if self.turns else []), *(cut for cut in cuts if cut), len(self.turns)]
        events = [self.open_event] if self.open_event else []
        seq = len(self.index.session_events(self.session_id))
        for start, end in pairwise(edges):
            core, about = self.turns[start:end], topics[start:end]
            if self.open_event and start == 0 and 0 not in cuts:
                events[-1] = builder.extend(self.open_event, core, about)
                continue
            read = context([*self.stored, *self.turns[:start]]) if context else ()
            events.append(builder.begin(core, about, seq, read))
            seq += 1
        last = len(events) - (0 if self.closes else 1)
        return [event.model_copy(update={"status": "closed"}) for event in events[:last]] + events[last:]

    def cuts(self, topics: Sequence[TurnTopic], most: int) -> list[int]:
        """Return the positions where an event begins: at each cut, and where one would hold more than `most` turns."""
        size = len(self.open_turns)
        cuts: list[int] = []
        for position, topic in enumerate(topics):
            if topic.cut or size >= most:
                cuts.append(position)
                size = 0
            size += 1
        return cuts


class Segmenter(ABC):
    """Cut turns into events."""

    context_turns: int = 0
    """Turns before an event that are read with it, but are never a source."""
    limits = SummaryLimits()

    @abstractmethod
    def segment(self, scope_key: str, session: SessionTurns) -> Segmentation:
        """Return the events of a session that a run opens, extends or closes, and the boundaries before new ones."""


@dataclass(frozen=True)
class LearnedSegmenter(Segmenter):
    """Cut turns where a small statistical model finds a boundary; no language model is asked."""

    encoder: Encoder
    max_turns: int
    """Turns from which an event is closed whatever its topic."""
    has_boundaries: bool = True
    context_turns = 2

    def segment(self, scope_key: str, session: SessionTurns) -> Segmentation:
        """Return the events of a session, named by their keywords, and the boundaries before the new ones."""
        turns = session.turns
        topics = BoundaryDetector(self.encoder).track(turns, session.stored) if turns else []
        cuts = session.cuts(topics, self.max_turns)
        events = session.events(EventBuilder(scope_key), topics, cuts, lambda earlier: earlier[-self.context_turns :])
        topic_of = {turn.turn_id: topic for turn, topic in zip(turns, topics, strict=True)}
        events = name_by_keywords(events, [*session.stored, *turns], topic_of)
        said = {turn.turn_id: turn for turn in turns}
        new = transitions(session.index, events, session.others) if self.has_boundaries else []
        begun = [(step, step.later.turn_ids[0]) for step in new]
        boundaries = [step.boundary(step.text([said[first]]), topic_of[first].p_eb) for step, first in begun]
        return Segmentation(events, boundaries)
