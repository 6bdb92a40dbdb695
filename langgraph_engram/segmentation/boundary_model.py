"""Detect event boundaries without a language model: a logistic regression over the gaps between turns.

The weights come from `training/boundary_model.py`. What the regression says of single gaps is then weighed by the
dialogue at hand: kinds of turns that seldom open a subject in it count less, and a dialogue whose subjects are plain to
see is cut only where they are plain. See docs/decisions/0007.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from langgraph_engram.embeddings.base import Encoder, Vectors, encode_turns
from langgraph_engram.schema import Event, Turn
from langgraph_engram.segmentation.events import TurnTopic, last_topic, provisional_topics
from langgraph_engram.settings import SegmentSettings
from langgraph_engram.text.dialogue_acts import SpeechCues, read_cues

Numbers = NDArray[np.float64]

FEATURES = (
    "asks", "asks_inside", "asked_before", "asked_inside_before", "ended_asking_before", "question_cue",
    "asks_in_reply", "greets", "greeted_before", "takes_leave", "took_leave_before", "points_back", "shared_stems",
    "length", "coherence_1", "coherence_2", "coherence_3", "relative_coherence", "relative_depth",
    "is_minimum_1", "is_minimum_2",
    "across_later", "across_earlier", "coherence_ahead",
)  # fmt: skip
"""The numbers of a gap, in the order of the columns."""
WEIGHTS_FILE = "boundary_weights.json"
CLIP = 1e-6
"""The least distance of a probability from 0 and 1 before its logarithm is taken."""
DIGITS = 6
"""Decimals to which a probability is rounded. The last ones of a sum change with the processor, and even with where its
numbers lie in memory: a run that is done again must give the same boundary."""
PRIOR_GAPS = 6
"""Gaps that the prior counts for."""
MOST_STEMS = 8
"""Stems of a turn that can be expected to be said again."""
REACH = 3
"""Gaps on each side among which a peak of coherence is looked for."""
PRIOR_ACROSS = 0.25
PRIOR_AHEAD = 0.4
"""Prior means of single similarities: across one turn, and with the turns that follow."""


@dataclass(frozen=True)
class Prior:
    """The mean and the deviation that are usual in a dialogue."""

    mean: float
    deviation: float

    def relative(self, values: Numbers) -> Numbers:
        """Return values as deviations from their mean, both drawn towards the prior."""
        count = PRIOR_GAPS + len(values)
        mean = (PRIOR_GAPS * self.mean + values.sum()) / count
        variance = (PRIOR_GAPS * self.deviation**2 + ((values - mean) ** 2).sum()) / count
        return np.asarray((values - mean) / np.sqrt(variance))


COHERENCE = Prior(0.5, 0.1)
DEPTH = Prior(0.15, 0.14)
LENGTH = Prior(2.3, 0.6)
"""Logarithms of words a turn."""


def boundary_features(cues: Sequence[SpeechCues], vectors: Vectors) -> Numbers:
    """Describe the gaps between n turns.

    Args:
        cues: The dialogue acts of each turn.
        vectors: Their unit vectors, of shape (n, d).

    Returns:
        An array of shape (n - 1, len(FEATURES)); row i is the gap before turn i + 1. No gaps give (0, ...).
    """
    if len(cues) < 2:
        return np.zeros((0, len(FEATURES)))
    centred = vectors.astype(np.float64) - vectors.mean(axis=1, keepdims=True)
    return np.column_stack([*_spoken(cues), *_coherent(centred @ centred.T)])


def _spoken(cues: Sequence[SpeechCues]) -> list[Numbers]:
    asks, inside, ends, replies, greets, leaves, points = np.array(
        [
            (cue.asks, cue.asks_inside, cue.ends_asking, cue.replies, cue.greets, cue.takes_leave, cue.points_back)
            for cue in cues
        ],
        dtype=np.float64,
    ).T
    length = LENGTH.relative(np.log1p(np.array([cue.length for cue in cues], dtype=np.float64)))
    return [
        asks[1:], inside[1:], asks[:-1], inside[:-1], ends[:-1], asks[1:] * (1 - asks[:-1]), asks[1:] * replies[1:],
        greets[1:], greets[:-1], leaves[1:], leaves[:-1], points[1:], _shared(cues), length[1:],
    ]  # fmt: skip


def _shared(cues: Sequence[SpeechCues]) -> Numbers:
    """Return the share of a turn's stems that the two turns before it hold."""
    none: frozenset[str] = frozenset()
    before = [cue.stems | previous for cue, previous in zip(cues, [none, *(cue.stems for cue in cues)], strict=False)]
    shares = [
        len(cue.stems & earlier) / max(1, min(len(cue.stems), MOST_STEMS))
        for cue, earlier in zip(cues[1:], before, strict=False)
    ]
    return np.array(shares)


