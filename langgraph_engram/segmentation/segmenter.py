"""Cut a run's turns into events where their subject changes, and describe how each begins.

Events have core turns and read-only context turns; sessions are never crossed. An event that is open at the end of a
call goes on in the next call of its session, under the same id.

Without a language model a logistic regression over the gaps between turns finds where events begin; its weights come
from the lab (`training/boundary_model.py`). What it says of single gaps is then weighed by the dialogue at hand: kinds
of turns that seldom open a subject in it count less, a dialogue whose subjects are plain to see is cut only where they
are plain, and where coherence has much contrast, a second regression over coherence alone decides. See
docs/decisions/0006.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from langgraph_engram.embeddings.base import Encoder, Vectors, encode_items, texts_of_turn
from langgraph_engram.logistic import LogisticRegression, Numbers, log_odds, sigmoid
from langgraph_engram.results import UsageEntry
from langgraph_engram.schema import Boundary, Event, Turn, is_unnamed_session
from langgraph_engram.segmentation.events import (
    EventBuilder,
    SummaryLimits,
    TurnTopic,
    name_by_keywords,
    transitions,
    turn_keywords,
)
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.text.questions import TurnCues, read_cues

Positions = NDArray[np.int_]
FEATURES = (
    "asks", "asks_inside", "asked_before", "asked_inside_before", "ended_asking_before", "question_cue",
    "asks_in_reply", "greets", "greeted_before", "takes_leave", "took_leave_before", "points_back", "shared_stems",
    "length", "coherence_1", "coherence_2", "coherence_3", "relative_coherence", "relative_depth",
    "is_minimum_1", "is_minimum_2",
    "across_later", "across_earlier", "coherence_ahead",
)  # fmt: skip
"""The numbers of a gap, in the order of the columns."""
PRIOR_GAPS = 6
"""Gaps that the prior counts for."""
MOST_STEMS = 8
"""Stems of a turn that can be expected to be said again."""
REACH = 3
"""Gaps on each side among which a peak of coherence is looked for."""
PRIOR_ACROSS = 0.25
PRIOR_AHEAD = 0.4
"""Prior means of single similarities: across one turn, and with the turns that follow."""
WEIGHTS_FILE = "boundary_weights.json"
COHERENCE_WEIGHTS_FILE = "coherence_weights.json"
"""Weights of the features of coherence alone."""
LOOK_BACK = 30
"""Stored turns that are read before those of a run."""
MIN_PROBABILITY = 0.22
"""The boundary probability below which no turn opens an event, whatever the dialogue."""
CERTAINTY_SHARE = 0.7
"""Share that counts of the threshold with the best expected F1; all of it where coherence alone decides."""
MIN_CONTRAST = 0.5
"""Range of coherence, in [0, 2], up to which cues count in full; from twice that on coherence alone decides."""
SHARPENING = 0.5
"""Exponent by which speakers and kinds of turns that rarely open a topic in a dialogue count less there."""
REPLY_PENALTY = 2.0
"""Log-odds subtracted from turns of an assistant: they rather answer than open a topic."""
CLIP = 1e-6
"""The least distance of a probability from 0 and 1 before its logarithm is taken."""
DIGITS = 6
"""Decimals of a probability, so that a run done again gives the same one: the last change with the processor."""


@dataclass(frozen=True)
class _Prior:
    """The mean and the deviation that are usual in a dialogue."""

    mean: float
    deviation: float

    def relative(self, values: Numbers) -> Numbers:
        """Return values as deviations from their mean, both drawn towards the prior."""
        count = PRIOR_GAPS + len(values)
        mean = (PRIOR_GAPS * self.mean + values.sum()) / count
        variance = (PRIOR_GAPS * self.deviation**2 + ((values - mean) ** 2).sum()) / count
        return np.asarray((values - mean) / np.sqrt(variance))


COHERENCE = _Prior(0.5, 0.1)
DEPTH = _Prior(0.15, 0.14)
LENGTH = _Prior(2.3, 0.6)
"""Logarithms of words a turn."""


def boundary_features(cues: Sequence[TurnCues], vectors: Vectors) -> Numbers:
    """Return the numbers that describe the gaps between n turns, by their cues and their unit vectors of shape (n, d).

    The array has the shape (n - 1, len(FEATURES)); row i is the gap before turn i + 1. No gaps give (0, ...).
    """
    if len(cues) < 2:
        return np.zeros((0, len(FEATURES)))
    centred = vectors.astype(np.float64) - vectors.mean(axis=1, keepdims=True)
    return np.column_stack([*_dialogue_features(cues), *_coherence_features(centred @ centred.T)])


def coherence(products: Numbers, side: int) -> Numbers:
    """Compute the correlation between the means of `side` turns before and after each gap (rho of ES-Mem Eq. 1).

    Inner products of n turns' centred vectors, of shape (n, n), give n - 1 correlations in [-1, 1]. A side has fewer
    turns where a dialogue begins or ends; a constant vector correlates with nothing.
    """
    sums = np.pad(products, ((1, 0), (1, 0))).cumsum(axis=0).cumsum(axis=1)
    gaps = np.arange(1, len(products))
    low, high = np.maximum(0, gaps - side), np.minimum(len(products), gaps + side)
    within_before = _block(sums, low, gaps, low, gaps)
    within_after = _block(sums, gaps, high, gaps, high)
    size = np.sqrt(np.maximum(within_before, 0) * np.maximum(within_after, 0))
    across = _block(sums, low, gaps, gaps, high)
    rho = np.divide(across, size, out=np.zeros_like(across), where=size > np.finfo(np.float32).eps)
    return np.asarray(np.clip(rho, -1, 1))


shipped_regression = partial(LogisticRegression.load, FEATURES, "langgraph_engram.segmentation")


def sharpen(probabilities: Numbers, kinds: Sequence[object]) -> Numbers:
    """Lower the gaps of a kind that seldom opens a subject in this dialogue; one probability and one kind a gap.

    A gap is lowered by `SHARPENING` times the logarithm of how much less probable the other gaps of its kind are than
    those of other kinds; both means lean on the dialogue's own as on one more gap. No gap is raised.
    """
    if len(set(kinds)) < 2:
        return probabilities
    named = np.array([str(kind) for kind in kinds])
    mean, count, total = probabilities.mean(), len(probabilities), probabilities.sum()
    logits = log_odds(probabilities, CLIP)
    for kind in set(named):
        of_kind = named == kind
        sum_of_kind, number = probabilities[of_kind].sum(), int(of_kind.sum())
        like = (sum_of_kind - probabilities[of_kind] + mean) / number
        unlike = (total - sum_of_kind + mean) / (count - number + 1)
        logits[of_kind] += np.minimum(0.0, SHARPENING * np.log(np.maximum(like, CLIP) / max(unlike, CLIP)))
    return sigmoid(logits)


def coherence_weight(features: Numbers) -> float:
    """Return how far coherence alone decides, in [0, 1]: all of it where its extremes are far apart."""
    contrast = float(np.ptp(features[:, FEATURES.index("coherence_2")]))
    return min(1.0, max(0.0, contrast / MIN_CONTRAST - 1))


def own_threshold(probabilities: Numbers, share: float) -> float:
    """Return the probability from which a gap of this dialogue is a boundary, at least `MIN_PROBABILITY`.

    The threshold that does best for the expected F1 is half of the F1 it reaches (Lipton et al. 2014): high where the
    probabilities are far apart, low where they are not. `share` is the part of it that counts.
    """
    falling = np.sort(probabilities)[::-1]
    reached = 2 * falling.cumsum() / (np.arange(1, len(falling) + 1) + probabilities.sum())
    return max(MIN_PROBABILITY, share * float(reached.max()) / 2)


def peaks(probabilities: Numbers, threshold: float) -> NDArray[np.bool_]:
    """Mark the gaps that reach the threshold and are no less probable than their neighbours."""
    padded = np.pad(probabilities, 1)
    highest = (probabilities >= padded[:-2]) & (probabilities >= padded[2:])
    return np.asarray(highest & (probabilities >= threshold))


@dataclass(frozen=True)
class BoundaryDetector:
    """Mark where events begin by the learned regression."""

    encoder: Encoder

    def track(self, turns: Sequence[Turn], before: Sequence[Turn]) -> list[TurnTopic]:
        """Return each turn's keywords, and the boundary probability before it; none before a session's first turn."""
        probabilities, cuts = self.judge([*before[-LOOK_BACK:], *turns])
        first = [] if before else [TurnTopic(keywords=turn_keywords(turns[0]))]
        judged = turns[len(first) :]
        return first + [
            TurnTopic(keywords=turn_keywords(turn), p_eb=round(float(p_eb), DIGITS), cut=bool(cut))
            for turn, p_eb, cut in zip(judged, probabilities[-len(judged) :], cuts[-len(judged) :], strict=True)
        ]

    def judge(self, turns: Sequence[Turn]) -> tuple[Numbers, NDArray[np.bool_]]:
        """Return the boundary probability of each gap between turns of one session, and whether it is a boundary."""
        if len(turns) < 2:
            return np.zeros(0), np.zeros(0, dtype=np.bool_)
        cues = [read_cues(turn.said) for turn in turns]
        features = boundary_features(cues, encode_items(self.encoder, list(map(texts_of_turn, turns))))
        weight = coherence_weight(features)
        coherence_alone = log_odds(shipped_regression(COHERENCE_WEIGHTS_FILE).probability(features), CLIP)
        probabilities = sigmoid((1 - weight) * _log_odds(features, turns, cues) + weight * coherence_alone)
        share = (1 - weight) * CERTAINTY_SHARE + weight
        return probabilities, peaks(probabilities, own_threshold(probabilities, share))


def _log_odds(features: Numbers, turns: Sequence[Turn], cues: Sequence[TurnCues]) -> Numbers:
    """Weigh what all features say by the kinds of turns: who speaks, and whether a question follows a statement."""
    found = sharpen(shipped_regression(WEIGHTS_FILE).probability(features), [turn.speaker for turn in turns[1:]])
    found = sharpen(found, [later.asks and not earlier.asks for earlier, later in pairwise(cues)])
    answers = np.array([turn.role != "user" for turn in turns[1:]])
    return np.asarray(log_odds(found, CLIP) - REPLY_PENALTY * answers)


def _dialogue_features(cues: Sequence[TurnCues]) -> list[Numbers]:
    rows = [
        (cue.asks, cue.asks_inside, cue.ends_asking, cue.replies, cue.greets, cue.takes_leave, cue.points_back)
        for cue in cues
    ]
    asks, inside, ends, replies, greets, leaves, points = np.array(rows, dtype=np.float64).T
    length = LENGTH.relative(np.log1p(np.array([cue.length for cue in cues], dtype=np.float64)))
    return [
        asks[1:], inside[1:], asks[:-1], inside[:-1], ends[:-1], asks[1:] * (1 - asks[:-1]), asks[1:] * replies[1:],
        greets[1:], greets[:-1], leaves[1:], leaves[:-1], points[1:], _shared_stems(cues), length[1:],
    ]  # fmt: skip


def _shared_stems(cues: Sequence[TurnCues]) -> Numbers:
    """Return the share of a turn's stems that the two turns before it hold."""
    stems = [frozenset[str](), *(cue.stems for cue in cues)]
    said = zip(stems, stems[1:], stems[2:], strict=False)
    return np.array([len(own & (last | before)) / max(1, min(len(own), MOST_STEMS)) for before, last, own in said])


