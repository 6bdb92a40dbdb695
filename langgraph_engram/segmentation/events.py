"""Build events of spans of turns: new ones, and the one that goes on from an earlier call; name them, and join them.

An event is named by its own keywords, until something is noted of it that takes their place. A boundary says
how one gives way to the next (ES-Mem section 3.2).

Before a run's events are written they are rebased on what was stored meanwhile, since another run of the session may
have written. Each turn ends in one event, an event that both runs extended keeps both runs' turns, events stand in the
order of their first turns, and only the last of a session may be open. What was closed stays closed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice, pairwise
from typing import NamedTuple

from langgraph_engram.pending import stored_turns
from langgraph_engram.prompts.describe_boundary import boundary_text
from langgraph_engram.schema import Boundary, BoundaryKind, Event, EventKind, Record, Turn, is_unnamed_session, make_id
from langgraph_engram.stores.index import EVENTS, ScopeIndex
from langgraph_engram.text.keywords import NO_TOPIC, TITLE_KEYWORDS, document_frequencies, keywords_of, topic_words


@dataclass(frozen=True)
class TurnTopic:
    """What is known of one turn's topic."""

    topic: str = ""
    """What a model noted; empty where none was asked."""
    keywords: tuple[str, ...] = ()
    p_eb: float | None = None
    """The probability of a boundary before this turn, where it was judged."""
    cut: bool = False
    """Whether an event begins at this turn."""


def turn_keywords(turn: Turn) -> tuple[str, ...]:
    """Return the keywords of what was said in a turn, and of the images it shares; none where nobody spoke it."""
    return tuple(keywords_of(turn.said)) if turn.is_spoken else ()


@dataclass(frozen=True)
class SummaryLimits:
    """How many topics and keywords the summary of an event has at most."""

    topics: int = 4
    """The first and the last ones."""
    keywords: int = 12
    """The first ones."""


LIMITS = SummaryLimits()


@dataclass(frozen=True)
class EventBuilder:
    """Build the events of a scope."""

    scope_key: str
    limits: SummaryLimits = LIMITS
    kind: EventKind = "event"

    def begin(self, turns: Sequence[Turn], topics: Sequence[TurnTopic], seq: int, context: Sequence[Turn]) -> Event:
        """Open the event at position `seq` of its session with one core turn or more, and turns shown beside them."""
        opened = Event(
            event_id=make_id(self.scope_key, self.kind, turns[0].turn_id),
            session_id=turns[0].session_id,
            seq=seq,
            kind=self.kind,
            turn_ids=[],
            context_turn_ids=[turn.turn_id for turn in context],
            started_at=turns[0].said_at,
        )
        return self.extend(opened, turns, topics)

    def extend(self, event: Event, turns: Sequence[Turn], topics: Sequence[TurnTopic]) -> Event:
        """Let an open event go on with these turns; turns that it holds already are not added twice."""
        new = [turn.turn_id for turn in turns if turn.turn_id not in event.turn_ids]
        update = {"turn_ids": [*event.turn_ids, *new], "ended_at": turns[-1].said_at}
        noted = [*event.topics, *(topic.topic for topic in topics)]
        keywords = [*event.keywords, *(word for topic in topics for word in topic.keywords)]
        return event.model_copy(update={**update, **summarize_event(noted, keywords, self.limits)})


def summarize_event(
    topics: Sequence[str], keywords: Sequence[str], limits: SummaryLimits = LIMITS
) -> dict[str, list[str] | str]:
    """Return the topics, keywords and summary of an event, each in order and once, without a call (ES-Mem 3.2)."""
    distinct = _distinct([topic for topic in topics if topic])
    kept = [*distinct[:1], *distinct[1:][-(limits.topics - 1) :]]
    return {"topics": kept, "keywords": _distinct(keywords)[: limits.keywords], "summary": "; ".join(kept)}


def buffers(sizes: Sequence[int], limit: int) -> list[tuple[int, int]]:
    """Cut turns of these tokens into buffers (start, end) of at most `limit`, or one turn (StructMem section 2.1)."""
    spans: list[tuple[int, int]] = []
    start, tokens = 0, 0
    for position, size in enumerate(sizes):
        if position > start and tokens + size > limit:
            spans.append((start, position))
            start, tokens = position, 0
        tokens += size
    return [*spans, (start, len(sizes))] if sizes else []


def is_named_by_keywords(event: Event) -> bool:
    """Return whether all that names an event is its own keywords."""
    return not event.topics or event.topics in ([NO_TOPIC], [", ".join(event.keywords)[: len(event.topics[0])]])


