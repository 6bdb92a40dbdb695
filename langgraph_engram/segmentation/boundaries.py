"""Describe how one event gives way to the next: within a session, across a break, and at the opening (ES-Mem 3.2)."""

from collections.abc import Sequence
from datetime import timedelta
from itertools import islice, pairwise
from typing import NamedTuple

from langgraph_engram.prompts.describe_boundary import boundary_text
from langgraph_engram.schema import Boundary, BoundaryKind, Event, Turn, make_id
from langgraph_engram.stores.index import EVENTS, ScopeIndex

DAY = timedelta(days=1)


class Transition(NamedTuple):
    """An event and the one before it, where there is one."""

    earlier: Event | None
    later: Event

    @property
    def kind(self) -> BoundaryKind:
        """Return the kind of the boundary between the two, by their sessions."""
        if self.earlier is None:
            return "opening"
        return "topic" if self.earlier.session_id == self.later.session_id else "session_break"

    @property
    def gap_seconds(self) -> float | None:
        """Return the seconds between the two; None where a time is not known."""
        if self.earlier is None or self.earlier.ended_at is None or self.later.started_at is None:
            return None
        return (self.later.started_at - self.earlier.ended_at).total_seconds()

    @property
    def gap(self) -> str:
        """Return the days between the two in words; empty for less than one."""
        seconds = self.gap_seconds or 0.0
        if seconds < DAY.total_seconds():
            return ""
        days = round(seconds / DAY.total_seconds())
        return "1 day" if days == 1 else f"{days} days"

    def text(self, first_turns: Sequence[Turn]) -> str:
        """Describe the boundary by the names of the events: their summaries list more than fits in a sentence."""
        before, after = ("; ".join(event.topics) if event else "" for event in self)
        return boundary_text(self.kind, before, after, first_turns, self.gap)

    def boundary(self, text: str, p_eb: float | None) -> Boundary:
        """Return the boundary between the two; only one within a session has a probability."""
        return Boundary(
            boundary_id=make_id("boundary", self.later.event_id),
            session_id=self.later.session_id,
            from_event_id=self.earlier.event_id if self.earlier else None,
            to_event_id=self.later.event_id,
            kind=self.kind,
            text=text,
            p_eb=p_eb if self.kind == "topic" else None,
            gap_seconds=self.gap_seconds,
            at=self.later.started_at,
        )


def transitions(index: ScopeIndex, events: Sequence[Event], others: Sequence[Event] = ()) -> list[Transition]:
    """Return how each of a run's events of a session that is not stored yet begins; `others` are of other sessions."""
    found = pairwise([previous_event(index, events, others), *events])
    return [Transition(earlier, later) for earlier, later in found if later and later.event_id not in index.events]


def relink_boundary(boundary: Boundary, earlier: Event | None, later: Event, first_turns: Sequence[Turn]) -> Boundary:
    """Return a boundary between other events than before, described by their names and the later one's first turns."""
    moved = Transition(earlier, later)
    p_eb = boundary.p_eb if moved.kind == boundary.kind else None
    relinked = moved.boundary(moved.text(first_turns), p_eb)
    return relinked.model_copy(update={"boundary_id": boundary.boundary_id})


def previous_event(index: ScopeIndex, events: Sequence[Event], others: Sequence[Event] = ()) -> Event | None:
    """Return the event just before the first of a session's, stored or among `others`; None at the very beginning."""
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


def _is_not_after(event: Event, first: Event) -> bool:
    return event.started_at is None or first.started_at is None or event.started_at <= first.started_at
