"""Make events of spans of turns: new ones, and the one that goes on from an earlier call."""

from collections.abc import Sequence
from dataclasses import dataclass

from langgraph_engram.nodes.segmenting.topic_line import TopicLine
from langgraph_engram.schema import Event, Turn, make_id
from langgraph_engram.settings import SegmentSettings


@dataclass(frozen=True)
class EventBuilder:
    """Make the events of one session."""

    scope_key: str
    settings: SegmentSettings

    def begin(self, turns: Sequence[Turn], lines: Sequence[TopicLine], seq: int, context: Sequence[Turn]) -> Event:
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

    def extend(self, event: Event, turns: Sequence[Turn], lines: Sequence[TopicLine]) -> Event:
        """Let an open event go on with these turns; turns that it holds already are not added twice."""
        fresh = [turn.turn_id for turn in turns if turn.turn_id not in event.turn_ids]
        update = {"turn_ids": [*event.turn_ids, *fresh], "ended_at": turns[-1].said_at}
        return event.model_copy(update={**update, **self._summary(event.topics, event.keywords, lines)})

    def _summary(
        self, topics: Sequence[str], keywords: Sequence[str], lines: Sequence[TopicLine]
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
