"""What ES-Mem (arXiv 2601.07582) alone needs: events by questions, words for their boundaries, events as anchors."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from langgraph_engram.embeddings.base import Encoder, Vectors
from langgraph_engram.llm.base import LLMResult, Model, entry_of
from langgraph_engram.paper_settings import UNLIMITED, DimMemSettings, EsMemSettings
from langgraph_engram.papers.dimmem import WindowSegmenter
from langgraph_engram.papers.search import best_events
from langgraph_engram.pending import stored_turns
from langgraph_engram.prompts.describe_boundary import DescribeBoundary
from langgraph_engram.prompts.judge_boundary import BoundaryVerdict, JudgeBoundary
from langgraph_engram.prompts.track_topics import SHIFT_LABELS, Label, TopicTrack, TrackTopics
from langgraph_engram.retrieval.passages import Candidate
from langgraph_engram.retrieval.scoring import LEAST, event_scores
from langgraph_engram.schema import Event, Intent, Turn, make_id
from langgraph_engram.segmentation.boundaries import Transition, transitions
from langgraph_engram.segmentation.events import EventBuilder, SummaryLimits, TurnTopic, name_by_keywords, turn_keywords
from langgraph_engram.segmentation.segmenter import Segmentation, Segmenter, SessionTurns, Unanswered
from langgraph_engram.stores.index import Matches, ScopeIndex
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
class AskingSegmenter(Segmenter):
    """Cut turns where a model says that the topic shifts, and let it describe how (sections 3.1 and 3.2)."""

    model: Model
    encoder: Encoder
    max_turns: int
    settings: EsMemSettings
    limits = SummaryLimits(UNLIMITED, UNLIMITED)

    def segment(self, scope_key: str, session: SessionTurns) -> Segmentation:
        """Return the events of a session with the topics of their turns, and a boundary before each new one."""
        turns = session.turns
        topics, tracking = self._track(session) if turns else ([], Segmentation())
        topic_by_turn = {turn.turn_id: topic for turn, topic in zip(turns, topics, strict=True)}
        events = self._events(scope_key, session, topics)
        events = name_by_keywords(events, [*session.stored, *turns], topic_by_turn, self.limits)
        new = transitions(session.index, events, session.others) if self.settings.boundaries else []
        return Segmentation(events) + tracking + self._boundaries(session, new, topic_by_turn)

    def describe_again(self, scope_key: str, index: ScopeIndex, events: Sequence[Event]) -> Segmentation:
        """Return stored events with new topics, and the boundaries before them with new texts.

        Their turns stay where they are, for records and neighbours rest on them. What fails again is as it was.
        """
        turns = {event.event_id: stored_turns(index, event.turn_ids) for event in events}
        tracked = {event_id: ask_topics(self.model, own) for event_id, own in turns.items()}
        builder = EventBuilder(scope_key, self.limits)
        renamed = [_renamed(builder, event, tracked[event.event_id]) for event in events]
        stored = [index.boundaries.get(make_id("boundary", event.event_id)) for event in renamed]
        known = [(boundary, event) for boundary, event in zip(stored, renamed, strict=True) if boundary]
        steps = [Transition(index.events.get(boundary.from_event_id or ""), event) for boundary, event in known]
        results = self.model.ask_all([self._question(step, index, {}) for step in steps])
        boundaries = [
            boundary.model_copy(update={"text": result.answer})
            for (boundary, _), result in zip(known, results, strict=True)
            if result.answer
        ]
        asked: list[tuple[Sequence[Turn], LLMResult[Any]]] = [
            *((turns[event_id], each.result) for event_id, own in tracked.items() for each in own),
            *((turns[event.event_id], result) for (_, event), result in zip(known, results, strict=True)),
        ]
        usage = [entry_of("segment", [result for _, result in asked])]
        return Segmentation(renamed, boundaries, usage, _unanswered(asked))

    def _track(self, session: SessionTurns) -> tuple[list[TurnTopic], Segmentation]:
        """Return the topic of each turn, cut where the model judges that it shifts, and what this cost.

        A turn whose question failed has keywords of its own words, and no cut.
        """
        turns, before, earlier = session.turns, session.stored, _last_of(session.open_event)
        tracked = ask_topics(self.model, turns, before, earlier)
        topics = [each.topic or TurnTopic(keywords=turn_keywords(each.turn)) for each in tracked]
        usage = [entry_of("segment", [each.result for each in tracked])]
        unanswered = _unanswered(([each.turn], each.result) for each in tracked)
        candidates = [] if self.settings.windows else self._candidates(_described(tracked, earlier), len(turns))
        if not candidates:
            return topics, Segmentation(usage=usage, unanswered=unanswered)
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
            unanswered += _unanswered([([turns[position]], result)])
        usage.append(entry_of("segment", results))
        return topics, Segmentation(usage=usage, unanswered=unanswered)

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
    ) -> Segmentation:
        """Return the boundaries that a model describes; one whose question failed has a text of the events' names."""
        turns = {turn.turn_id: turn for turn in session.turns}
        questions = [self._question(step, session.index, turns) for step in new]
        results = self.model.ask_all(questions)
        boundaries = [
            step.boundary(result.answer or step.text(question.first_turns), topic_by_turn[step.later.turn_ids[0]].p_eb)
            for step, question, result in zip(new, questions, results, strict=True)
        ]
        unanswered = _unanswered(
            ([turns[turn_id] for turn_id in step.later.turn_ids if turn_id in turns], result)
            for step, result in zip(new, results, strict=True)
        )
        return Segmentation([], boundaries, [entry_of("segment", results)] if results else [], unanswered)

    def _question(self, step: Transition, index: ScopeIndex, turns: Mapping[str, Turn]) -> DescribeBoundary:
        side = self.settings.boundary_side
        return DescribeBoundary(
            kind=step.kind,
            earlier_summary=step.earlier.summary if step.earlier else "",
            later_summary=step.later.summary,
            last_turns=_turns(index, turns, step.earlier.turn_ids[-side:]) if step.earlier else (),
            first_turns=_turns(index, turns, step.later.turn_ids[:side]),
            gap=step.gap,
        )


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


