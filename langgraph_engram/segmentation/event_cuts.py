"""Ask a model where a conversation turns to something else: topics, their coupling, intent (ES-Mem section 3.1)."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from langgraph_engram.embeddings.base import Encoder, Vectors
from langgraph_engram.llm.base import LLMResult, Model, entry_of
from langgraph_engram.prompts.judge_boundary import BoundaryVerdict, JudgeBoundary
from langgraph_engram.prompts.track_topics import SHIFT_LABELS, Label, TopicNote, TopicTrack, TrackTopics
from langgraph_engram.results import UsageEntry
from langgraph_engram.schema import Event, Turn
from langgraph_engram.segmentation.events import TurnTopic, last_topic, provisional_topics
from langgraph_engram.settings import SegmentSettings


def boundary_probability(label: Label, confidence: float) -> float:
    """Turn a label and its confidence into the probability of a boundary.

    ES-Mem Eq. 3: c for a shift label, 1 - c for a continuation label.

    Args:
        label: What the turn does.
        confidence: The model's confidence in `label`, in [0, 1].

    Returns:
        A probability in [0, 1].
    """
    return confidence if label in SHIFT_LABELS else 1 - confidence


def verdict_probability(verdict: BoundaryVerdict, *, guarded: bool) -> float:
    """Combine the likeliest and the least likely label of a verdict.

    The paper takes their mean (Eq. 4), which accepts a continuation whose opposite is denied firmly, and halves a
    shift when both labels are shifts. The guarded rule takes the likeliest label alone in these two cases.

    Returns:
        p_eb in [0, 1].
    """
    best, worst = verdict.likeliest, verdict.least_likely
    likeliest = boundary_probability(best.label, best.probability)
    mean = (likeliest + boundary_probability(worst.label, worst.probability)) / 2
    if not guarded:
        return mean
    same_class = (best.label in SHIFT_LABELS) == (worst.label in SHIFT_LABELS)
    return likeliest if same_class or best.label not in SHIFT_LABELS else mean


LEAST_REMAINDER = 1e-12
"""The least value of 1 - rho^2: equal topics have a large coupling, not an infinite one."""


def coupling(earlier: Vectors, later: Vectors) -> NDArray[np.float64]:
    """Compute the mutual information of neighbouring topics under a Gaussian model (ES-Mem Eq. 1).

    I = -0.5 ln(1 - rho^2), with rho the Pearson correlation over dimensions. The paper's square makes opposite topics
    look coherent; rho below zero counts as zero here.

    Args:
        earlier: Topic vectors of shape (n, d).
        later: Topic vectors of the turns that follow, of the same shape.

    Returns:
        n couplings in nats, each at least 0; a constant vector couples with nothing.
    """
    one, other = (vectors - vectors.mean(axis=1, keepdims=True) for vectors in (earlier, later))
    norms = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    products = np.einsum("ij,ij->i", one, other)
    rho = np.divide(products, norms, out=np.zeros_like(products), where=norms > 0)
    clipped = np.clip(rho, 0, 1).astype(np.float64)
    return np.asarray(-0.5 * np.log(np.maximum(1 - clipped**2, LEAST_REMAINDER)))


def weakest(couplings: NDArray[np.float64], quantile: float) -> list[int]:
    """Give the positions whose coupling is at most the quantile (ES-Mem Eq. 2).

    Without ties these are floor(q (n - 1)) + 1 of n positions; none of none.
    """
    if couplings.size == 0:
        return []
    return [int(place) for place in np.flatnonzero(couplings <= np.quantile(couplings, quantile))]


Unanswered = tuple[Sequence[Turn], str]
"""Turns about which a question failed, and why."""


@dataclass(frozen=True)
class EventCutResult:
    """What came of following a run's turns."""

    lines: list[TurnTopic]
    """One a turn."""
    usage: list[UsageEntry] = field(default_factory=list)
    unanswered: list[Unanswered] = field(default_factory=list)


@dataclass(frozen=True)
class EventCuts:
    """Follow the topics of a run's turns and mark where an event begins."""

    model: Model
    encoder: Encoder
    settings: SegmentSettings

    def follow(self, turns: Sequence[Turn], before: Sequence[Turn], going: Event | None) -> EventCutResult:
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
            return EventCutResult(judged, [*usage, entry], [*unanswered, *unjudged])
        decided = [
            self._decide(line, line.p_label) if place in candidates else line for place, line in enumerate(lines)
        ]
        return EventCutResult(decided, usage, unanswered)

    def _ask_topics(
        self, turns: Sequence[Turn], before: Sequence[Turn], going: Event | None
    ) -> list[tuple[Sequence[Turn], LLMResult[TopicTrack]]]:
        size = self.settings.topic_chunk
        topic = last_topic(going)
        found: list[tuple[Sequence[Turn], LLMResult[TopicTrack]]] = []
        for start in range(0, len(turns), size):
            chunk = tuple(turns[start : start + size])
            earlier = tuple([*before, *turns[:start]][-self.settings.context_side :])
            asked = self.model.ask(TrackTopics(chunk, earlier, topic))
            topic = asked.answer.notes[-1].topic if asked.answer and asked.answer.notes else topic
            found.append((chunk, asked))
        return found

    def _candidates(self, lines: Sequence[TurnTopic], going: Event | None) -> list[int]:
        first = (
            TurnTopic(topic=going.topics[-1], keywords=tuple(going.keywords[:5])) if going and going.topics else None
        )
        chain = [first, *lines] if first else list(lines)
        if len(chain) < 2:
            return []
        vectors = self.encoder.encode([line.described for line in chain])
        shift = 0 if first else 1
        return [place + shift for place in weakest(coupling(vectors[:-1], vectors[1:]), self.settings.quantile)]

    def _judge(
        self, turns: Sequence[Turn], before: Sequence[Turn], lines: Sequence[TurnTopic], candidates: Sequence[int]
    ) -> tuple[list[TurnTopic], UsageEntry, list[Unanswered]]:
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

    def _decide(self, line: TurnTopic, p_eb: float) -> TurnTopic:
        return replace(line, p_eb=p_eb, cut=p_eb >= self.settings.threshold)


def _lines(asked_topics: Sequence[tuple[Sequence[Turn], LLMResult[TopicTrack]]], topic: str) -> list[TurnTopic]:
    """Give the lines of all chunks; a turn without a note is read by its own words."""
    lines: list[TurnTopic] = []
    for chunk, asked in asked_topics:
        notes = {note.turn: note for note in asked.answer.notes} if asked.answer else {}
        for number, turn in enumerate(chunk, start=1):
            note = notes.get(number)
            lines += [_line(note)] if note else provisional_topics([turn], topic)
            topic = lines[-1].topic or topic
    return lines


def _line(note: TopicNote) -> TurnTopic:
    transition = note.transition if note.label in SHIFT_LABELS else ""
    p_label = boundary_probability(note.label, note.confidence)
    return TurnTopic(note.topic, tuple(note.keywords), transition=transition, p_label=p_label)