def _coherence_features(products: Numbers) -> list[Numbers]:
    side_1, side_2, side_3 = (coherence(products, side) for side in (1, 2, 3))
    later, earlier = _across(products)
    depths = _highest_ahead(side_3[::-1])[::-1] + _highest_ahead(side_3) - 2 * side_3
    return [
        side_1, side_2, side_3, COHERENCE.relative(side_2), DEPTH.relative(depths), _minima(side_1), _minima(side_2),
        later, earlier, _ahead(products),
    ]  # fmt: skip


def _block(sums: Numbers, top: Positions, bottom: Positions, left: Positions, right: Positions) -> Numbers:
    return np.asarray(sums[bottom, right] - sums[top, right] - sums[bottom, left] + sums[top, left])


def _highest_ahead(values: Numbers) -> Numbers:
    """Return the highest of each value and the `REACH` that follow."""
    padded = np.pad(values, (0, REACH), constant_values=-np.inf)
    return np.asarray(np.lib.stride_tricks.sliding_window_view(padded, REACH + 1).max(axis=1))


def _minima(values: Numbers) -> Numbers:
    """Return 1 for each value that no neighbour is below, else 0."""
    padded = np.pad(values, 1, mode="edge")
    return np.asarray((values <= padded[:-2]) & (values <= padded[2:]), dtype=np.float64)