def name_by_keywords(
    events: Sequence[Event],
    turns: Sequence[Turn],
    topics: Mapping[str, TurnTopic] | None = None,
    limits: SummaryLimits = LIMITS,
) -> list[Event]:
    """Name events of one session by what was said in them, compared with what was said in all of its `turns`.

    Where `topics` tells of a run's turns, by turn id, only events of these that no model noted are named.
    """
    texts = {turn.turn_id: turn.said for turn in turns if turn.is_spoken}
    frequencies, speakers = document_frequencies(texts.values()), {turn.speaker for turn in turns}

    def named(event: Event) -> Event:
        own = [texts[turn_id] for turn_id in event.turn_ids if turn_id in texts]
        keywords = topic_words(own, frequencies, speakers, limits.keywords)
        name = ", ".join(keywords[:TITLE_KEYWORDS]) or NO_TOPIC
        return event.model_copy(update=summarize_event([name], keywords, limits))

    return [named(event) if topics is None or _lacks_note(event, topics) else event for event in events]


def _lacks_note(event: Event, topics: Mapping[str, TurnTopic]) -> bool:
    new = [topics[turn_id] for turn_id in event.turn_ids if turn_id in topics]
    return bool(new) and not any(topic.topic for topic in new) and is_named_by_keywords(event)


def _distinct(texts: Sequence[str]) -> list[str]:
    """Return texts without repeats, whatever their case; the first form stays."""
    first: dict[str, str] = {}
    for text in texts:
        first.setdefault(text.casefold(), text)
    return list(first.values())


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
        days = timedelta(seconds=self.gap_seconds or 0.0) / timedelta(days=1)
        return "" if days < 1 else "1 day" if round(days) == 1 else f"{round(days)} days"

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


def relink_boundary(index: ScopeIndex, boundary: Boundary, earlier: Event | None, later: Event) -> Boundary:
    """Return a boundary between other events than before, described by their names and the later one's first turn."""
    moved = Transition(earlier, later)
    p_eb = boundary.p_eb if moved.kind == boundary.kind else None
    text = moved.text(stored_turns(index, later.turn_ids)[:1])
    return moved.boundary(text, p_eb).model_copy(update={"boundary_id": boundary.boundary_id})


def previous_event(index: ScopeIndex, events: Sequence[Event], others: Sequence[Event] = ()) -> Event | None:
    """Return the event just before the first of a session's, stored or among `others`; None at the very beginning."""
    if not events:
        return None
    first = events[0]
    if same := [event for event in index.session_events(first.session_id) if event.seq < first.seq]:
        return same[-1]
    latest_first = (index.events.items[position] for position in index.events.order()[::-1])
    earlier = (event for event in latest_first if event.session_id != first.session_id and _is_not_after(event, first))
    nearest = [*islice(earlier, 1), *(event for event in others if _is_not_after(event, first))]
    return max(nearest, key=EVENTS.sort_key, default=None)


def _is_not_after(event: Event, first: Event) -> bool:
    return event.started_at is None or first.started_at is None or event.started_at <= first.started_at


def rebase(
    builder: EventBuilder,
    index: ScopeIndex,
    session_ids: Sequence[str],
    events: Sequence[Event],
    boundaries: Sequence[Boundary],
    records: Sequence[Record],
    *,
    close_earlier: bool,
) -> tuple[list[Event], list[Boundary], list[Record]]:
    """Return a run's events, boundaries and records as they are to be written, so that they agree with what stands."""
    kept: dict[str, Event] = {}
    closed: dict[str, Event] = {}
    linked: list[Boundary] = []
    for session_id in session_ids:
        own = rebase_events(builder, index, session_id, [event for event in events if event.session_id == session_id])
        kept |= {event.event_id: event for event in own}
        if close_earlier:
            closed |= {event.event_id: event for event in closed_sessions(index, own)}
        before = [boundary for boundary in boundaries if boundary.session_id == session_id]
        linked += rebase_boundaries(before, index, session_id, own)
    every = [*kept.values(), *(event for event_id, event in closed.items() if event_id not in kept)]
    return every, linked, rebase_records(records, index, every)


def rebase_events(builder: EventBuilder, index: ScopeIndex, session_id: str, events: Sequence[Event]) -> list[Event]:
    """Return the run's events without turns that another event holds, and stored ones that these close or move."""
    stored = {event.event_id: event for event in index.session_events(session_id)}
    event_of = {turn_id: event.event_id for event in stored.values() for turn_id in event.turn_ids}
    kept: dict[str, Event] = {}
    for event in events:
        turn_ids = [turn_id for turn_id in event.turn_ids if event_of.get(turn_id, event.event_id) == event.event_id]
        own = event.model_copy(update={"turn_ids": turn_ids})
        if event.event_id in stored:
            kept[event.event_id] = _joined(builder, index, stored[event.event_id], own)
        elif turn_ids:
            kept[event.event_id] = own
    last = next(reversed(stored.values()), None)
    is_over = last is not None and last.status == "closed" and last.event_id in {event.event_id for event in events}
    ordered = _in_order(index, (stored | kept).values(), is_over=is_over)
    return [event for event in ordered if event.event_id in kept or event != stored[event.event_id]]