def boundary_probability(label: Label, confidence: float) -> float:
    """Return the probability of a boundary in [0, 1]: c for a shift label, 1 - c for another (Eq. 3)."""
    return confidence if label in SHIFT_LABELS else 1 - confidence


def verdict_probability(verdict: BoundaryVerdict) -> float:
    """Return p_eb in [0, 1]: the mean over the likeliest and the least likely label of a verdict (Eq. 4)."""
    guesses = (verdict.likeliest, verdict.least_likely)
    return sum(boundary_probability(guess.label, guess.probability) for guess in guesses) / 2


def coupling(earlier: Vectors, later: Vectors) -> NDArray[np.float64]:
    """Compute the mutual information of neighbouring topics under a Gaussian model (Eq. 1).

    I = -0.5 ln(1 - rho^2), with rho the Pearson correlation over dimensions. The paper's square makes opposite topics
    look coherent; rho below zero counts as zero here. Of vectors of shape (n, d) and those that follow each, it returns
    n couplings in nats; a constant vector couples with nothing.
    """
    before, after = (vectors - vectors.mean(axis=1, keepdims=True) for vectors in (earlier, later))
    norms = np.linalg.norm(before, axis=1) * np.linalg.norm(after, axis=1)
    products = np.einsum("ij,ij->i", before, after)
    rho = np.divide(products, norms, out=np.zeros_like(products), where=norms > 0)
    clipped = np.clip(rho, 0, 1).astype(np.float64)
    return np.asarray(-0.5 * np.log(np.maximum(1 - clipped**2, LEAST_REMAINDER)))


def weakest(couplings: NDArray[np.float64], quantile: float) -> list[int]:
    """Return the positions whose coupling is at most the quantile: floor(q (n - 1)) + 1 without ties (Eq. 2)."""
    if couplings.size == 0:
        return []
    return [int(position) for position in np.flatnonzero(couplings <= np.quantile(couplings, quantile))]


def _unanswered(asked: Iterable[tuple[Sequence[Turn], LLMResult[Any]]]) -> list[Unanswered]:
    """Return the turns whose question failed, and why."""
    return [(turns, result.failure.reason) for turns, result in asked if result.failure]


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


def _renamed(builder: EventBuilder, event: Event, tracked: Sequence[TrackedTurn]) -> Event:
    """Return an event with the topics and keywords of its turns; as it is where nothing was answered."""
    topics = [each.topic for each in tracked if each.topic]
    if not topics:
        return event
    turns = [each.turn for each in tracked]
    return builder.extend(event.model_copy(update={"topics": [], "keywords": []}), turns, topics)


def _turns(index: ScopeIndex, turns: Mapping[str, Turn], ids: Sequence[str]) -> tuple[Turn, ...]:
    found = (turns.get(turn_id) or index.turns.get(turn_id) for turn_id in ids)
    return tuple(turn for turn in found if turn)


@dataclass(frozen=True)
class EsMemRanker:
    """Rank events by their anchors and their summaries; by these alone where no boundary is an anchor (Figure 3)."""

    numbers: EsMemSettings

    def rank(self, matches: Matches, intent: Intent, query: Vectors) -> Iterator[Candidate]:  # noqa: ARG002 - asks by meaning alone
        """Yield the K events that score highest (section 3.3, Eq. 5-7)."""
        index, numbers = matches.index, self.numbers
        if numbers.boundary_k:
            scores = event_scores(index, query, numbers.boundary_k, numbers.boundary_window, numbers.boundary_alpha)
        else:
            scores = np.clip(index.events.cosine(query), LEAST, 1)
        return best_events(matches, scores, numbers.top_k, "boundary")
