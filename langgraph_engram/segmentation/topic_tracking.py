"""Ask a model where the topic of a conversation shifts: topics, their coupling, intent (ES-Mem section 3.1)."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

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

LEAST_REMAINDER = 1e-12
"""The least value of 1 - rho^2: equal topics have a large coupling, not an infinite one."""
EARLIER_KEYWORDS = 5
"""Keywords of an open event, the newest ones, that stand for what was said last."""

NOTHING_SAID = TurnTopic()
"""The topic before the first turn."""

Unanswered: TypeAlias = tuple[Sequence[Turn], str]
"""Turns about which a question failed, and why."""
Chunk: TypeAlias = tuple[Sequence[Turn], LLMResult[TopicTrack]]
"""Turns whose topics are asked for together, and the answer."""


@dataclass(frozen=True)
class TrackedTopics:
    """The topics of a run's turns, what they cost, and what was left unanswered."""

    topics: list[TurnTopic]
    """One a turn."""
    usage: list[UsageEntry] = field(default_factory=list)
    unanswered: list[Unanswered] = field(default_factory=list)


@dataclass(frozen=True)
class TopicTracker:
    """Follow the topics of a run's turns by asking a model, and mark where an event begins."""

    model: Model
    encoder: Encoder
    settings: SegmentSettings

    def track(self, turns: Sequence[Turn], before: Sequence[Turn], open_event: Event | None) -> TrackedTopics:
        """Return the topic of each turn.

        Args:
            turns: The run's turns, at least one.
            before: The turns of the same session that are stored already, oldest first.
            open_event: The event of the session that is still open; None where the first turn opens one anyway.

        Returns:
            One topic a turn. Turns whose question failed have topics read from their own words, and no cut.
        """
        chunks = ask_topics(self.model, turns, self.settings.topic_chunk, before, _last_of(open_event))
        topics = _topics(chunks, last_topic(open_event))
        usage = [entry_of("segment", [result for _, result in chunks])]
        unanswered = [(chunk, result.failure.reason) for chunk, result in chunks if result.failure]
        candidates = self._candidates(topics, open_event) if self.settings.strategy == "event" else []
        if self.settings.judge == "question" and candidates:
            judged, entry, unjudged = self._judge(turns, before, topics, candidates)
            return TrackedTopics(judged, [*usage, entry], [*unanswered, *unjudged])
        decided = [
            self._decided(topic, topic.p_label) if position in candidates else topic
            for position, topic in enumerate(topics)
        ]
        return TrackedTopics(decided, usage, unanswered)

    def _candidates(self, topics: Sequence[TurnTopic], open_event: Event | None) -> list[int]:
        """Return the positions of the turns that are least coupled with what comes before them."""
        earlier = _last_of(open_event)
        chain = [*([earlier] if earlier.topic else []), *topics]
        if len(chain) < 2:
            return []
        vectors = self.encoder.encode([topic.described for topic in chain])
        first = 1 + len(topics) - len(chain)
        return [position + first for position in weakest(coupling(vectors[:-1], vectors[1:]), self.settings.quantile)]

    def _judge(
        self, turns: Sequence[Turn], before: Sequence[Turn], topics: Sequence[TurnTopic], candidates: Sequence[int]
    ) -> tuple[list[TurnTopic], UsageEntry, list[Unanswered]]:
        side = self.settings.context_side
        questions = [
            JudgeBoundary(tuple([*before, *turns[:position]][-side:]), tuple(turns[position : position + side]))
            for position in candidates
        ]
        results = self.model.ask_all(questions)
        judged = list(topics)
        unanswered: list[Unanswered] = []
        for position, result in zip(candidates, results, strict=True):
            if result.answer:
                p_eb = verdict_probability(result.answer, guarded=self.settings.guarded)
                judged[position] = self._decided(judged[position], p_eb)
            if result.failure:
                unanswered.append(([turns[position]], result.failure.reason))
        return judged, entry_of("segment", results), unanswered

    def _decided(self, topic: TurnTopic, p_eb: float) -> TurnTopic:
        return replace(topic, p_eb=p_eb, cut=p_eb >= self.settings.threshold)


def ask_topics(
    model: Model, turns: Sequence[Turn], size: int, before: Sequence[Turn] = (), earlier: TurnTopic = NOTHING_SAID
) -> list[Chunk]:
    """Ask what turns are about, a chunk after the other: each sees the turn before it, its topic and its keywords.

    Args:
        model: What answers.
        turns: Turns in order.
        size: Turns of a chunk; 1 for the chain of ES-Mem section 3.1.
        before: The turns of the same session that come before them.
        earlier: What the last of these is about.
    """
    chunks: list[Chunk] = []
    for start in range(0, len(turns), size):
        chunk = tuple(turns[start : start + size])
        last = tuple([*before, *turns[:start]][-1:])
        result = model.ask(TrackTopics(chunk, last, earlier.topic, earlier.keywords))
        earlier = _topic(result.answer.notes[-1]) if result.answer and result.answer.notes else earlier
        chunks.append((chunk, result))
    return chunks


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
    before, after = (vectors - vectors.mean(axis=1, keepdims=True) for vectors in (earlier, later))
    norms = np.linalg.norm(before, axis=1) * np.linalg.norm(after, axis=1)
    products = np.einsum("ij,ij->i", before, after)
    rho = np.divide(products, norms, out=np.zeros_like(products), where=norms > 0)
    clipped = np.clip(rho, 0, 1).astype(np.float64)
    return np.asarray(-0.5 * np.log(np.maximum(1 - clipped**2, LEAST_REMAINDER)))


def weakest(couplings: NDArray[np.float64], quantile: float) -> list[int]:
    """Return the positions whose coupling is at most the quantile (ES-Mem Eq. 2).

    Without ties these are floor(q (n - 1)) + 1 of n positions; none of none.
    """
    if couplings.size == 0:
        return []
    return [int(position) for position in np.flatnonzero(couplings <= np.quantile(couplings, quantile))]


def _last_of(event: Event | None) -> TurnTopic:
    """Return what the newest turns of an open event are about."""
    return TurnTopic(last_topic(event), tuple(event.keywords[-EARLIER_KEYWORDS:])) if event else NOTHING_SAID


def _topics(chunks: Sequence[Chunk], topic: str) -> list[TurnTopic]:
    """Return the topics of all chunks; a turn without a note is read by its own words."""
    topics: list[TurnTopic] = []
    for chunk, result in chunks:
        notes = {note.turn: note for note in result.answer.notes} if result.answer else {}
        for number, turn in enumerate(chunk, start=1):
            note = notes.get(number)
            topics += [_topic(note)] if note else provisional_topics([turn], topic)
            topic = topics[-1].topic or topic
    return topics


def _topic(note: TopicNote) -> TurnTopic:
    transition = note.transition if note.label in SHIFT_LABELS else ""
    p_label = boundary_probability(note.label, note.confidence)
    return TurnTopic(note.topic, tuple(note.keywords), transition=transition, p_label=p_label)
