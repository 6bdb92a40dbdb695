"""Logistic regression over named features, and of texts, with weights that scripts of the lab have fitted.

A text is classified by its embedding and by the words and pairs of words that were frequent in the training texts.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
TERM = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*|[^\w\s]")
START = "^"
"""Stands before the first word."""
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
    """A regression for each of some labels, over the same features of a text."""

    regressions: Sequence[LogisticRegression]

    @classmethod
    @cache
    def load(cls, labels: tuple[str, ...], package: str, file: str) -> Self:
        """Return the classifier of these labels whose weights a package ships as JSON, the same each time."""
        stored = _stored(package, file)
        return cls([LogisticRegression(tuple(stored[label]["weights"]), **stored[label]) for label in labels])

    def probabilities(self, texts: Sequence[str], vectors: NDArray[np.float32]) -> Numbers:
        """Return the probability that each text has each label, by unit vectors of shape (len(texts), d)."""
        features = features_of(texts, vectors, self.terms)
        return np.stack([regression.probability(features) for regression in self.regressions], axis=1)

    @cached_property
    def terms(self) -> tuple[str, ...]:
        """The words and pairs of words among the features; the columns of the embedding have numbers for names."""
        return tuple(name for name in self.regressions[0].features if not name.isdigit())


def terms_of(text: str) -> set[str]:
    """Return the words and signs of a text, and each pair of neighbours, case-folded; numbers are left out."""
    found = TERM.findall(text.casefold().replace("\u2019", "'"))
    return {*found, *(f"{first} {second}" for first, second in pairwise([START, *found]))}


def features_of(texts: Sequence[str], vectors: NDArray[np.float32], terms: Sequence[str]) -> Numbers:
    """Return the features of texts, of shape (len(texts), d + len(terms)): the embedding, then 1 for each term."""
    positions = {term: position for position, term in enumerate(terms)}
    found = np.zeros((len(texts), len(positions)))
    for row, text in zip(found, texts, strict=True):
        row[[positions[term] for term in terms_of(text) if term in positions]] = 1
    return np.concatenate([vectors.astype(np.float64), found], axis=1)


def _stored(package: str, file: str) -> Any:
    return json.loads(files(package).joinpath(file).read_text(encoding="utf-8"))


def log_odds(probabilities: NDArray[Any], least: float) -> Numbers:
    """Turn probabilities into log-odds, none of them below that of `least` or above that of 1 - `least`."""
    inside = np.clip(probabilities, least, 1 - least)
    return np.asarray(np.log(inside / (1 - inside)))


def sigmoid(log_odds: Numbers) -> Numbers:
    """Turn log-odds into probabilities."""
    return np.asarray(1 / (1 + np.exp(-np.clip(log_odds, -MAX_LOG_ODDS, MAX_LOG_ODDS))))
