"""Follow the topics of a conversation turn by turn, and find where they shift (ES-Mem section 3.1)."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from langgraph_engram.embeddings.base import Encoder, Vectors
from langgraph_engram.llm.base import LLMResult, Model, entry_of
from langgraph_engram.paper_settings import EsMemSettings
from langgraph_engram.prompts.judge_boundary import BoundaryVerdict, JudgeBoundary
from langgraph_engram.prompts.track_topics import SHIFT_LABELS, Label, TopicTrack, TrackTopics
from langgraph_engram.results import UsageEntry
from langgraph_engram.schema import Event, Turn
from langgraph_engram.segmentation.events import TurnTopic, turn_keywords
from langgraph_engram.segmentation.segmenter import Unanswered
from langgraph_engram.text.keywords import topic_of

LEAST_REMAINDER = 1e-12
"""The least value of 1 - rho^2: equal topics have a large coupling, not an infinite one."""
EARLIER_KEYWORDS = 5
"""Keywords of an open event, the newest ones, that stand for what was said last."""


@dataclass(frozen=True)
class TrackedTurn:
    """A turn, what it is about, and the answer that says so."""

    turn: Turn
    result: LLMResult[TopicTrack]
    topic: TurnTopic | None
    """What the model noted; None where it did not answer."""


@dataclass(frozen=True)
class TrackedTopics:
    """The topics of a run's turns, what they cost, and what was left unanswered."""

    topics: list[TurnTopic] = field(default_factory=list)
    """One a turn."""
    usage: list[UsageEntry] = field(default_factory=list)
    unanswered: list[Unanswered] = field(default_factory=list)


@dataclass(frozen=True)
class TopicTracker:
    """Follow the topics of a run's turns by asking a model, and mark where an event begins."""

    model: Model
    encoder: Encoder
    settings: EsMemSettings

    def track(self, turns: Sequence[Turn], before: Sequence[Turn], open_event: Event | None) -> TrackedTopics:
        """Return the topic of each turn; one whose question failed has keywords of its own words, and no cut.

        Args:
            turns: The run's turns, at least one.
            before: The turns of the same session that are stored already, oldest first.
            open_event: The event of the session that is still open; None where the first turn opens one anyway.
        """
        earlier = _last_of(open_event)
        tracked = ask_topics(self.model, turns, before, earlier)
        usage = [entry_of("segment", [each.result for each in tracked])]
        unanswered = failures_of(tracked)
        topics = [each.topic or TurnTopic(keywords=turn_keywords(each.turn)) for each in tracked]
        candidates = [] if self.settings.windows else self._candidates(_described(tracked, earlier), len(turns))
        if not candidates:
            return TrackedTopics(topics, usage, unanswered)
        side = self.settings.context_side
        questions = [
            JudgeBoundary(tuple([*before, *turns[:position]][-side:]), tuple(turns[position : position + side]))
            for position in candidates
        ]
        results = self.model.ask_all(questions)
        for position, result in zip(candidates, results, strict=True):
            if result.answer:
                p_eb = verdict_probability(result.answer)
                topics[position] = replace(topics[position], p_eb=p_eb, cut=p_eb >= self.settings.threshold)
            if result.failure:
                unanswered.append(([turns[position]], result.failure.reason))
        return TrackedTopics(topics, [*usage, entry_of("segment", results)], unanswered)

    def _candidates(self, described: Sequence[str], count: int) -> list[int]:
        """Return which of `count` turns are least coupled with the topic before; an open event's stands before all."""
        if len(described) < 2:
            return []
        vectors = self.encoder.encode(list(described))
        first = 1 + count - len(described)
        return [position + first for position in weakest(coupling(vectors[:-1], vectors[1:]), self.settings.quantile)]


