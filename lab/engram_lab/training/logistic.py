"""Fit a ridge logistic regression by Newton's method, and write its weights as the package reads them."""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from langgraph_engram.logistic import Numbers, sigmoid

RIDGE = 10.0
"""The usual strength."""
STEPS = 50
TOLERANCE = 1e-9


def fit_logistic(
    features: Numbers, labels: Numbers, weights: Numbers, strength: float = RIDGE
) -> tuple[float, Numbers]:
    """Fit the probability of label 1; return the intercept and each column's weight, in the units of the features."""
    mean, deviation = features.mean(axis=0), features.std(axis=0)
    deviation = np.where(deviation > 0, deviation, 1.0)
    rows = np.column_stack([np.ones(len(features)), (features - mean) / deviation])
    ridge = np.diag([TOLERANCE, *[strength] * features.shape[1]])
    solution = np.zeros(rows.shape[1])
    for _ in range(STEPS):
        predicted = sigmoid(rows @ solution)
        gradient = rows.T @ (weights * (labels - predicted)) - ridge @ solution
        hessian = (rows.T * (weights * predicted * (1 - predicted))) @ rows + ridge
        step = np.linalg.solve(hessian, gradient)
        solution = solution + step
        if np.abs(step).max() < TOLERANCE:
            break
    scaled = solution[1:] / deviation
    return float(solution[0] - scaled @ mean), scaled


def write_weights(intercept: float, weights: Mapping[str, float], path: Path) -> None:
    """Write the intercept and the named weights of a model."""
    stored = {"intercept": intercept, "weights": dict(weights)}
    path.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
