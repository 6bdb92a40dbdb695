"""Build events of spans of turns: new ones, and the one that goes on from an earlier call."""

from collections.abc import Sequence
from dataclasses import dataclass

from langgraph_engram.schema import Event, EventKind, Turn, make_id
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.text.keywords import keywords_of

MAX_TOPICS = 4
"""Topics of an event's summary: the first and the last ones."""
MAX_KEYWORDS = 12
"""Keywords of an event's summary: the first ones."""


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
    return tuple(keywords_of(" ".join([turn.text, *turn.captions]))) if turn.is_spoken else ()


@dataclass(frozen=True)
class SummaryLimits:
    """How many topics and keywords the summary of an event has at most."""

    topics: int = MAX_TOPICS
    keywords: int = MAX_KEYWORDS


LIMITS = SummaryLimits()


@dataclass(frozen=True)
class EventBuilder:
    """Build the events of a scope."""

    scope_key: str
    limits: SummaryLimits = LIMITS
    kind: EventKind = "event"

    def begin(self, turns: Sequence[Turn], topics: Sequence[TurnTopic], seq: int, context: Sequence[Turn]) -> Event:
        """Open an event with these turns.

        Args:
            turns: Its core turns, at least one.
            topics: What they are about.
            seq: The event's position in its session.
            context: Turns shown beside the core ones.
        """
        return Event(
            event_id=make_id(self.scope_key, self.kind, turns[0].turn_id),
            session_id=turns[0].session_id,
            seq=seq,
            kind=self.kind,
            turn_ids=[turn.turn_id for turn in turns],
            context_turn_ids=[turn.turn_id for turn in context],
            started_at=turns[0].said_at,
            ended_at=turns[-1].said_at,
            **self._summary([], [], topics),
        )

    def extend(self, event: Event, turns: Sequence[Turn], topics: Sequence[TurnTopic]) -> Event:
        """Let an open event go on with these turns; turns that it holds already are not added twice."""
        new = [turn.turn_id for turn in turns if turn.turn_id not in event.turn_ids]
        update = {"turn_ids": [*event.turn_ids, *new], "ended_at": turns[-1].said_at}
        return event.model_copy(update={**update, **self._summary(event.topics, event.keywords, topics)})

    def _summary(
        self, topics: Sequence[str], keywords: Sequence[str], new: Sequence[TurnTopic]
    ) -> dict[str, list[str] | str]:
        new_topics = [turn.topic for turn in new if turn.topic]
        new_keywords = [word for turn in new for word in turn.keywords]
        return summarize_event([*topics, *new_topics], [*keywords, *new_keywords], self.limits)


def summarize_event(
    topics: Sequence[str], keywords: Sequence[str], limits: SummaryLimits = LIMITS
) -> dict[str, list[str] | str]:
    """Return the topics, keywords and summary of an event, without a call (ES-Mem section 3.2).

    Args:
        topics: In order; repeats count once.
        keywords: In order; repeats count once.
        limits: How many of each are kept.
    """
    distinct = _distinct([topic for topic in topics if topic])
    kept_topics = [*distinct[:1], *distinct[1:][-(limits.topics - 1) :]]
    kept_keywords = _distinct(keywords)[: limits.keywords]
    return {"topics": kept_topics, "keywords": kept_keywords, "summary": "; ".join(kept_topics)}


def buffers(sizes: Sequence[int], limit: int) -> list[tuple[int, int]]:
    """Cut turns into buffers that each hold at most `limit` tokens, or one turn (StructMem section 3.1).

    Args:
        sizes: Tokens of each turn.
        limit: Tokens a buffer holds.

    Returns:
        Pairs (start, end), the end not included.
    """
    spans: list[tuple[int, int]] = []
    start, held = 0, 0
    for position, size in enumerate(sizes):
        if position > start and held + size > limit:
            spans.append((start, position))
            start, held = position, 0
        held += size
    return [*spans, (start, len(sizes))] if sizes else []


def open_event_of(index: ScopeIndex, session_id: str) -> Event | None:
    """Return the event of a session that is still open; None if all are closed."""
    events = index.session_events(session_id)
    return events[-1] if events and events[-1].status == "open" else None


def events_with_turns(index: ScopeIndex, session_id: str, turn_ids: Sequence[str]) -> list[Event]:
    """Return the stored events of a session that hold any of these turns."""
    wanted = set(turn_ids)
    return [event for event in index.session_events(session_id) if wanted & set(event.turn_ids)]


def _distinct(texts: Sequence[str]) -> list[str]:
    """Return texts without repeats, whatever their case; the first form stays."""
    first: dict[str, str] = {}
    for text in texts:
        first.setdefault(text.casefold(), text)
    return list(first.values())