def ask_topics(
    model: Model, turns: Sequence[Turn], before: Sequence[Turn] = (), earlier: TurnTopic | None = None
) -> list[TrackedTurn]:
    """Ask what turns are about, one after the other: each question shows the turn before, its topic and keywords."""
    tracked: list[TrackedTurn] = []
    last = earlier or TurnTopic()
    for position, turn in enumerate(turns):
        context = tuple([*before, *turns[:position]][-1:])
        result = model.ask(TrackTopics((turn,), context, last.topic, last.keywords))
        notes = [note for note in result.answer.notes if note.turn == 1] if result.answer else []
        topic = TurnTopic(notes[-1].topic, tuple(notes[-1].keywords)) if notes else None
        tracked.append(TrackedTurn(turn, result, topic))
        last = topic or last
    return tracked


def failures_of(tracked: Sequence[TrackedTurn]) -> list[Unanswered]:
    """Return the turns whose question failed, and why."""
    return [([each.turn], each.result.failure.reason) for each in tracked if each.result.failure]


def boundary_probability(label: Label, confidence: float) -> float:
    """Return the probability of a boundary in [0, 1]: c for a shift label, 1 - c for another (ES-Mem Eq. 3)."""
    return confidence if label in SHIFT_LABELS else 1 - confidence


def verdict_probability(verdict: BoundaryVerdict) -> float:
    """Return p_eb in [0, 1]: the mean over the likeliest and the least likely label of a verdict (ES-Mem Eq. 4)."""
    guesses = (verdict.likeliest, verdict.least_likely)
    return sum(boundary_probability(guess.label, guess.probability) for guess in guesses) / 2


def coupling(earlier: Vectors, later: Vectors) -> NDArray[np.float64]:
    """Compute the mutual information of neighbouring topics under a Gaussian model (ES-Mem Eq. 1).

    I = -0.5 ln(1 - rho^2), with rho the Pearson correlation over dimensions. The paper's square makes opposite topics
    look coherent; rho below zero counts as zero here.

    Args:
        earlier: Topic vectors of shape (n, d).
        later: Topic vectors of the turns that follow, of the same shape.

    Returns:
        n couplings in nats; a constant vector couples with nothing.
    """
    before, after = (vectors - vectors.mean(axis=1, keepdims=True) for vectors in (earlier, later))
    norms = np.linalg.norm(before, axis=1) * np.linalg.norm(after, axis=1)
    products = np.einsum("ij,ij->i", before, after)
    rho = np.divide(products, norms, out=np.zeros_like(products), where=norms > 0)
    clipped = np.clip(rho, 0, 1).astype(np.float64)
    return np.asarray(-0.5 * np.log(np.maximum(1 - clipped**2, LEAST_REMAINDER)))


def weakest(couplings: NDArray[np.float64], quantile: float) -> list[int]:
    """Return the positions whose coupling is at most the quantile: floor(q (n - 1)) + 1 without ties (ES-Mem Eq. 2)."""
    if couplings.size == 0:
        return []
    return [int(position) for position in np.flatnonzero(couplings <= np.quantile(couplings, quantile))]


def _last_of(event: Event | None) -> TurnTopic:
    """Return what the newest turns of an open event are about."""
    if event is None:
        return TurnTopic()
    return TurnTopic(event.topics[-1] if event.topics else "", tuple(event.keywords[-EARLIER_KEYWORDS:]))


def _described(tracked: Sequence[TrackedTurn], earlier: TurnTopic) -> list[str]:
    """Return topics and keywords as texts, the earlier one first if any; of a turn without a note by its own words."""
    described = [_text_of(earlier)] if earlier.topic else []
    topic = earlier.topic
    for each in tracked:
        found = each.topic or _provisional(each.turn, topic)
        described.append(_text_of(found))
        topic = found.topic or topic
    return described


def _text_of(topic: TurnTopic) -> str:
    return f"{topic.topic}. {', '.join(topic.keywords)}"


def _provisional(turn: Turn, topic: str) -> TurnTopic:
    """Read what a turn is about from its own words; without any, or where nobody spoke it, the topic before goes on."""
    keywords = turn_keywords(turn)
    return TurnTopic(topic_of(list(keywords), topic) if turn.is_spoken else topic, keywords)
