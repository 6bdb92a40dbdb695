"""Find where a conversation turns to something else: topics, their coupling, then intent (ES-Mem section 3.1)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from langgraph_engram.encoder import Encoder
from langgraph_engram.model import Asked, Model, entry_of
from langgraph_engram.nodes.boundary_probability import boundary_probability, verdict_probability
from langgraph_engram.nodes.coupling import coupling, weakest
from langgraph_engram.prompts.judge_boundary import JudgeBoundary
from langgraph_engram.prompts.track_topics import SHIFT_LABELS, TopicNote, TopicTrack, TrackTopics
from langgraph_engram.results import UsageEntry
from langgraph_engram.schema import Event, Turn
from langgraph_engram.settings import SegmentSettings


@dataclass(frozen=True)
class TopicLine:
    """What is known of one turn's place in the course of topics."""

    topic: str = ""
    keywords: tuple[str, ...] = ()
    transition: str = ""
    p_label: float = 0.0
    """The probability of a boundary before this turn that its own label gives."""
    p_eb: float | None = None
    """The probability of a boundary before this turn, where it was a candidate."""
    cut: bool = False
    """Whether an event begins at this turn."""

    @property
    def described(self) -> str:
        """Give topic and keywords as the text that is embedded (ES-Mem section 3.1)."""
        return f"{self.topic}. {', '.join(self.keywords)}"


@dataclass(frozen=True)
class EventCuts:
    """Follow the topics of a run's turns and mark where an event begins."""

    model: Model
    encoder: Encoder
    settings: SegmentSettings

    def follow(
        self, turns: Sequence[Turn], before: Sequence[Turn], going: Event | None
    ) -> tuple[list[TopicLine], list[UsageEntry]]:
        """Give a line for each turn.

        Args:
            turns: The run's turns, at least one.
            before: The turns of the same session that are stored already, oldest first.
            going: The event of the session that is still open; none where the first turn opens one anyway.

        Returns:
            One line a turn, and what it cost. A chunk whose question failed has lines without a topic, and no cut.
        """
        asked_topics = self._ask_topics(turns, before, going)
        lines = [line for chunk, asked in asked_topics for line in _lines(chunk, asked)]
        usage = [entry_of("segment", [asked for _, asked in asked_topics])]
        candidates = self._candidates(lines, going)
        if self.settings.judge == "question" and candidates:
            lines, entry = self._judge(turns, before, lines, candidates)
            return lines, [*usage, entry]
        return [
            self._decide(line, line.p_label) if place in candidates else line for place, line in enumerate(lines)
        ], usage

    def _ask_topics(
        self, turns: Sequence[Turn], before: Sequence[Turn], going: Event | None
    ) -> list[tuple[Sequence[Turn], Asked[TopicTrack]]]:
        size = self.settings.topic_chunk
        topic = going.topics[-1] if going and going.topics else ""
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
    ) -> tuple[list[TopicLine], UsageEntry]:
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
        return judged, entry_of("segment", asked)

    def _decide(self, line: TopicLine, p_eb: float) -> TopicLine:
        return replace(line, p_eb=p_eb, cut=p_eb >= self.settings.threshold)


def _lines(chunk: Sequence[Turn], asked: Asked[TopicTrack]) -> list[TopicLine]:
    notes = {note.turn: note for note in asked.answer.notes} if asked.answer else {}
    return [_line(notes.get(number)) for number in range(1, len(chunk) + 1)]


def _line(note: TopicNote | None) -> TopicLine:
    if note is None:
        return TopicLine()
    transition = note.transition if note.label in SHIFT_LABELS else ""
    p_label = boundary_probability(note.label, note.confidence)
    return TopicLine(note.topic, tuple(note.keywords), transition, p_label)
