"""Estimate the relevance of passages: the probability that each holds what a query asks for.

A few numbers that mean the same in every scope (cosine, coverage, whose words they are, share of the best score) go
through a logistic regression. Only passages that are shown are looked at.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from langgraph_engram.embeddings.base import Vectors
from langgraph_engram.schema import Evidence, Intent
from langgraph_engram.stores.bm25 import inverse_document_frequency
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.text.tokens import content_stems, words

Numbers = NDArray[np.float64]

FEATURES = ("cosine", "coverage", "unknown", "speaker", "share")
"""The numbers of a passage, in the order of the columns."""
INTERCEPT = -4.5
WEIGHTS: Mapping[str, float] = {"cosine": 6.0, "coverage": 4.0, "unknown": -2.0, "speaker": 1.0, "share": 1.0}


def with_relevance(index: ScopeIndex, intent: Intent, query: Vectors, passages: Sequence[Evidence]) -> list[Evidence]:
    """Return the passages with their relevance filled in.

    Args:
        index: What was searched.
        intent: What is asked for.
        query: Its unit vector, of shape (d,).
        passages: What is shown, best first.
    """
    estimates = relevance(relevance_features(index, intent, query, passages))
    return [
        passage.model_copy(update={"relevance": float(estimate)})
        for passage, estimate in zip(passages, estimates, strict=True)
    ]


def relevance(features: Numbers) -> Numbers:
    """Return one probability a passage, in [0, 1].

    Args:
        features: Of shape (passages, len(FEATURES)).
    """
    weights = np.array([WEIGHTS[name] for name in FEATURES])
    return np.asarray(1 / (1 + np.exp(-(INTERCEPT + features @ weights))))


def relevance_features(index: ScopeIndex, intent: Intent, query: Vectors, passages: Sequence[Evidence]) -> Numbers:
    """Return the numbers of each passage, as an array of shape (passages, len(FEATURES))."""
    rarity = stem_rarity(index, intent)
    whole = sum(rarity.values())
    unknown = sum(weight for stem, weight in rarity.items() if not len(index.turns.lexical.positions(stem)))
    best = max((passage.score for passage in passages), default=0.0) or 1.0
    rows = [
        (
            _cosine(index, query, passage),
            covered_share(rarity, _stems(passage)),
            unknown / whole if whole else 0.0,
            _speaks_or_is_named(passage, intent.speakers),
            passage.score / best,
        )
        for passage in passages
    ]
    return np.array(rows, dtype=np.float64).reshape(-1, len(FEATURES))


def stem_rarity(index: ScopeIndex, intent: Intent) -> dict[str, float]:
    """Return the content stems that a query asks with, each with its inverse document frequency among the turns.

    The names of speakers are left out: they stand in nearly every turn.
    """
    people = {stem for name in intent.speakers for stem in content_stems(name)}
    lexical = index.turns.lexical
    return {
        stem: inverse_document_frequency(len(lexical), len(lexical.positions(stem)))
        for stem in content_stems(intent.anchor)
        if stem not in people
    }


def covered_share(rarity: Mapping[str, float], stems: set[str]) -> float:
    """Return the share of a query's stems, weighted by rarity, that a text holds; 1 where there are none."""
    whole = sum(rarity.values())
    return sum(weight for stem, weight in rarity.items() if stem in stems) / whole if whole else 1.0


def _cosine(index: ScopeIndex, query: Vectors, passage: Evidence) -> float:
    vectors = [index.turns.vectors[index.turns.position(turn.turn_id)] for turn in passage.turns]
    if passage.record:
        vectors.append(index.records.vectors[index.records.position(passage.record.record_id)])
    if passage.synthesis_id:
        vectors.append(index.syntheses.vectors[index.syntheses.position(passage.synthesis_id)])
    return max((float(vector @ query) for vector in vectors), default=0.0)


def _stems(passage: Evidence) -> set[str]:
    texts = [passage.text, *(turn.indexed_text for turn in passage.turns)]
    return {stem for text in texts for stem in content_stems(text)}


def _speaks_or_is_named(passage: Evidence, people: Sequence[str]) -> float:
    if not people:
        return 0.5
    speakers = {turn.speaker for turn in passage.turns}
    said = set(words(passage.text))
    return float(any(name in speakers or not said.isdisjoint(words(name)) for name in people))
