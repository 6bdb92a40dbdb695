"""Fit a ridge logistic regression by Newton's method. This module does not know what is told apart."""

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

RIDGE = 10.0
"""The weight of the squared norm of the standardised weights."""
STEPS = 50
TOLERANCE = 1e-9
MOST_LOG_ODDS = 30.0


def fit_logistic(features: Numbers, labels: Numbers, weights: Numbers) -> tuple[float, Numbers]:
    """Fit the probability of label 1.

    Args:
        features: Of shape (rows, columns).
        labels: 0 or 1, one a row.
        weights: What each row counts.

    Returns:
        The intercept, and one weight a column, in the units of the features.
    """
    mean, deviation = features.mean(axis=0), features.std(axis=0)
    deviation = np.where(deviation > 0, deviation, 1.0)
    rows = np.column_stack([np.ones(len(features)), (features - mean) / deviation])
    ridge = np.diag([TOLERANCE, *[RIDGE] * features.shape[1]])
    solution = np.zeros(rows.shape[1])
    for _ in range(STEPS):
        log_odds = np.clip(rows @ solution, -MOST_LOG_ODDS, MOST_LOG_ODDS)
        guessed = 1 / (1 + np.exp(-log_odds))
        slope = rows.T @ (weights * (labels - guessed)) - ridge @ solution
        bend = (rows.T * (weights * guessed * (1 - guessed))) @ rows + ridge
        step = np.linalg.solve(bend, slope)
        solution = solution + step
        if np.abs(step).max() < TOLERANCE:
            break
    scaled = solution[1:] / deviation
    return float(solution[0] - scaled @ mean), scaled
