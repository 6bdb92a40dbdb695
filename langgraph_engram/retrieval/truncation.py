"""Order passages by score and relevance, and end the list where relevance does (ranked list truncation).

The strength of a passage is its share of the best score times a power of the odds that it is relevant. A list without
an end would fill its budget whatever is asked (docs/decisions/0037).
"""

from collections.abc import Sequence
from itertools import takewhile

import numpy as np

from langgraph_engram.retrieval.scoring import Scores
from langgraph_engram.schema import Evidence

LEAST = 1e-4
"""Share of the best score, and relevance, below which none is told from another; 1 - LEAST is the highest relevance."""
DOUBT = 0.5
"""The power of the odds by which the best passage misses the threshold that raises the floor of all."""


def by_strength(passages: Sequence[Evidence], weight: float) -> list[Evidence]:
    """Return passages in order of their strength; those of equal strength keep their order.

    Args:
        passages: Passages with their relevance.
        weight: The power of the odds; 0 to keep the order, since the papers' fusions order by more than scores.
    """
    if not weight:
        return list(passages)
    order = np.argsort(-_strengths(passages, weight), kind="stable")
    return [passages[position] for position in order]


def truncate(passages: Sequence[Evidence], weight: float, stop: float, threshold: float) -> list[Evidence]:
    """Return the passages before the first one that is much weaker than the best could be.

    The floor rises where even the best passage is not relevant, so that a query that nothing answers finds little.

    Args:
        passages: Passages with their relevance, strongest first.
        weight: The power of the odds in their strength.
        stop: The floor, as a share of the strength that the best score has at the best relevance; 0 for no end.
        threshold: The relevance from which the best passage counts as found.
    """
    if not stop or not passages:
        return list(passages)
    best = float(_odds([max(passage.relevance for passage in passages)])[0])
    missed = max(1.0, float(_odds([threshold])[0]) / best)
    floor = stop * best**weight * missed**DOUBT
    held = zip(passages, _strengths(passages, weight) >= floor, strict=True)
    return [passage for passage, _ in takewhile(lambda pair: pair[1], held)]


def _strengths(passages: Sequence[Evidence], weight: float) -> Scores:
    scores = np.array([passage.score for passage in passages], dtype=np.float64)
    best = float(scores.max(initial=0.0)) or 1.0
    return np.asarray(np.maximum(scores / best, LEAST) * _odds([passage.relevance for passage in passages]) ** weight)


def _odds(relevance: Sequence[float]) -> Scores:
    probability = np.clip(np.array(relevance, dtype=np.float64), LEAST, 1 - LEAST)
    return np.asarray(probability / (1 - probability))
