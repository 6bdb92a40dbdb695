"""Fit a ridge logistic regression by Newton's method, and write its weights as the package reads them."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from langgraph_engram.logistic import LogisticRegression, Numbers, sigmoid

RIDGE = 10.0
STEPS = 50
TOLERANCE = 1e-9
LEAST_DEVIATION = 1e-6
"""The deviation below which a column says nothing: three of MiniLM's hold the noise of rounding alone."""


def fit_logistic(
    features: Numbers, labels: Numbers, weights: Numbers, strength: float | Numbers = RIDGE, *, scaled: bool = True
) -> tuple[float, Numbers]:
    """Fit the probability of label 1; return the intercept and each column's weight, in the units of the features.

    The ridge is of one strength or one for each column, of features scaled to a deviation of 1, or as they are.
    """
    mean, deviation = features.mean(axis=0), features.std(axis=0)
    deviation = np.where((deviation > LEAST_DEVIATION) & scaled, deviation, 1.0)
    rows = np.column_stack([np.ones(len(features)), (features - mean) / deviation])
    ridge = np.diag([TOLERANCE, *np.broadcast_to(strength, features.shape[1])])
    solution = np.zeros(rows.shape[1])
    for _ in range(STEPS):
        predicted = sigmoid(rows @ solution)
        gradient = rows.T @ (weights * (labels - predicted)) - ridge @ solution
        hessian = (rows.T * (weights * predicted * (1 - predicted))) @ rows + ridge
        step = np.linalg.solve(hessian, gradient)
        solution = solution + step
        if np.abs(step).max() < TOLERANCE:
            break
    unscaled = solution[1:] / deviation
    return float(solution[0] - unscaled @ mean), unscaled


def rounded(names: Sequence[str], intercept: float, weights: Numbers, digits: int) -> LogisticRegression:
    """Return the model of named features, its numbers with so many digits."""
    named = {name: round(float(value), digits) for name, value in zip(names, weights, strict=True)}
    return LogisticRegression(tuple(names), round(intercept, digits), named)


def stored(model: LogisticRegression) -> dict[str, object]:
    """Return a model as it stands in a file."""
    return {"intercept": model.intercept, "weights": dict(model.weights)}


def write(content: dict[str, object], path: Path, indent: int = 1) -> None:
    """Write one or more stored models, and say so."""
    path.write_text(json.dumps(content, indent=indent, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"wrote {path}")
