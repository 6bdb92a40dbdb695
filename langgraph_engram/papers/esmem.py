"""What ES-Mem (arXiv 2601.07582) alone needs: events by questions, words for their boundaries, events as anchors."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from langgraph_engram.embeddings.base import Encoder, Vectors
from langgraph_engram.llm.base import LLMResult, Model, entry_of
from langgraph_engram.paper_settings import UNLIMITED, DimMemSettings, EsMemSettings
from langgraph_engram.papers.dimmem import WindowSegmenter
from langgraph_engram.papers.search import best_events
from langgraph_engram.prompts.describe_boundary import DescribeBoundary
from langgraph_engram.prompts.judge_boundary import SHIFT_LABELS, BoundaryVerdict, JudgeBoundary, Label
from langgraph_engram.prompts.track_topics import TopicNote, TrackTopics
from langgraph_engram.results import UsageEntry
from langgraph_engram.retrieval.passages import Candidate
from langgraph_engram.retrieval.scoring import LEAST, event_scores
from langgraph_engram.schema import Boundary, Event, Intent, Turn
from langgraph_engram.segmentation.events import (
    EventBuilder,
    SummaryLimits,
    Transition,
    TurnTopic,
    name_by_keywords,
    transitions,
    turn_keywords,
)
from langgraph_engram.segmentation.segmenter import Segmentation, Segmenter, SessionTurns
from langgraph_engram.stores.index import Matches, ScopeIndex
from langgraph_engram.text.keywords import topic_of

LOG = logging.getLogger(__name__)
EARLIER_KEYWORDS = 5
"""Keywords of an open event, the newest ones, that stand for what was said last."""


@dataclass(frozen=True)
class AskingSegmenter(Segmenter):
    """Cut turns where a model says that the topic shifts, and let it describe how (sections 3.1 and 3.2)."""

    model: Model
    encoder: Encoder
    max_turns: int
    settings: EsMemSettings
    limits = SummaryLimits(UNLIMITED, UNLIMITED)

    def segment(self, scope_key: str, session: SessionTurns) -> Segmentation:
        """Return the events of a session with the topics of their turns, and a boundary before each new one.

        A question that fails costs nothing but its answer: a turn has keywords of its own words and no cut, a boundary
        a text of the events' names. It is logged, and not asked again.
        """
        turns = session.turns
        topics, tracking = self._track(session) if turns else ([], [])
        topic_by_turn = {turn.turn_id: topic for turn, topic in zip(turns, topics, strict=True)}
        events = self._events(scope_key, session, topics)
        events = name_by_keywords(events, [*session.stored, *turns], topic_by_turn, self.limits)
        new = transitions(session.index, events, session.others) if self.settings.boundaries else []
        boundaries, describing = self._boundaries(session, new, topic_by_turn)
        return Segmentation(events, boundaries, [*tracking, *describing])

    def _track(self, session: SessionTurns) -> tuple[list[TurnTopic], list[UsageEntry]]:
        """Return the topic of each turn, cut where the model judges that it shifts, and what this cost."""
        turns, before, earlier = session.turns, session.stored, _last_of(session.open_event)
        topics, usage = self._ask_topics(turns, before, earlier)
        candidates = [] if self.settings.windows else self._candidates(_described(turns, topics, earlier), len(turns))
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
        return topics, [*usage, *_usage(results)]

    def _ask_topics(
        self, turns: Sequence[Turn], before: Sequence[Turn], earlier: TurnTopic
    ) -> tuple[list[TurnTopic], list[UsageEntry]]:
        """Ask what each turn is about: a question shows the turn before, its topic and keywords."""
        topics: list[TurnTopic] = []
        results: list[LLMResult[TopicNote]] = []
        last = earlier
        for position, turn in enumerate(turns):
            context = [*before, *turns[:position]][-1:]
            result = self.model.ask(TrackTopics(turn, context, last.topic, last.keywords))
            note = result.answer
            last = TurnTopic(note.topic, tuple(note.keywords)) if note else last
            topics.append(last if note else TurnTopic(keywords=turn_keywords(turn)))
            results.append(result)
        return topics, _usage(results)

    def _candidates(self, described: Sequence[str], count: int) -> list[int]:
        """Return which of `count` turns are least coupled with the topic before; an open event's stands before all."""
        if len(described) < 2:
            return []
        vectors = self.encoder.encode(list(described))
        first = 1 + count - len(described)
        return [position + first for position in weakest(coupling(vectors[:-1], vectors[1:]), self.settings.quantile)]

    def _events(self, scope_key: str, session: SessionTurns, topics: Sequence[TurnTopic]) -> list[Event]:
        """Return events by topic; without them, windows as DimMem cuts them (Figure 3)."""
        if self.settings.windows:
            return WindowSegmenter(DimMemSettings()).events(scope_key, session, topics, self.limits)
        return session.events(EventBuilder(scope_key, self.limits), topics, session.cuts(topics, self.max_turns))

    def _boundaries(
        self, session: SessionTurns, new: Sequence[Transition], topic_by_turn: Mapping[str, TurnTopic]
    ) -> tuple[list[Boundary], list[UsageEntry]]:
        """Return the boundaries that a model describes, and what this cost."""
        turns = {turn.turn_id: turn for turn in session.turns}
        questions = [self._question(step, session.index, turns) for step in new]
        results = self.model.ask_all(questions)
        boundaries = [
            step.boundary(result.answer or step.text(question.first_turns), topic_by_turn[step.later.turn_ids[0]].p_eb)
            for step, question, result in zip(new, questions, results, strict=True)
        ]
        return boundaries, _usage(results)

    def _question(self, step: Transition, index: ScopeIndex, turns: Mapping[str, Turn]) -> DescribeBoundary:
        side = self.settings.boundary_side
        return DescribeBoundary(
            kind=step.kind,
            earlier_summary=step.earlier.summary if step.earlier else "",
            later_summary=step.later.summary,
            last_turns=_turns(index, turns, step.earlier.turn_ids[-side:]) if step.earlier else (),
            first_turns=_turns(index, turns, step.later.turn_ids[:side]),
            gap=step.gap,
            earlier_keywords=tuple(step.earlier.keywords) if step.earlier else (),
            later_keywords=tuple(step.later.keywords),
        )