def _across(products: Numbers) -> tuple[Numbers, Numbers]:
    """Return what the turn before a gap shares with the second after it, and the second before with the one after."""
    skips = np.diagonal(products, offset=2)
    mean = (skips.sum() + PRIOR_ACROSS) / (len(skips) + 1)
    return np.append(skips - mean, 0.0), np.insert(skips - mean, 0, 0.0)


def _ahead(products: Numbers) -> Numbers:
    """Return what the turn after a gap shares with one of the two turns that follow it; 0 where none does yet."""
    near, far = np.diagonal(products, offset=1)[1:], np.diagonal(products, offset=2)[1:]
    best = np.maximum(near, np.append(far, -np.inf)) if len(near) else near
    mean = (best.sum() + PRIOR_AHEAD) / (len(best) + 1)
    return np.append(best - mean, 0.0)


@dataclass(frozen=True)
class Segmentation:
    """The events of a run's turns, the boundaries before the new ones, and what these cost."""

    events: list[Event] = field(default_factory=list)
    boundaries: list[Boundary] = field(default_factory=list)
    usage: list[UsageEntry] = field(default_factory=list)

    def __add__(self, other: "Segmentation") -> "Segmentation":
        return Segmentation(self.events + other.events, self.boundaries + other.boundaries, self.usage + other.usage)


