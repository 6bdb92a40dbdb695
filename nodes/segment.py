"""Cut a run's turns into events, and say how each begins (DESIGN, step 2).

Every strategy yields events with core turns and read-only context turns; sessions are never crossed. An event that
is open at the end of a call goes on in the next call of its session, under the same id.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from langgraph_engram.llm.base import Model
from langgraph_engram.pending import pending_task
from langgraph_engram.results import count_tokens
from langgraph_engram.schema import Event, PendingTask, Turn
from langgraph_engram.segmentation.boundaries import Boundaries
from langgraph_engram.segmentation.boundary_model import LearnedCuts
from langgraph_engram.segmentation.event_cuts import EventCutResult, EventCuts, Unanswered
from langgraph_engram.segmentation.events import (
    EventBuilder,
    TurnTopic,
    buffers,
    earlier_turns,
    events_of,
    last_topic,
    limited_starts,
    open_event,
    provisional_topics,
    windows,
)
from langgraph_engram.segmentation.titles import named_by_words
from langgraph_engram.settings import SegmentSettings
from langgraph_engram.state import WriteState
from langgraph_engram.stores.base import Store


@dataclass(frozen=True)
class Segment:
    """Cut turns into events. Reads `request`, `session_id`, `turns`; sets `events`, `boundaries`, `failures`."""

    store: Store
    model: Model
    settings: SegmentSettings

    def __call__(self, state: WriteState) -> WriteState:
        """Return the events that this run opens, continues or closes, and the boundaries before the new ones."""
        request = state["request"]
        index = self.store.index(request.scope)
        done = events_of(index, state["session_id"], request.retry_turn_ids)
        held = {turn_id for event in done for turn_id in event.turn_ids}
        turns = [turn for turn in state["turns"] if turn.turn_id not in held]
        if done and not turns:
            return {"events": done, "boundaries": []}
        stored = earlier_turns(index, state["session_id"], turns)
        going = open_event(index, state["session_id"])
        followed = self._follow(turns, stored, going)
        lines = followed.lines
        seq = len(index.session_events(state["session_id"]))
        builder = EventBuilder(request.scope.key, self.settings)
        events = self._events(builder, turns, lines, stored, going, seq)
        if request.close_session and events:
            events[-1] = events[-1].model_copy(update={"status": "closed"})
        by_id = {turn.turn_id: turn for turn in turns}
        line_of = {turn.turn_id: line for turn, line in zip(turns, lines, strict=True)}
        if any(not line.noted for line in lines):
            events = named_by_words(events, [*stored, *turns], line_of, self.settings)
        told = Boundaries(self.model, self.settings).describe(index, events, by_id, line_of)
        known = [event for event in done if event.event_id not in {one.event_id for one in events}]
        return {
            "events": [*known, *events],
            "boundaries": told.boundaries,
            "failures": failures_of(state["run_id"], [*followed.unanswered, *told.unanswered]),
            "usage": [*followed.usage, *told.usage],
        }

    def _follow(self, turns: Sequence[Turn], stored: Sequence[Turn], going: Event | None) -> EventCutResult:
        if not turns or (self.settings.strategy != "event" and self.settings.describe == "none"):
            return EventCutResult([TurnTopic() for _ in turns])
        if self.settings.strategy != "event":
            return EventCutResult(provisional_topics(turns, last_topic(going)))
        if self.settings.judge == "learned":
            return EventCutResult(LearnedCuts(self.store.encoder, self.settings).follow(turns, stored, going))
        return EventCuts(self.model, self.store.encoder, self.settings).follow(turns, stored, going)

    def _events(
        self,
        builder: EventBuilder,
        turns: Sequence[Turn],
        lines: Sequence[TurnTopic],
        stored: Sequence[Turn],
        going: Event | None,
        seq: int,
    ) -> list[Event]:
        cuts = self._cuts(turns, lines, stored, going)
        edges = [*([0] if turns else []), *(cut for cut in cuts if cut), len(turns)]
        events = [going] if going else []
        for start, end in pairwise(edges):
            core, about = turns[start:end], lines[start:end]
            if going and start == 0 and 0 not in cuts:
                events[-1] = builder.extend(going, core, about)
                continue
            events.append(builder.begin(core, about, seq, self._context(stored, turns, start)))
            seq += 1
        return [event.model_copy(update={"status": "closed"}) for event in events[:-1]] + events[-1:]

    def _cuts(
        self, turns: Sequence[Turn], lines: Sequence[TurnTopic], stored: Sequence[Turn], going: Event | None
    ) -> list[int]:
        """Give the turns before which an event begins, as if the whole session had come in one call."""
        held = [turn for turn in stored if going and turn.turn_id in going.turn_ids]
        match self.settings.strategy:
            case "session":
                return []
            case "window":
                spans = windows(len(stored) + len(turns), self.settings.window, self.settings.overlap)
                return [end - len(stored) for _, end in spans[:-1] if end >= len(stored)]
            case "buffer":
                sizes = [count_tokens(turn.text) for turn in (*held, *turns)]
                starts = [start - len(held) for start, _ in buffers(sizes, self.settings.buffer_tokens)]
                return [start for start in starts[1:] if start >= 0]
        full = [0] if len(held) >= self.settings.max_turns else []
        shifts = [place for place, line in enumerate(lines) if line.cut]
        starts = limited_starts([*full, *shifts], len(turns), len(held), self.settings.max_turns)
        return [start for start in starts if start or full or 0 in shifts]

    def _context(self, stored: Sequence[Turn], turns: Sequence[Turn], start: int) -> list[Turn]:
        size = self.settings.overlap if self.settings.strategy == "window" else self.settings.context_turns
        return [*stored, *turns[:start]][-size:] if size else []


def failures_of(run_id: str, unanswered: Sequence[Unanswered]) -> list[PendingTask]:
    """Note the turns about which a question failed, each once: the step is to be done again for them."""
    failures = [pending_task(run_id, turns, "segment", reason) for turns, reason in unanswered if turns]
    return list({failure.pending_id: failure for failure in failures}.values())
