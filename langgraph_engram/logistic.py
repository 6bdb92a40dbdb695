"""Logistic regression over named features, and of texts, with weights that scripts of the lab have fitted."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
MAX_LOG_ODDS = 30.0
"""Log-odds beyond which a probability is 0 or 1, so that nothing overflows."""


@dataclass(frozen=True)
class LogisticRegression:
    """The probability that something holds, given its features."""

    features: tuple[str, ...]
    """The names of the features, in the order of the columns."""
    intercept: float
    weights: Mapping[str, float]
    """The weight of each feature by name; 0 for a feature without one."""

    @classmethod
    @cache
    def load(cls, features: tuple[str, ...], package: str, file: str) -> Self:
        """Return the regression whose weights a package ships as JSON, the same each time."""
        return cls(features, **_stored(package, file))

    def probability(self, rows: Numbers) -> Numbers:
        """Return one probability for each of n rows, of shape (n, len(features))."""
        return sigmoid(self.intercept + rows @ self._column)

    @cached_property
    def _column(self) -> Numbers:
        return np.array([self.weights.get(name, 0.0) for name in self.features])


@dataclass(frozen=True)
class TextClassifier:
    """Scores of labels, by a text as it is read for them: log-odds, or before a softmax."""

    intercepts: Numbers
    weights: Numbers
    """A row for each label, of shape (labels, d)."""

    @classmethod
    @cache
    def load(cls, labels: tuple[str, ...], package: str, file: str) -> Self:
        """Return the classifier of these labels whose weights a package ships as JSON, the same each time."""
        rows = [_stored(package, file)[label] for label in labels]
        return cls(np.array([row["intercept"] for row in rows]), np.array([row["weights"] for row in rows]))

    def scores(self, vectors: NDArray[np.float32]) -> Numbers:
        """Return the score of each label, by unit vectors of shape (n, d), as an array of shape (n, labels)."""
        return np.asarray(vectors @ self.weights.T + self.intercepts)


@cache
def _stored(package: str, file: str) -> Any:
    return json.loads(files(package).joinpath(file).read_text(encoding="utf-8"))


def log_odds(probabilities: NDArray[Any], least: float) -> Numbers:
    """Turn probabilities into log-odds, none of them below that of `least` or above that of 1 - `least`."""
    inside = np.clip(probabilities, least, 1 - least)
    return np.asarray(np.log(inside / (1 - inside)))


def sigmoid(log_odds: Numbers) -> Numbers:
    """Turn log-odds into probabilities."""
    return np.asarray(1 / (1 + np.exp(-np.clip(log_odds, -MAX_LOG_ODDS, MAX_LOG_ODDS))))


def softmax(scores: Numbers) -> Numbers:
    """Turn scores of shape (..., labels), of which one is true, into probabilities."""
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))
