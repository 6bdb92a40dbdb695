"""Judge without a language model where a conversation turns to something else: a logistic regression over its gaps.

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
PRIOR_GAPS = 6
"""Gaps that what is usual counts for."""
MOST_STEMS = 8
"""Stems of a turn that can be expected to be said again."""
REACH = 3
"""Gaps on each side among which a peak of coherence is looked for."""
FEW_ACROSS = 0.25
USUAL_AHEAD = 0.4
"""What is usual of single similarities: across one turn, and with the turns that follow."""


@dataclass(frozen=True)
class Usual:
    """The mean and the deviation that are usual in a dialogue."""

    mean: float
    deviation: float

    def relative(self, values: Numbers) -> Numbers:
        """Give values as deviations from their mean, both drawn towards what is usual."""
        count = PRIOR_GAPS + len(values)
        mean = (PRIOR_GAPS * self.mean + values.sum()) / count
        variance = (PRIOR_GAPS * self.deviation**2 + ((values - mean) ** 2).sum()) / count
        return np.asarray((values - mean) / np.sqrt(variance))


COHERENCE = Usual(0.5, 0.1)
DEPTH = Usual(0.15, 0.14)
LENGTH = Usual(2.3, 0.6)
"""Logarithms of words a turn."""


def boundary_features(cues: Sequence[SpeechCues], vectors: Vectors) -> Numbers:
    """Describe the gaps between n turns.

    Args:
        cues: What the words of each turn tell.
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
        [(o.asks, o.asks_inside, o.ends_asking, o.replies, o.greets, o.takes_leave, o.points_back) for o in cues],
        dtype=np.float64,
    ).T
    length = LENGTH.relative(np.log1p(np.array([one.length for one in cues], dtype=np.float64)))
    return [
        asks[1:], inside[1:], asks[:-1], inside[:-1], ends[:-1], asks[1:] * (1 - asks[:-1]), asks[1:] * replies[1:],
        greets[1:], greets[:-1], leaves[1:], leaves[:-1], points[1:], _shared(cues), length[1:],
    ]  # fmt: skip


def _shared(cues: Sequence[SpeechCues]) -> Numbers:
    """Give the share of a turn's stems that the two turns before it hold."""
    before = [cues[place].stems | (cues[place - 1].stems if place else frozenset()) for place in range(len(cues) - 1)]
    shares = [
        len(one.stems & earlier) / max(1, min(len(one.stems), MOST_STEMS))
        for one, earlier in zip(cues[1:], before, strict=True)
    ]
    return np.array(shares)


def _coherent(products: Numbers) -> list[Numbers]:
    one, two, three = (coherence(products, side) for side in (1, 2, 3))
    later, earlier = _across(products)
    depths = _peaks(three[::-1])[::-1] + _peaks(three) - 2 * three
    return [
        one, two, three, COHERENCE.relative(two), DEPTH.relative(depths), _minima(one), _minima(two),
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


def _peaks(values: Numbers) -> Numbers:
    """Give the highest of each value and the `REACH` that follow."""
    padded = np.pad(values, (0, REACH), constant_values=-np.inf)
    return np.asarray(np.lib.stride_tricks.sliding_window_view(padded, REACH + 1).max(axis=1))


def _minima(values: Numbers) -> Numbers:
    """Give 1 for each value that no neighbour is below, else 0."""
    padded = np.pad(values, 1, mode="edge")
    return np.asarray((values <= padded[:-2]) & (values <= padded[2:]), dtype=np.float64)


def _across(products: Numbers) -> tuple[Numbers, Numbers]:
    """Give what the turn before a gap shares with the second after it, and the second before with the one after."""
    skips = np.diagonal(products, offset=2)
    usual = (skips.sum() + FEW_ACROSS) / (len(skips) + 1)
    return np.append(skips - usual, 0.0), np.insert(skips - usual, 0, 0.0)


def _ahead(products: Numbers) -> Numbers:
    """Give what the turn after a gap shares with one of the two turns that follow it; 0 where none does yet."""
    near, far = np.diagonal(products, offset=1)[1:], np.diagonal(products, offset=2)[1:]
    best = np.maximum(near, np.append(far, -np.inf)) if len(near) else near
    usual = (best.sum() + USUAL_AHEAD) / (len(best) + 1)
    return np.append(best - usual, 0.0)


WEIGHTS_FILE = "boundary_weights.json"
CLIP = 1e-6
"""The least distance of a probability from 0 and 1 before its logarithm is taken."""


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
    """Load the weights that stand beside this module."""
    text = files("langgraph_engram.segmentation").joinpath(WEIGHTS_FILE).read_text(encoding="utf-8")
    stored = json.loads(text)
    return BoundaryModel(stored["intercept"], stored["weights"])


def sigmoid(log_odds: Numbers) -> Numbers:
    """Turn log-odds into probabilities."""
    return np.asarray(1 / (1 + np.exp(-log_odds)))


def odds_of(probabilities: Numbers) -> Numbers:
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
    usual, count, total = probabilities.mean(), len(probabilities), probabilities.sum()
    log_odds = odds_of(probabilities)
    for kind in set(named):
        mine = named == kind
        sum_of_kind, number = probabilities[mine].sum(), int(mine.sum())
        like = (sum_of_kind - probabilities[mine] + usual) / number
        unlike = (total - sum_of_kind + usual) / (count - number + 1)
        log_odds[mine] += np.minimum(0.0, strength * np.log(np.maximum(like, CLIP) / max(unlike, CLIP)))
    return sigmoid(log_odds)


def own_threshold(probabilities: Numbers, least: float, share: float) -> float:
    """Give the probability from which a gap of this dialogue is a boundary.

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


DIGITS = 6
"""Decimals of a probability that is kept. The last ones of a sum change with the processor, and even with the place of
its numbers in memory: a run that is done again must give the same boundary."""


@dataclass(frozen=True)
class LearnedCuts:
    """Mark where events begin by the learned model."""

    encoder: Encoder
    settings: SegmentSettings

    def follow(self, turns: Sequence[Turn], before: Sequence[Turn], going: Event | None) -> list[TurnTopic]:
        """Give a line for each turn, with the probability of a boundary before it.

        Args:
            turns: The run's turns, at least one.
            before: The turns of the same session that are stored already, oldest first.
            going: The event of the session that is still open.

        Returns:
            One line a turn. The session's first turn has no probability: nothing stands before it.
        """
        earlier = before[-self.settings.look_back :] if self.settings.look_back else []
        lines = provisional_topics(turns, last_topic(going))
        probabilities = self.probabilities([*earlier, *turns])
        if not len(probabilities):
            return lines
        threshold = own_threshold(probabilities, self.settings.least_probability, self.settings.certainty_share)
        cuts = peaks(probabilities, threshold)
        first = len(turns) - len(probabilities[-len(turns) :])
        judged = zip(lines[first:], probabilities[-len(turns) :], cuts[-len(turns) :], strict=True)
        return [
            *lines[:first],
            *(replace(line, p_eb=round(float(p_eb), DIGITS), cut=bool(cut)) for line, p_eb, cut in judged),
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
        return sigmoid(odds_of(found) - self.settings.reply_penalty * answers)


def _question_cues(cues: Sequence[SpeechCues]) -> list[bool]:
    """Say of each gap whether a question follows something else than a question."""
    return [later.asks and not earlier.asks for earlier, later in pairwise(cues)]