def _coherent(products: Numbers) -> list[Numbers]:
    side_1, side_2, side_3 = (coherence(products, side) for side in (1, 2, 3))
    later, earlier = _across(products)
    depths = _highest_ahead(side_3[::-1])[::-1] + _highest_ahead(side_3) - 2 * side_3
    return [
        side_1, side_2, side_3, COHERENCE.relative(side_2), DEPTH.relative(depths), _minima(side_1), _minima(side_2),
        later, earlier, _ahead(products),
    ]  # fmt: skip


def coherence(products: Numbers, side: int) -> Numbers:
    """Compute the correlation between the means of `side` turns before and after each gap (rho of ES-Mem Eq. 1).

    Args:
        products: Inner products of the turns' centred vectors, of shape (n, n).
        side: L, turns a side, fewer where a dialogue begins or ends.

    Returns:
        n - 1 correlations in [-1, 1]; a constant vector correlates with nothing.
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


def _block(
    sums: Numbers, top: NDArray[np.int_], bottom: NDArray[np.int_], left: NDArray[np.int_], right: NDArray[np.int_]
) -> Numbers:
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
class BoundaryModel:
    """A logistic regression over the numbers of a gap."""

    intercept: float
    weights: Mapping[str, float]
    """One weight a feature, by name."""

    def probability(self, features: Numbers) -> Numbers:
        """Compute the probability of a boundary in each gap.

        Args:
            features: Of shape (gaps, len(FEATURES)).

        Returns:
            One probability a gap, in [0, 1].
        """
        weights = np.array([self.weights[name] for name in FEATURES])
        return sigmoid(self.intercept + features @ weights)


@cache
def load_model() -> BoundaryModel:
    """Load the weights beside this module."""
    text = files("langgraph_engram.segmentation").joinpath(WEIGHTS_FILE).read_text(encoding="utf-8")
    stored = json.loads(text)
    return BoundaryModel(stored["intercept"], stored["weights"])


def sigmoid(log_odds: Numbers) -> Numbers:
    """Turn log-odds into probabilities."""
    return np.asarray(1 / (1 + np.exp(-log_odds)))


def log_odds_of(probabilities: Numbers) -> Numbers:
    """Turn probabilities into log-odds, finite ones."""
    clipped = np.clip(probabilities, CLIP, 1 - CLIP)
    return np.asarray(np.log(clipped / (1 - clipped)))


def sharpen(probabilities: Numbers, kinds: Sequence[object], strength: float) -> Numbers:
    """Lower the gaps of a kind that seldom opens a subject in this dialogue.

    A gap is lowered by `strength` times the logarithm of how much less probable the other gaps of its kind are than
    those of other kinds; both means lean on the dialogue's own as on one more gap. No gap is raised.

    Args:
        probabilities: One a gap.
        kinds: The kind of each gap: who speaks after it, or whether a question follows a statement.
        strength: 0 leaves all as it is.
    """
    if len(set(kinds)) < 2:
        return probabilities
    named = np.array([str(kind) for kind in kinds])
    mean, count, total = probabilities.mean(), len(probabilities), probabilities.sum()
    log_odds = log_odds_of(probabilities)
    for kind in set(named):
        of_kind = named == kind
        sum_of_kind, number = probabilities[of_kind].sum(), int(of_kind.sum())
        like = (sum_of_kind - probabilities[of_kind] + mean) / number
        unlike = (total - sum_of_kind + mean) / (count - number + 1)
        log_odds[of_kind] += np.minimum(0.0, strength * np.log(np.maximum(like, CLIP) / max(unlike, CLIP)))
    return sigmoid(log_odds)


def own_threshold(probabilities: Numbers, least: float, share: float) -> float:
    """Return the probability from which a gap of this dialogue is a boundary.

    The threshold that does best for the expected F1 is half of the F1 it reaches (Lipton et al. 2014): high where the
    probabilities are far apart, low where they are not.

    Args:
        probabilities: One a gap, at least one.
        least: No threshold is below it, so that a dialogue about one thing stays whole.
        share: The part of the best threshold that counts; 0 takes `least` everywhere.
    """
    falling = np.sort(probabilities)[::-1]
    reached = 2 * falling.cumsum() / (np.arange(1, len(falling) + 1) + probabilities.sum())
    return max(least, share * float(reached.max()) / 2)


def peaks(probabilities: Numbers, threshold: float) -> NDArray[np.bool_]:
    """Mark the gaps that reach the threshold and are no less probable than their neighbours."""
    padded = np.pad(probabilities, 1)
    highest = (probabilities >= padded[:-2]) & (probabilities >= padded[2:])
    return np.asarray(highest & (probabilities >= threshold))


@dataclass(frozen=True)
class BoundaryDetector:
    """Mark where events begin by the learned model."""

    encoder: Encoder
    settings: SegmentSettings

    def track(self, turns: Sequence[Turn], before: Sequence[Turn], open_event: Event | None) -> list[TurnTopic]:
        """Return a topic for each turn, with the probability of a boundary before it.

        Args:
            turns: The run's turns, at least one.
            before: The turns of the same session that are stored already, oldest first.
            open_event: The event of the session that is still open.

        Returns:
            One topic a turn. The session's first turn has no probability: nothing stands before it.
        """
        earlier = before[-self.settings.look_back :] if self.settings.look_back else []
        topics = provisional_topics(turns, last_topic(open_event))
        probabilities = self.probabilities([*earlier, *turns])
        if not len(probabilities):
            return topics
        threshold = own_threshold(probabilities, self.settings.least_probability, self.settings.certainty_share)
        cuts = peaks(probabilities, threshold)
        first = len(turns) - len(probabilities[-len(turns) :])
        judged = zip(topics[first:], probabilities[-len(turns) :], cuts[-len(turns) :], strict=True)
        return [
            *topics[:first],
            *(replace(topic, p_eb=round(float(p_eb), DIGITS), cut=bool(cut)) for topic, p_eb, cut in judged),
        ]

    def probabilities(self, turns: Sequence[Turn]) -> Numbers:
        """Compute the probability of a boundary in each gap between turns of one session.

        Returns:
            One probability a gap, in [0, 1].
        """
        if len(turns) < 2:
            return np.zeros(0)
        cues = [read_cues(" ".join([turn.text, *turn.captions])) for turn in turns]
        vectors = encode_turns(self.encoder, turns)
        found = load_model().probability(boundary_features(cues, vectors))
        strength = self.settings.sharpening
        found = sharpen(found, [turn.speaker for turn in turns[1:]], strength)
        found = sharpen(found, _question_cues(cues), strength)
        answers = np.array([turn.role != "user" for turn in turns[1:]])
        return sigmoid(log_odds_of(found) - self.settings.reply_penalty * answers)


def _question_cues(cues: Sequence[SpeechCues]) -> list[bool]:
    """Return for each gap whether a question follows something else than a question."""
    return [later.asks and not earlier.asks for earlier, later in pairwise(cues)]
