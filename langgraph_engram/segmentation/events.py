"""Build events of spans of turns: windows, buffers, new events, and the one that goes on from an earlier call."""

from collections.abc import Sequence
from dataclasses import dataclass

from langgraph_engram.schema import Event, Turn, make_id
from langgraph_engram.settings import SegmentSettings
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.text.keywords import keywords_of, topic_of


@dataclass(frozen=True)
class TurnTopic:
    """What is known of one turn's topic."""

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
        """Return topic and keywords as the text that is embedded (ES-Mem section 3.1)."""
        return f"{self.topic}. {', '.join(self.keywords)}"


def provisional_topics(turns: Sequence[Turn], topic: str) -> list[TurnTopic]:
    """Read what turns are about from their own words.

    Args:
        turns: Turns in order.
        topic: What the conversation was about until now; empty for nothing yet.

    Returns:
        One topic a turn, without a cut. A turn without a word of its own, or that nobody spoke, keeps the topic before
        it.
    """
    topics: list[TurnTopic] = []
    for turn in turns:
        if not turn.is_spoken:
            topics.append(TurnTopic(topic, noted=False))
            continue
        keywords = keywords_of(" ".join([turn.text, *turn.captions]))
        topic = topic_of(keywords, topic)
        topics.append(TurnTopic(topic, tuple(keywords), noted=False))
    return topics


def last_topic(event: Event | None) -> str:
    """Return what an open event was last about; empty for none."""
    return event.topics[-1] if event and event.topics else ""


@dataclass(frozen=True)
class EventBuilder:
    """Build the events of a scope."""

    scope_key: str
    settings: SegmentSettings

    def begin(self, turns: Sequence[Turn], topics: Sequence[TurnTopic], seq: int, context: Sequence[Turn]) -> Event:
        """Open an event with these turns.

        Args:
            turns: Its core turns, at least one.
            topics: What they are about.
            seq: The event's position in its session.
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
        new_topics = [turn.topic for turn in new if turn.topic and turn.noted]
        new_keywords = [word for turn in new for word in turn.keywords]
        return summarize_event([*topics, *new_topics], [*keywords, *new_keywords], self.settings)


def summarize_event(
    topics: Sequence[str], keywords: Sequence[str], settings: SegmentSettings
) -> dict[str, list[str] | str]:
    """Return the topics, keywords and summary of an event, without a call (ES-Mem section 3.2).

    Args:
        topics: In order; repeats count once.
        keywords: In order; repeats count once.
        settings: How many of each an event may have.
    """
    distinct = _distinct([topic for topic in topics if topic])
    kept_topics = [*distinct[:1], *distinct[1:][-(settings.max_topics - 1) :]]
    kept_keywords = _distinct(keywords)[: settings.max_keywords]
    return {"topics": kept_topics, "keywords": kept_keywords, "summary": "; ".join(kept_topics)}


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


def exchange_starts(turns: Sequence[Turn]) -> list[int]:
    """Return the positions at which somebody speaks to an assistant, or to other people: what W and O count.

    DimMem's turn is an utterance with the assistant's reply (Eq. 3), so that a reply belongs to what it follows.
    """
    return [position for position, turn in enumerate(turns) if turn.role == "user"]


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


def limited_starts(cuts: Sequence[int], count: int, held: int, most: int) -> list[int]:
    """Return where events start: at 0, at each cut, and wherever an event would grow beyond `most` turns.

    Args:
        cuts: Positions before which an event begins.
        count: The run's turns.
        held: Turns that the open event holds already.
        most: Turns an event may hold.
    """
    starts = [0]
    size = 0 if 0 in cuts else held
    for position in range(count):
        if position and (position in cuts or size >= most):
            starts.append(position)
            size = 0
        size += 1
    return starts


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
