"""Measure how much neighbouring turns have in common, and where they have least (ES-Mem section 3.1, stage 1)."""

import numpy as np
from numpy.typing import NDArray

from langgraph_engram.encoder import Vectors

LEAST_REMAINDER = 1e-12
"""The least value of 1 - rho^2: equal topics have a large coupling, not an infinite one."""


def coupling(earlier: Vectors, later: Vectors) -> NDArray[np.float64]:
    """Compute the mutual information of neighbouring topics under a Gaussian model (ES-Mem Eq. 1).

    I = -0.5 ln(1 - rho^2), with rho the Pearson correlation over dimensions. The paper's square makes opposite topics
    look coherent; rho below zero counts as zero here.

    Args:
        earlier: Topic vectors of shape (n, d).
        later: Topic vectors of the turns that follow, of the same shape.

    Returns:
        n couplings in nats, each at least 0; a constant vector couples with nothing.
    """
    one, other = (vectors - vectors.mean(axis=1, keepdims=True) for vectors in (earlier, later))
    norms = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    products = np.einsum("ij,ij->i", one, other)
    rho = np.divide(products, norms, out=np.zeros_like(products), where=norms > 0)
    clipped = np.clip(rho, 0, 1).astype(np.float64)
    return np.asarray(-0.5 * np.log(np.maximum(1 - clipped**2, LEAST_REMAINDER)))


def weakest(couplings: NDArray[np.float64], quantile: float) -> list[int]:
    """Give the positions whose coupling is at most the quantile (ES-Mem Eq. 2).

    Without ties these are floor(q (n - 1)) + 1 of n positions; none of none.
    """
    if couplings.size == 0:
        return []
    return [int(place) for place in np.flatnonzero(couplings <= np.quantile(couplings, quantile))]
