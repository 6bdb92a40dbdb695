"""Make events of spans of turns: new ones, and the one that goes on from an earlier call."""

from collections.abc import Sequence
from dataclasses import dataclass

from langgraph_engram.schema import Event, Turn, make_id
from langgraph_engram.settings import SegmentSettings
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.text.keywords import keywords_of, topic_of


@dataclass(frozen=True)
class TurnTopic:
    """What is known of one turn's place in the course of topics."""

    topic: str = ""
    keywords: tuple[str, ...] = ()
    noted: bool = True
    """Whether a model noted it; what is read from the turn's own words names no event."""
    transition: str = ""
    p_label: float = 0.0
    """The probability of a boundary before this turn that its own label gives."""
    p_eb: float | None = None
    """The probability of a boundary before this turn, where it was judged."""
    cut: bool = False
    """Whether an event begins at this turn."""

    @property
    def described(self) -> str:
        """Give topic and keywords as the text that is embedded (ES-Mem section 3.1)."""
        return f"{self.topic}. {', '.join(self.keywords)}"


def provisional_topics(turns: Sequence[Turn], topic: str) -> list[TurnTopic]:
    """Name what turns are about by their own words.

    Args:
        turns: Turns in order.
        topic: What the conversation was about until now; empty for nothing yet.

    Returns:
        One line a turn, without a cut. A turn without a word of its own, or that nobody spoke, keeps the topic before
        it.
    """
    lines: list[TurnTopic] = []
    for turn in turns:
        if not turn.is_spoken:
            lines.append(TurnTopic(topic, noted=False))
            continue
        keywords = keywords_of(" ".join([turn.text, *turn.captions]))
        topic = topic_of(keywords, topic)
        lines.append(TurnTopic(topic, tuple(keywords), noted=False))
    return lines


def last_topic(going: Event | None) -> str:
    """Give what an open event was last about; empty for none."""
    return going.topics[-1] if going and going.topics else ""


@dataclass(frozen=True)
class EventBuilder:
    """Make the events of one session."""

    scope_key: str
    settings: SegmentSettings

    def begin(self, turns: Sequence[Turn], lines: Sequence[TurnTopic], seq: int, context: Sequence[Turn]) -> Event:
        """Open an event with these turns.

        Args:
            turns: Its core turns, at least one.
            lines: Their topic lines.
            seq: The event's place in its session.
            context: Turns shown beside the core ones.
        """
        return Event(
            event_id=make_id(self.scope_key, self.settings.strategy, turns[0].turn_id),
            session_id=turns[0].session_id,
            seq=seq,
            kind=self.settings.strategy,
            turn_ids=[turn.turn_id for turn in turns],
            context_turn_ids=[turn.turn_id for turn in context],
            started_at=turns[0].said_at,
            ended_at=turns[-1].said_at,
            **self._summary([], [], lines),
        )

    def extend(self, event: Event, turns: Sequence[Turn], lines: Sequence[TurnTopic]) -> Event:
        """Let an open event go on with these turns; turns that it holds already are not added twice."""
        fresh = [turn.turn_id for turn in turns if turn.turn_id not in event.turn_ids]
        update = {"turn_ids": [*event.turn_ids, *fresh], "ended_at": turns[-1].said_at}
        return event.model_copy(update={**update, **self._summary(event.topics, event.keywords, lines)})

    def _summary(
        self, topics: Sequence[str], keywords: Sequence[str], lines: Sequence[TurnTopic]
    ) -> dict[str, list[str] | str]:
        further = [line.topic for line in lines if line.topic and line.noted]
        words = [word for line in lines for word in line.keywords]
        return sum_up([*topics, *further], [*keywords, *words], self.settings)


def sum_up(topics: Sequence[str], keywords: Sequence[str], settings: SegmentSettings) -> dict[str, list[str] | str]:
    """Sum up an event as its topics and keywords, without a call (ES-Mem section 3.2).

    Args:
        topics: In order; repeats count once.
        keywords: In order; repeats count once.
        settings: How many of each an event may have.
    """
    named = _distinct([topic for topic in topics if topic])
    kept_topics = [*named[:1], *named[1:][-(settings.most_topics - 1) :]]
    kept_keywords = _distinct(keywords)[: settings.most_keywords]
    told = "; ".join(kept_topics)
    further = [word for word in kept_keywords if word.casefold() not in told.casefold()]
    summary = told + (f" ({', '.join(further)})" if further else "")
    return {"topics": kept_topics, "keywords": kept_keywords, "summary": summary}


def _distinct(texts: Sequence[str]) -> list[str]:
    """Give texts without repeats, whatever their case; the first wording stays."""
    first: dict[str, str] = {}
    for text in texts:
        first.setdefault(text.casefold(), text)
    return list(first.values())


def windows(count: int, window: int, overlap: int) -> list[tuple[int, int]]:
    """Cut `count` turns into sliding windows (DimMem section 3.2).

    The step is max(1, W - O); the last window ends at the last turn and may be short.

    Args:
        count: The number of turns, at least 0.
        window: W, turns a window, at least 1.
        overlap: O, turns shared with the window before; at most W - 1 counts.

    Returns:
        Pairs (start, end), the end not included; none for no turns.
    """
    step = max(1, window - min(overlap, window - 1))
    spans: list[tuple[int, int]] = []
    start = 0
    while start < count:
        spans.append((start, min(start + window, count)))
        if start + window >= count:
            break
        start += step
    return spans


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
    for place, size in enumerate(sizes):
        if place > start and held + size > limit:
            spans.append((start, place))
            start, held = place, 0
        held += size
    return [*spans, (start, len(sizes))] if sizes else []


def open_event(index: ScopeIndex, session_id: str) -> Event | None:
    """Give the event of a session that is still open; none if all are closed."""
    events = index.session_events(session_id)
    return events[-1] if events and events[-1].status == "open" else None


def events_of(index: ScopeIndex, session_id: str, turn_ids: Sequence[str]) -> list[Event]:
    """Give the stored events of a session that hold any of these turns: what is done again is not cut again."""
    wanted = set(turn_ids)
    return [event for event in index.session_events(session_id) if wanted & set(event.turn_ids)]


def earlier_turns(index: ScopeIndex, session_id: str, turns: Sequence[Turn]) -> list[Turn]:
    """Give the stored turns of a session that come before a run's."""
    stored = index.session_turns(session_id)
    return [turn for turn in stored if turn.seq < turns[0].seq] if turns else stored


def limited_starts(cuts: Sequence[int], count: int, held: int, most: int) -> list[int]:
    """Give where events start: at 0, at each cut, and wherever an event would grow beyond `most` turns.

    Args:
        cuts: Places before which an event begins.
        count: The run's turns.
        held: Turns that the open event holds already.
        most: Turns an event may hold.
    """
    starts = [0]
    size = 0 if 0 in cuts else held
    for place in range(count):
        if place and (place in cuts or size >= most):
            starts.append(place)
            size = 0
        size += 1
    return starts
