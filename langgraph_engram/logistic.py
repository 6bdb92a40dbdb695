"""Logistic regression over named features, with weights that a script in `training/` has fitted."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Self

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
MAX_LOG_ODDS = 30.0
"""Log-odds beyond which a probability is 0 or 1, so that nothing overflows."""


@dataclass(frozen=True)
class LogisticModel:
    """The probability that something holds, given its features."""

    features: tuple[str, ...]
    """The names of the features, in the order of the columns."""
    intercept: float
    weights: Mapping[str, float]
    """The weight of each feature by name; 0 for a feature without one."""

    @classmethod
    def load(cls, features: tuple[str, ...], package: str, file: str) -> Self:
        """Return the model whose weights a package ships as JSON."""
        stored = json.loads(files(package).joinpath(file).read_text(encoding="utf-8"))
        return cls(features, stored["intercept"], stored["weights"])

    def probability(self, rows: Numbers) -> Numbers:
        """Return one probability a row, in [0, 1].

        Args:
            rows: Of shape (n, len(features)).
        """
        return sigmoid(self.intercept + rows @ np.array([self.weights.get(name, 0.0) for name in self.features]))


def sigmoid(log_odds: Numbers) -> Numbers:
    """Turn log-odds into probabilities."""
    return np.asarray(1 / (1 + np.exp(-np.clip(log_odds, -MAX_LOG_ODDS, MAX_LOG_ODDS))))