def rebase_records(records: Sequence[Record], index: ScopeIndex, events: Sequence[Event]) -> list[Record]:
    """Move records of events that are not kept to the event that holds the last turn they cite."""
    kept = {event.event_id for event in events}
    session_ids = dict.fromkeys(record.session_id for record in records)
    stored = [event for session_id in session_ids for event in index.session_events(session_id)]
    event_of = {turn_id: event.event_id for event in [*stored, *events] for turn_id in event.turn_ids}
    moved: list[Record] = []
    for record in records:
        held_by = [event_of[turn_id] for turn_id in record.source_turn_ids if turn_id in event_of]
        stays = not held_by or record.event_id in kept or record.event_id in index.events
        moved.append(record if stays else record.model_copy(update={"event_id": held_by[-1]}))
    return moved


def rebase_boundaries(
    boundaries: Sequence[Boundary], index: ScopeIndex, session_id: str, events: Sequence[Event]
) -> list[Boundary]:
    """Return the boundaries whose later event is kept; those that another event precedes now are described anew."""
    kept = {event.event_id: event for event in events}
    own = [boundary for boundary in boundaries if boundary.to_event_id in kept or boundary.to_event_id in index.events]
    if not events:
        return own
    every = {event.event_id: event for event in index.session_events(session_id)} | kept
    ordered = sorted(every.values(), key=lambda event: event.seq)
    before = dict(zip((event.event_id for event in ordered), [None, *ordered], strict=False))
    written = {boundary.boundary_id for boundary in own}
    others = (found for found in index.boundaries.in_session(session_id) if found.boundary_id not in written)
    found = [*own, *(boundary for boundary in others if _is_moved(boundary, before))]
    return [_relinked(boundary, before, every, index) for boundary in found]


def closed_sessions(index: ScopeIndex, events: Sequence[Event]) -> list[Event]:
    """Return the last events of named sessions that were over when this one, whose events these are, began; closed."""
    session_id = events[0].session_id if events else ""
    if not events or is_unnamed_session(session_id) or index.events.in_session(session_id):
        return []
    begun = events[0].started_at
    return [
        event.model_copy(update={"status": "closed"})
        for event in index.events.items
        if event.status == "open" and not is_unnamed_session(event.session_id)
        if begun and event.ended_at and event.ended_at <= begun
    ]


def _joined(builder: EventBuilder, index: ScopeIndex, stored: Event, own: Event) -> Event:
    """Join what another run made of an event with what this one made of it; turns in the order of the session."""
    joined = own
    if not set(stored.turn_ids) <= set(own.turn_ids):
        joined = stored
        if new := stored_turns(index, [turn_id for turn_id in own.turn_ids if turn_id not in stored.turn_ids]):
            noted = [] if is_named_by_keywords(own) else map(TurnTopic, own.topics)
            joined = builder.extend(stored, new, [*noted, TurnTopic(keywords=tuple(own.keywords))])
    joined = joined.model_copy(update={"status": "closed" if "closed" in (stored.status, own.status) else "open"})
    turns = stored_turns(index, joined.turn_ids)
    ids = [turn.turn_id for turn in turns]
    if ids == joined.turn_ids or len(ids) < len(joined.turn_ids):
        return joined
    return joined.model_copy(update={"turn_ids": ids, "started_at": turns[0].said_at, "ended_at": turns[-1].said_at})


def _in_order(index: ScopeIndex, events: Iterable[Event], *, is_over: bool) -> list[Event]:
    """Return a session's events by their first turns, numbered from 0; all but the last are closed."""
    seqs = index.turns.seq

    def first_seq(event: Event) -> int:
        positions = map(index.turns.find_position, event.turn_ids)
        return min((int(seqs[position]) for position in positions if position >= 0), default=event.seq)

    ordered = sorted(events, key=first_seq)
    last = len(ordered) - 1
    return [
        event.model_copy(update={"seq": seq, "status": "closed" if is_over or seq < last else event.status})
        for seq, event in enumerate(ordered)
    ]


def _is_moved(boundary: Boundary, before: Mapping[str, Event | None]) -> bool:
    """Return whether another event precedes a boundary than it is about; a session's first follows other sessions."""
    if boundary.to_event_id not in before:
        return False
    earlier = before[boundary.to_event_id]
    return boundary.from_event_id != earlier.event_id if earlier else boundary.from_event_id in before


def _relinked(
    boundary: Boundary, before: Mapping[str, Event | None], events: Mapping[str, Event], index: ScopeIndex
) -> Boundary:
    if not _is_moved(boundary, before):
        return boundary
    earlier, later = before[boundary.to_event_id], events[boundary.to_event_id]
    return relink_boundary(index, boundary, earlier or previous_event(index, [later]), later)