def boundary_probability(label: Label, confidence: float) -> float:
    """Return the probability of a boundary in [0, 1]: c for a shift label, 1 - c for another (Eq. 3)."""
    return confidence if label in SHIFT_LABELS else 1 - confidence


def verdict_probability(verdict: BoundaryVerdict) -> float:
    """Return p_eb in [0, 1]: the mean over the likeliest and the least likely label of a verdict (Eq. 4)."""
    guesses = (verdict.likeliest, verdict.least_likely)
    return sum(boundary_probability(guess.label, guess.probability) for guess in guesses) / 2


def coupling(earlier: Vectors, later: Vectors) -> NDArray[np.float64]:
    """Compute the mutual information of neighbouring topics under a Gaussian model (Eq. 1-2).

    I = -0.5 ln(1 - rho^2), with rho the Pearson correlation over dimensions (Eq. 2): the square makes opposite topics
    look as coherent as equal ones. Of vectors of shape (n, d) and those that follow each, it returns n couplings in
    nats; a constant vector couples with nothing.
    """
    before, after = (vectors - vectors.mean(axis=1, keepdims=True) for vectors in (earlier, later))
    norms = np.linalg.norm(before, axis=1) * np.linalg.norm(after, axis=1)
    products = np.einsum("ij,ij->i", before, after)
    rho = np.divide(products, norms, out=np.zeros_like(products), where=norms > 0)
    remainder = np.maximum(1 - rho.astype(np.float64) ** 2, 1e-12)  # equal topics have a large coupling, not infinite
    return np.asarray(-0.5 * np.log(remainder))


def weakest(couplings: NDArray[np.float64], quantile: float) -> list[int]:
    """Return the positions whose coupling is at most the quantile: floor(q (n - 1)) + 1 without ties (section 3.1)."""
    if couplings.size == 0:
        return []
    return [int(position) for position in np.flatnonzero(couplings <= np.quantile(couplings, quantile))]


def _usage(results: Sequence[LLMResult[Any]]) -> list[UsageEntry]:
    """Return what questions cost, if any were asked; log that some have no answer."""
    if reasons := [result.failure.reason for result in results if result.failure]:
        LOG.warning("%d of %d questions about events have no answer: %s", len(reasons), len(results), reasons[0])
    return [entry_of("segment", results)] if results else []


def _last_of(event: Event | None) -> TurnTopic:
    """Return what the newest turns of an open event are about."""
    if event is None:
        return TurnTopic()
    return TurnTopic(event.topics[-1] if event.topics else "", tuple(event.keywords[-EARLIER_KEYWORDS:]))


def _described(turns: Sequence[Turn], topics: Sequence[TurnTopic], earlier: TurnTopic) -> list[str]:
    """Return topics and keywords as texts, the earlier one first if any.

    A turn without a topic is about its own words; without any, or where nobody spoke it, the topic before goes on.
    """
    described = [(earlier.topic, earlier.keywords)] if earlier.topic else []
    last = earlier.topic
    for turn, topic in zip(turns, topics, strict=True):
        last = topic.topic or (topic_of(list(topic.keywords), last) if turn.is_spoken else last)
        described.append((last, topic.keywords))
    return [f"{name}. {', '.join(keywords)}" for name, keywords in described]


def _turns(index: ScopeIndex, turns: Mapping[str, Turn], ids: Sequence[str]) -> tuple[Turn, ...]:
    found = (turns.get(turn_id) or index.turns.get(turn_id) for turn_id in ids)
    return tuple(turn for turn in found if turn)


@dataclass(frozen=True)
class EsMemRanker:
    """Rank events by their anchors and their summaries; by these alone where no boundary is an anchor (Figure 3)."""

    numbers: EsMemSettings

    def rank(self, matches: Matches, intent: Intent, query: Vectors) -> Iterator[Candidate]:  # noqa: ARG002 - asks by meaning alone
        """Yield the K events that score highest (section 3.3, Eq. 7-10)."""
        index, numbers = matches.index, self.numbers
        if numbers.boundary_k:
            scores = event_scores(index, query, numbers.boundary_k, numbers.boundary_window, numbers.boundary_alpha)
        else:
            scores = np.clip(index.events.cosine(query), LEAST, 1)
        return best_events(matches, scores, numbers.top_k, "boundary")
