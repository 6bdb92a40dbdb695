"""Judge without a language model where a conversation turns to something else: a logistic regression over its gaps.

The weights come from `training/boundary_model.py`. What the regression says of single gaps is then weighed by the
dialogue at hand: kinds of turns that seldom open a subject in it count less, and a dialogue whose subjects are plain to
see is cut only where they are plain. See docs/decisions/0007.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from langgraph_engram.nodes.segmenting.boundary_features import FEATURES, Numbers

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
    text = files("langgraph_engram.nodes.segmenting").joinpath(WEIGHTS_FILE).read_text(encoding="utf-8")
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