@dataclass(frozen=True)
class SessionTurns:
    """A run's turns of one session, beside what is stored of it."""

    index: ScopeIndex
    session_id: str
    turns: Sequence[Turn]
    """Turns that no event holds yet, in order; may be none where a session is only closed."""
    others: Sequence[Event] = ()
    """The run's events of other sessions, which are not stored yet."""
    closes: bool = False
    """Whether the session ends with these turns."""

    @cached_property
    def stored(self) -> list[Turn]:
        """Return the stored turns that come before them."""
        stored = self.index.session_turns(self.session_id)
        return [turn for turn in stored if turn.seq < self.turns[0].seq] if self.turns else stored

    @cached_property
    def open_event(self) -> Event | None:
        """Return the event of the session that is still open; None if all are closed."""
        events = self.index.session_events(self.session_id)
        return events[-1] if events and events[-1].status == "open" else None

    @property
    def open_turns(self) -> list[Turn]:
        """Return the stored turns of the open event."""
        return [turn for turn in self.stored if self.open_event and turn.turn_id in self.open_event.turn_ids]

    def events(
        self,
        builder: EventBuilder,
        topics: Sequence[TurnTopic],
        cuts: Sequence[int],
        context: Callable[[Sequence[Turn]], Sequence[Turn]] | None = None,
    ) -> list[Event]:
        """Return the events that the turns open or extend; all but the last are closed.

        One begins before each position of `cuts`, in order; without 0, an open event goes on. `context` returns what is
        read before an event, of all turns that come before it.
        """
        edges = [*([0] if self.turns else []), *(cut for cut in cuts if cut), len(self.turns)]
        events = [self.open_event] if self.open_event else []
        seq = len(self.index.session_events(self.session_id))
        for start, end in pairwise(edges):
            core, about = self.turns[start:end], topics[start:end]
            if self.open_event and start == 0 and 0 not in cuts:
                events[-1] = builder.extend(self.open_event, core, about)
                continue
            read = context([*self.stored, *self.turns[:start]]) if context else ()
            events.append(builder.begin(core, about, seq, read))
            seq += 1
        last = len(events) - (0 if self.closes else 1)
        return [event.model_copy(update={"status": "closed"}) for event in events[:last]] + events[last:]

    def cuts(self, topics: Sequence[TurnTopic], most: int) -> list[int]:
        """Return the positions where an event begins: at each cut, and where one would hold more than `most` turns."""
        size = len(self.open_turns)
        cuts: list[int] = []
        for position, topic in enumerate(topics):
            if topic.cut or size >= most:
                cuts.append(position)
                size = 0
            size += 1
        return cuts


class Segmenter(ABC):
    """Cut turns into events."""

    context_turns: int = 0
    """Turns before an event that are read with it, a source where `shares_turns`."""
    shares_turns: bool = False
    """Whether these are a source of what is drawn from it, too."""
    waits: bool = False
    """Whether nothing is drawn from an event before it is closed."""
    limits = SummaryLimits()

    def reads(self, event: Event) -> bool:
        """Return whether records are drawn from an event by now; a session without a name has come whole."""
        return not self.waits or event.status == "closed" or is_unnamed_session(event.session_id)

    @abstractmethod
    def segment(self, scope_key: str, session: SessionTurns) -> Segmentation:
        """Return the events of a session that a run opens, extends or closes, and the boundaries before new ones."""


@dataclass(frozen=True)
class LearnedSegmenter(Segmenter):
    """Cut turns where a small statistical model finds a boundary; no language model is asked."""

    encoder: Encoder
    max_turns: int
    """Turns from which an event is closed whatever its topic."""
    has_boundaries: bool = True
    shares_turns: bool = False
    waits: bool = False
    context_turns = 2

    def segment(self, scope_key: str, session: SessionTurns) -> Segmentation:
        """Return the events of a session, named by their keywords, and the boundaries before the new ones."""
        turns = session.turns
        topics = BoundaryDetector(self.encoder).track(turns, session.stored) if turns else []
        cuts = session.cuts(topics, self.max_turns)
        events = session.events(EventBuilder(scope_key), topics, cuts, lambda earlier: earlier[-self.context_turns :])
        topic_of = {turn.turn_id: topic for turn, topic in zip(turns, topics, strict=True)}
        events = name_by_keywords(events, [*session.stored, *turns], topic_of)
        said = {turn.turn_id: turn for turn in turns}
        new = transitions(session.index, events, session.others) if self.has_boundaries else []
        begun = [(step, step.later.turn_ids[0]) for step in new]
        boundaries = [step.boundary(step.text([said[first]]), topic_of[first].p_eb) for step, first in begun]
        return Segmentation(events, boundaries)
