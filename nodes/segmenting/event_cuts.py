"""Ask a model where a conversation turns to something else: topics, their coupling, intent (ES-Mem section 3.1)."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from langgraph_engram.encoder import Encoder
from langgraph_engram.model import Asked, Model, entry_of
from langgraph_engram.nodes.segmenting.boundary_probability import boundary_probability, verdict_probability
from langgraph_engram.nodes.segmenting.coupling import coupling, weakest
from langgraph_engram.nodes.segmenting.topic_line import TopicLine, last_topic, provisional_lines
from langgraph_engram.prompts.judge_boundary import JudgeBoundary
from langgraph_engram.prompts.track_topics import SHIFT_LABELS, TopicNote, TopicTrack, TrackTopics
from langgraph_engram.results import UsageEntry
from langgraph_engram.schema import Event, Turn
from langgraph_engram.settings import SegmentSettings

Unanswered = tuple[Sequence[Turn], str]
"""Turns about which a question failed, and why."""


@dataclass(frozen=True)
class Followed:
    """What came of following a run's turns."""

    lines: list[TopicLine]
    """One a turn."""
    usage: list[UsageEntry] = field(default_factory=list)
    unanswered: list[Unanswered] = field(default_factory=list)


@dataclass(frozen=True)
class EventCuts:
    """Follow the topics of a run's turns and mark where an event begins."""

    model: Model
    encoder: Encoder
    settings: SegmentSettings

    def follow(self, turns: Sequence[Turn], before: Sequence[Turn], going: Event | None) -> Followed:
        """Give a line for each turn.

        Args:
            turns: The run's turns, at least one.
            before: The turns of the same session that are stored already, oldest first.
            going: The event of the session that is still open; none where the first turn opens one anyway.

        Returns:
            One line a turn, what it cost, and what was left unanswered. Turns whose question failed have topics read
            from their own words, and no cut.
        """
        asked_topics = self._ask_topics(turns, before, going)
        lines = _lines(asked_topics, last_topic(going))
        usage = [entry_of("segment", [asked for _, asked in asked_topics])]
        unanswered = [(chunk, asked.failure.reason) for chunk, asked in asked_topics if asked.failure]
        candidates = self._candidates(lines, going)
        if self.settings.judge == "question" and candidates:
            judged, entry, unjudged = self._judge(turns, before, lines, candidates)
            return Followed(judged, [*usage, entry], [*unanswered, *unjudged])
        decided = [
            self._decide(line, line.p_label) if place in candidates else line for place, line in enumerate(lines)
        ]
        return Followed(decided, usage, unanswered)

    def _ask_topics(
        self, turns: Sequence[Turn], before: Sequence[Turn], going: Event | None
    ) -> list[tuple[Sequence[Turn], Asked[TopicTrack]]]:
        size = self.settings.topic_chunk
        topic = last_topic(going)
        found: list[tuple[Sequence[Turn], Asked[TopicTrack]]] = []
        for start in range(0, len(turns), size):
            chunk = tuple(turns[start : start + size])
            earlier = tuple([*before, *turns[:start]][-self.settings.context_side :])
            asked = self.model.ask(TrackTopics(chunk, earlier, topic))
            topic = asked.answer.notes[-1].topic if asked.answer and asked.answer.notes else topic
            found.append((chunk, asked))
        return found

    def _candidates(self, lines: Sequence[TopicLine], going: Event | None) -> list[int]:
        first = (
            TopicLine(topic=going.topics[-1], keywords=tuple(going.keywords[:5])) if going and going.topics else None
        )
        chain = [first, *lines] if first else list(lines)
        if len(chain) < 2:
            return []
        vectors = self.encoder.encode([line.described for line in chain])
        shift = 0 if first else 1
        return [place + shift for place in weakest(coupling(vectors[:-1], vectors[1:]), self.settings.quantile)]

    def _judge(
        self, turns: Sequence[Turn], before: Sequence[Turn], lines: Sequence[TopicLine], candidates: Sequence[int]
    ) -> tuple[list[TopicLine], UsageEntry, list[Unanswered]]:
        side = self.settings.context_side
        questions = [
            JudgeBoundary(tuple([*before, *turns[:place]][-side:]), tuple(turns[place : place + side]))
            for place in candidates
        ]
        asked = self.model.ask_all(questions)
        judged = list(lines)
        for place, one in zip(candidates, asked, strict=True):
            if one.answer:
                p_eb = verdict_probability(one.answer, guarded=self.settings.guarded)
                judged[place] = self._decide(judged[place], p_eb)
        unjudged: list[Unanswered] = [
            ([turns[place]], one.failure.reason) for place, one in zip(candidates, asked, strict=True) if one.failure
        ]
        return judged, entry_of("segment", asked), unjudged

    def _decide(self, line: TopicLine, p_eb: float) -> TopicLine:
        return replace(line, p_eb=p_eb, cut=p_eb >= self.settings.threshold)


def _lines(asked_topics: Sequence[tuple[Sequence[Turn], Asked[TopicTrack]]], topic: str) -> list[TopicLine]:
    """Give the lines of all chunks; a turn without a note is read by its own words."""
    lines: list[TopicLine] = []
    for chunk, asked in asked_topics:
        notes = {note.turn: note for note in asked.answer.notes} if asked.answer else {}
        for number, turn in enumerate(chunk, start=1):
            note = notes.get(number)
            lines += [_line(note)] if note else provisional_lines([turn], topic)
            topic = lines[-1].topic or topic
    return lines


def _line(note: TopicNote) -> TopicLine:
    transition = note.transition if note.label in SHIFT_LABELS else ""
    p_label = boundary_probability(note.label, note.confidence)
    return TopicLine(note.topic, tuple(note.keywords), transition=transition, p_label=p_label)
