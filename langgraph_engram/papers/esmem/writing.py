"""What ES-Mem alone does as it writes: events by questions, and words for their boundaries (sections 3.1 and 3.2)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langgraph_engram.embeddings.base import Encoder
from langgraph_engram.llm.base import LLMResult, Model, entry_of
from langgraph_engram.paper_settings import UNLIMITED, DimMemSettings, EsMemSettings
from langgraph_engram.papers.dimmem.writing import WindowSegmenter
from langgraph_engram.papers.esmem.topics import TopicTracker, TrackedTopics, TrackedTurn, ask_topics, failures_of
from langgraph_engram.pending import stored_turns
from langgraph_engram.prompts.describe_boundary import DescribeBoundary
from langgraph_engram.schema import Event, Turn, make_id
from langgraph_engram.segmentation.boundaries import Transition, transitions
from langgraph_engram.segmentation.events import EventBuilder, SummaryLimits, TurnTopic
from langgraph_engram.segmentation.segmenter import Segmentation, Segmenter, SessionTurns, Unanswered, topic_cuts
from langgraph_engram.segmentation.titles import name_by_keywords
from langgraph_engram.stores.index import ScopeIndex


@dataclass(frozen=True)
class AskingSegmenter(Segmenter):
    """Cut turns where a model says that the topic shifts, and let it describe how."""

    model: Model
    encoder: Encoder
    max_turns: int
    settings: EsMemSettings
    limits = SummaryLimits(UNLIMITED, UNLIMITED)

    def segment(self, scope_key: str, session: SessionTurns) -> Segmentation:
        """Return the events of a session with the topics of their turns, and a boundary before each new one."""
        turns = session.turns
        tracker = TopicTracker(self.model, self.encoder, self.settings)
        tracked = tracker.track(turns, session.stored, session.open_event) if turns else TrackedTopics()
        topic_of = {turn.turn_id: topic for turn, topic in zip(turns, tracked.topics, strict=True)}
        events = self._events(scope_key, session, tracked.topics)
        events = name_by_keywords(events, [*session.stored, *turns], topic_of, self.limits)
        described = self._boundaries(session, transitions(session.index, events, session.others), topic_of)
        return Segmentation(events, [], tracked.usage, tracked.unanswered) + described

    def describe_again(self, scope_key: str, index: ScopeIndex, events: Sequence[Event]) -> Segmentation:
        """Return stored events with new topics, and the boundaries before them with new texts.

        Their turns stay where they are, for records and neighbours rest on them. What fails again is as it was.
        """
        turns = {event.event_id: stored_turns(index, event.turn_ids) for event in events}
        tracked = {event_id: ask_topics(self.model, own) for event_id, own in turns.items()}
        builder = EventBuilder(scope_key, self.limits)
        renamed = [_renamed(builder, event, tracked[event.event_id]) for event in events]
        stored = [index.boundaries.get(make_id("boundary", event.event_id)) for event in renamed]
        known = [(boundary, event) for boundary, event in zip(stored, renamed, strict=True) if boundary]
        steps = [Transition(index.events.get(boundary.from_event_id or ""), event) for boundary, event in known]
        results = self.model.ask_all([self._question(step, index, {}) for step in steps])
        boundaries = [
            boundary.model_copy(update={"text": result.answer})
            for (boundary, _), result in zip(known, results, strict=True)
            if result.answer
        ]
        asked: list[LLMResult[Any]] = [*(each.result for own in tracked.values() for each in own), *results]
        failed: list[Unanswered] = [
            *((turns[event_id], reason) for event_id, own in tracked.items() for _, reason in failures_of(own)),
            *(
                (turns[event.event_id], result.failure.reason)
                for (_, event), result in zip(known, results, strict=True)
                if result.failure
            ),
        ]
        return Segmentation(renamed, boundaries, [entry_of("segment", asked)], failed)

    def _events(self, scope_key: str, session: SessionTurns, topics: Sequence[TurnTopic]) -> list[Event]:
        """Return events by topic; without them, windows as DimMem cuts them (Figure 3)."""
        if self.settings.windows:
            return WindowSegmenter(DimMemSettings()).events(scope_key, session, topics, self.limits)
        cuts = topic_cuts(session, topics, self.max_turns)
        return session.events(EventBuilder(scope_key, self.limits), topics, cuts)

    def _boundaries(
        self, session: SessionTurns, new: Sequence[Transition], topic_of: Mapping[str, TurnTopic]
    ) -> Segmentation:
        """Return the boundaries that a model describes; one whose question failed has a text of the events' names."""
        if not self.settings.boundaries:
            return Segmentation()
        turns = {turn.turn_id: turn for turn in session.turns}
        questions = [self._question(step, session.index, turns) for step in new]
        results = self.model.ask_all(questions)
        boundaries = [
            step.boundary(result.answer or step.text(question.first_turns), topic_of[step.later.turn_ids[0]].p_eb)
            for step, question, result in zip(new, questions, results, strict=True)
        ]
        failed: list[Unanswered] = [
            ([turns[turn_id] for turn_id in step.later.turn_ids if turn_id in turns], result.failure.reason)
            for step, result in zip(new, results, strict=True)
            if result.failure
        ]
        return Segmentation([], boundaries, [entry_of("segment", results)] if results else [], failed)

    def _question(self, step: Transition, index: ScopeIndex, turns: Mapping[str, Turn]) -> DescribeBoundary:
        side = self.settings.boundary_side
        return DescribeBoundary(
            kind=step.kind,
            earlier_summary=step.earlier.summary if step.earlier else "",
            later_summary=step.later.summary,
            last_turns=_turns(index, turns, step.earlier.turn_ids[-side:]) if step.earlier else (),
            first_turns=_turns(index, turns, step.later.turn_ids[:side]),
            gap=step.gap,
        )


def _renamed(builder: EventBuilder, event: Event, tracked: Sequence[TrackedTurn]) -> Event:
    """Return an event with the topics and keywords of its turns; as it is where nothing was answered."""
    topics = [each.topic for each in tracked if each.topic]
    if not topics:
        return event
    turns = [each.turn for each in tracked]
    return builder.extend(event.model_copy(update={"topics": [], "keywords": []}), turns, topics)


def _turns(index: ScopeIndex, turns: Mapping[str, Turn], ids: Sequence[str]) -> tuple[Turn, ...]:
    found = (turns.get(turn_id) or index.turns.get(turn_id) for turn_id in ids)
    return tuple(turn for turn in found if turn)
