"""Describe how one event gives way to the next: within a session, across a break, and at the opening (ES-Mem 3.2)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import islice

from langgraph_engram.llm.base import Model, entry_of
from langgraph_engram.prompts.describe_boundary import DescribeBoundary, plain_text
from langgraph_engram.results import UsageEntry
from langgraph_engram.schema import Boundary, BoundaryKind, Event, Turn, make_id
from langgraph_engram.segmentation.events import TurnTopic
from langgraph_engram.segmentation.topic_tracking import Unanswered
from langgraph_engram.settings import SegmentSettings
from langgraph_engram.stores.index import EVENTS, ScopeIndex

DAY = timedelta(days=1)


@dataclass(frozen=True)
class DescribedBoundaries:
    """The boundaries of a run, what they cost, and what was left unanswered."""

    boundaries: list[Boundary] = field(default_factory=list)
    usage: list[UsageEntry] = field(default_factory=list)
    unanswered: list[Unanswered] = field(default_factory=list)


@dataclass(frozen=True)
class BoundaryDescriber:
    """Describe the boundaries before new events."""

    model: Model
    settings: SegmentSettings

    def describe(
        self,
        index: ScopeIndex,
        events: Sequence[Event],
        turns: Mapping[str, Turn],
        topics: Mapping[str, TurnTopic],
        others: Sequence[Event] = (),
    ) -> DescribedBoundaries:
        """Describe the boundary before each event of a session that is not stored yet.

        Args:
            index: What is stored of the scope.
            events: The run's events of the session, in order.
            turns: The run's turns by id.
            topics: What they are about, by turn id.
            others: The run's events of other sessions.

        Returns:
            A boundary for each new event. One whose question failed has a text made of the events' names.
        """
        if self.settings.describe == "none":
            return DescribedBoundaries()
        before = [previous_event(index, events, others), *events]
        steps = [
            (earlier, later)
            for earlier, later in zip(before, events, strict=False)
            if later.event_id not in index.events
        ]
        questions = [self._question(index, earlier, later, turns) for earlier, later in steps]
        asked = self.model.ask_all(questions) if self.settings.describe == "question" else []
        texts = [result.answer for result in asked] or [topics[later.turn_ids[0]].transition for _, later in steps]
        boundaries = [
            _boundary(earlier, later, question.kind, text or _plain_text(question, earlier, later), topics)
            for (earlier, later), question, text in zip(steps, questions, texts, strict=True)
        ]
        unanswered: list[Unanswered] = [
            ([turns[turn_id] for turn_id in later.turn_ids if turn_id in turns], result.failure.reason)
            for (_, later), result in zip(steps, asked, strict=False)
            if result.failure
        ]
        return DescribedBoundaries(boundaries, [entry_of("segment", asked)] if asked else [], unanswered)

    def _question(
        self, index: ScopeIndex, earlier: Event | None, later: Event, turns: Mapping[str, Turn]
    ) -> DescribeBoundary:
        side = self.settings.boundary_side
        return DescribeBoundary(
            kind=_boundary_kind(earlier, later),
            earlier_summary=earlier.summary if earlier else "",
            later_summary=later.summary,
            last_turns=_turns(index, turns, earlier.turn_ids[-side:]) if earlier else (),
            first_turns=_turns(index, turns, later.turn_ids[:side]),
            gap=_format_gap(gap_seconds(earlier, later)),
        )


def relink_boundary(boundary: Boundary, earlier: Event | None, later: Event, first_turns: Sequence[Turn]) -> Boundary:
    """Return a boundary between other events than before, described by their names without asking a model.

    Args:
        boundary: The boundary to change.
        earlier: The event before it; None where the conversation opens.
        later: The event after it.
        first_turns: The turns that `later` begins with.
    """
    gap = gap_seconds(earlier, later)
    kind = _boundary_kind(earlier, later)
    question = DescribeBoundary(kind, "", "", (), tuple(first_turns), gap=_format_gap(gap))
    update = {
        "from_event_id": earlier.event_id if earlier else None,
        "kind": kind,
        "text": _plain_text(question, earlier, later),
        "p_eb": boundary.p_eb if kind == boundary.kind else None,
        "gap_seconds": gap,
        "at": later.started_at,
    }
    return boundary.model_copy(update=update)


def previous_event(index: ScopeIndex, events: Sequence[Event], others: Sequence[Event] = ()) -> Event | None:
    """Return the event that comes just before the first of a session's; None at the very beginning.

    Args:
        index: What is stored of the scope.
        events: Events of the session, in order.
        others: Events of other sessions that are not stored yet.
    """
    if not events:
        return None
    first = events[0]
    same = [event for event in index.session_events(first.session_id) if event.seq < first.seq]
    if same:
        return same[-1]
    latest_first = (index.events.items[position] for position in index.events.order()[::-1])
    earlier = (event for event in latest_first if event.session_id != first.session_id and _is_not_after(event, first))
    nearest = [*islice(earlier, 1), *(event for event in others if _is_not_after(event, first))]
    return max(nearest, key=EVENTS.sort_key, default=None)


def gap_seconds(earlier: Event | None, later: Event) -> float | None:
    """Return the seconds between two events; None where a time is not known."""
    if earlier is None or earlier.ended_at is None or later.started_at is None:
        return None
    return (later.started_at - earlier.ended_at).total_seconds()


def _boundary_kind(earlier: Event | None, later: Event) -> BoundaryKind:
    """Return the kind of the boundary between two events, by their sessions."""
    if earlier is None:
        return "opening"
    return "topic" if earlier.session_id == later.session_id else "session_break"


def _boundary(
    earlier: Event | None, later: Event, kind: BoundaryKind, text: str, topics: Mapping[str, TurnTopic]
) -> Boundary:
    return Boundary(
        boundary_id=make_id("boundary", later.event_id),
        session_id=later.session_id,
        from_event_id=earlier.event_id if earlier else None,
        to_event_id=later.event_id,
        kind=kind,
        text=text,
        p_eb=topics[later.turn_ids[0]].p_eb if kind == "topic" else None,
        gap_seconds=gap_seconds(earlier, later),
        at=later.started_at,
    )


def _turns(index: ScopeIndex, turns: Mapping[str, Turn], ids: Sequence[str]) -> tuple[Turn, ...]:
    found = (turns.get(turn_id) or index.turns.get(turn_id) for turn_id in ids)
    return tuple(turn for turn in found if turn)


def _plain_text(question: DescribeBoundary, earlier: Event | None, later: Event) -> str:
    """Describe a boundary by the names of its events: their summaries list more words than fit in a sentence."""
    before, after = ("; ".join(event.topics) if event else "" for event in (earlier, later))
    return plain_text(replace(question, earlier_summary=before, later_summary=after))


def _format_gap(seconds: float | None) -> str:
    if seconds is None or seconds < DAY.total_seconds():
        return ""
    days = round(seconds / DAY.total_seconds())
    return "1 day" if days == 1 else f"{days} days"


def _is_not_after(event: Event, first: Event) -> bool:
    return event.started_at is None or first.started_at is None or event.started_at <= first.started_at
