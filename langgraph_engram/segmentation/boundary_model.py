"""Detect event boundaries without a language model: a logistic regression over the gaps between turns.

The weights come from the lab (`training/boundary_model.py`). What the regression says of single gaps is then weighed by
the dialogue at hand: kinds of turns that seldom open a subject in it count less, a dialogue whose subjects are plain to
see is cut only where they are plain, and where coherence has much contrast, a second regression over coherence alone
decides. See docs/decisions/0006 and 0035.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from langgraph_engram.embeddings.base import Encoder, encode_turns
from langgraph_engram.logistic import LogisticModel, sigmoid
from langgraph_engram.schema import Turn
from langgraph_engram.segmentation.events import TurnTopic, turn_keywords
from langgraph_engram.segmentation.features import FEATURES, Numbers, boundary_features
from langgraph_engram.text.dialogue_acts import TurnCues, read_cues

WEIGHTS_FILE = "boundary_weights.json"
COHERENCE_WEIGHTS_FILE = "coherence_weights.json"
"""Weights of the features of coherence alone."""
LOOK_BACK = 30
"""Stored turns that are read before those of a run."""
MIN_PROBABILITY = 0.22
"""The boundary probability below which no turn opens an event, whatever the dialogue."""
CERTAINTY_SHARE = 0.7
"""Share of the threshold with the best expected F1 over the dialogue; used where that is higher. All of it counts where
coherence alone decides."""
MIN_CONTRAST = 0.5
"""Range of coherence in a dialogue, in [0, 2], up to which cues count in full; from twice that on coherence alone
decides."""
SHARPENING = 0.5
"""Exponent by which speakers and kinds of turns that rarely open a topic in a dialogue count less there."""
REPLY_PENALTY = 2.0
"""Log-odds subtracted from turns of an assistant: they rather answer than open a topic."""
CLIP = 1e-6
"""The least distance of a probability from 0 and 1 before its logarithm is taken."""
DIGITS = 6
"""Decimals to which a probability is rounded. The last ones of a sum change with the processor, and even with where its
numbers lie in memory: a run that is done again must give the same boundary."""


@cache
def load_model(file: str = WEIGHTS_FILE) -> LogisticModel:
    """Return a shipped model."""
    return LogisticModel.load(FEATURES, "langgraph_engram.segmentation", file)


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
    log_odds = _log_odds_of(probabilities)
    for kind in set(named):
        of_kind = named == kind
        sum_of_kind, number = probabilities[of_kind].sum(), int(of_kind.sum())
        like = (sum_of_kind - probabilities[of_kind] + mean) / number
        unlike = (total - sum_of_kind + mean) / (count - number + 1)
        log_odds[of_kind] += np.minimum(0.0, strength * np.log(np.maximum(like, CLIP) / max(unlike, CLIP)))
    return sigmoid(log_odds)


def coherence_weight(features: Numbers, least: float) -> float:
    """Return how far coherence alone decides in a dialogue, in [0, 1].

    Cues mark boundaries only in some kinds of dialogue; where the most and the least coherent gap are far apart, they
    can be done without.

    Args:
        features: Of shape (gaps, len(FEATURES)), at least one gap.
        least: The range of coherence up to which the weight is 0; from twice that on it is 1.
    """
    contrast = float(np.ptp(features[:, FEATURES.index("coherence_2")]))
    return min(1.0, max(0.0, contrast / least - 1))


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

    def track(self, turns: Sequence[Turn], before: Sequence[Turn]) -> list[TurnTopic]:
        """Return the keywords of each turn, and the probability of a boundary before it.

        Args:
            turns: The run's turns, at least one.
            before: The turns of the same session that are stored already, oldest first.

        Returns:
            One topic a turn. The session's first turn has no probability: nothing stands before it.
        """
        probabilities, cuts = self.judge([*before[-LOOK_BACK:], *turns])
        judged = turns if before else turns[1:]
        count = len(judged)
        first = [TurnTopic(keywords=turn_keywords(turn)) for turn in turns[: len(turns) - count]]
        return first + [
            TurnTopic(keywords=turn_keywords(turn), p_eb=round(float(p_eb), DIGITS), cut=bool(cut))
            for turn, p_eb, cut in zip(judged, probabilities[-count:], cuts[-count:], strict=True)
        ]

    def judge(self, turns: Sequence[Turn]) -> tuple[Numbers, NDArray[np.bool_]]:
        """Judge each gap between turns of one session.

        Returns:
            The probability of a boundary in each gap, in [0, 1], and whether the gap is one.
        """
        if len(turns) < 2:
            return np.zeros(0), np.zeros(0, dtype=np.bool_)
        cues = [read_cues(" ".join([turn.text, *turn.captions])) for turn in turns]
        features = boundary_features(cues, encode_turns(self.encoder, turns))
        weight = coherence_weight(features, MIN_CONTRAST)
        coherence_alone = _log_odds_of(load_model(COHERENCE_WEIGHTS_FILE).probability(features))
        probabilities = sigmoid((1 - weight) * _log_odds(features, turns, cues) + weight * coherence_alone)
        share = (1 - weight) * CERTAINTY_SHARE + weight
        return probabilities, peaks(probabilities, own_threshold(probabilities, MIN_PROBABILITY, share))


def _log_odds(features: Numbers, turns: Sequence[Turn], cues: Sequence[TurnCues]) -> Numbers:
    """Weigh what all features say by the kinds of turns in the dialogue."""
    found = sharpen(load_model().probability(features), [turn.speaker for turn in turns[1:]], SHARPENING)
    found = sharpen(found, _question_cues(cues), SHARPENING)
    answers = np.array([turn.role != "user" for turn in turns[1:]])
    return np.asarray(_log_odds_of(found) - REPLY_PENALTY * answers)


def _log_odds_of(probabilities: Numbers) -> Numbers:
    """Turn probabilities into log-odds, finite ones."""
    clipped = np.clip(probabilities, CLIP, 1 - CLIP)
    return np.asarray(np.log(clipped / (1 - clipped)))


def _question_cues(cues: Sequence[TurnCues]) -> list[bool]:
    """Return for each gap whether a question follows something else than a question."""
    return [later.asks and not earlier.asks for earlier, later in pairwise(cues)]
