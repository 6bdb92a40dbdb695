"""Score the memories of a scope by each route.

The lexical, dense and dimension routes (DimMem Eq. 7) score records; the turn, boundary (ES-Mem Eq. 7-10) and synthesis
routes score turns, events and narratives.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from langgraph_engram.embeddings.base import Encoder, Vectors
from langgraph_engram.retrieval.queries import first_person_query
from langgraph_engram.schema import Event, Intent, Synthesis, TimeConstraint
from langgraph_engram.stores.index import KindIndex, Matches, RecordIndex, ScopeIndex
from langgraph_engram.stores.kind_index import SESSION_GAP
from langgraph_engram.text.words import content_stems

Scores = NDArray[np.float32]
Positions = NDArray[np.intp]
Flags = NDArray[np.bool_]

NEIGHBOURS = (0.6, 0.4, 0.2)
"""Weights of the records at distance 1, 2, ... in a record's score."""
TURN_NEIGHBOURS = (1.0, 1.0, 0.5)
"""Weights of the turns at distance 1, 2, ... in a turn's score."""
TYPE_WEIGHT, TIME_WEIGHT, LOCATION_WEIGHT = 0.15, 0.30, 0.20
"""Weights of the dimensions (DimMem section 3.3), renormalised over the constraints that a query has."""
REASON_WEIGHT = PURPOSE_WEIGHT = 0.15
"""DimMem Eq. 7 names these and gives no weight."""
UNKNOWN_CREDIT = 0.5
"""Score of a constrained dimension that a record leaves open; 0 in DimMem."""
BOUNDARY_K, BOUNDARY_WINDOW, BOUNDARY_ALPHA = 10, 3, 0.7
"""k boundaries that are anchors, w events on each side of one, and alpha, the weight of the summary against the anchor
(ES-Mem section 3.3 and Eq. 10)."""
LEAST = 1e-6
"""The score of an event that is reached, however unlike the query."""


def unscored(items: int) -> Scores:
    """Return n scores of 0."""
    return np.zeros(items, dtype=np.float32)


@dataclass(frozen=True)
class RouteScores:
    """The scores of each record, turn, event and synthesis, in [0, 1] and in the order of their indexes."""

    query: Vectors = field(default_factory=lambda: unscored(0))
    """The unit vector that was searched for."""
    records: Mapping[str, Scores] = field(default_factory=dict)
    """The scores of the records by route."""
    turns: Scores = field(default_factory=lambda: unscored(0))
    events: Scores = field(default_factory=lambda: unscored(0))
    syntheses: Scores = field(default_factory=lambda: unscored(0))
    empty: tuple[str, ...] = ()
    """Routes without data."""


def score_routes(encoder: Encoder, names: Sequence[str], index: ScopeIndex, intent: Intent) -> RouteScores:
    """Score everything in a scope by the routes that are named, for a query in the first person if it is of one.

    A route without data scores nothing; that nothing is summarized yet is no lack where the records are found.
    """
    query = encoder.encode([first_person_query(intent)])[0]
    stems = stems_without_people(intent, [intent.anchor, *intent.keywords])
    records: dict[str, Scores] = {}
    if "lexical" in names:
        records["lexical"] = _beside_others(index.records, index.records.bm25(stems), NEIGHBOURS)
    if "dense" in names:
        cosines = index.records.cosine(query)
        records["dense"] = _beside_others(index.records, cosines, NEIGHBOURS)
        records["first_person_dense"] = min_max(cosines)
    if "dimension" in names:
        records["dimension"] = dimension_scores(index.records, intent)
    sizes = {"boundary": len(index.boundaries), "turn": len(index.turns), "synthesis": 1}
    return RouteScores(
        query,
        records,
        turns=_turn_scores(index, query, stems) if "turn" in names else unscored(len(index.turns)),
        events=event_scores(index, query) if "boundary" in names else unscored(len(index.events)),
        syntheses=synthesis_scores(index, query) if "synthesis" in names else unscored(len(index.syntheses)),
        empty=tuple(name for name in names if not sizes.get(name, len(index.records))),
    )


def synthesis_scores(index: ScopeIndex, query: Vectors) -> Scores:
    """Return the cosine of each active synthesis with a query, at least 0; 0 for the others."""
    active = index.syntheses.column("active", lambda synthesis: synthesis.status == "active", np.bool_)
    scores = np.clip(index.syntheses.cosine(query), 0, 1)
    return np.where(active, scores, 0.0) if active.size else unscored(0)


def stems_without_people(intent: Intent, texts: Sequence[str]) -> list[str]:
    """Return the stems of texts without names of the speakers asked about, who are in nearly every turn of theirs."""
    people = {stem for name in intent.speakers for stem in content_stems(name)}
    return [stem for stem in content_stems(" ".join(texts)) if stem not in people]


def _beside_others(kind: KindIndex[Any], scores: Scores, weights: Sequence[float]) -> Scores:
    """Return the scores of records or turns with those of their neighbours, in [0, 1]."""
    return min_max(with_neighbours(scores, kind.places, weights)) if len(kind) else unscored(0)


def _turn_scores(index: ScopeIndex, query: Vectors, stems: list[str]) -> Scores:
    found = (index.turns.bm25(stems), index.turns.cosine(query))
    lexical, dense = (_beside_others(index.turns, scores, TURN_NEIGHBOURS) for scores in found)
    return np.asarray((lexical + dense) / 2)


def min_max(scores: Scores) -> Scores:
    """Scale scores to [0, 1], from the lowest or 0, whichever is lower, to the highest."""
    low = float(scores.min(initial=0.0))
    span = float(scores.max(initial=-np.inf)) - low
    return np.asarray((scores - low) / span) if span > 0 else np.zeros_like(scores)


def with_neighbours(scores: Scores, places: NDArray[np.intp], weights: Sequence[float]) -> Scores:
    """Add to each score the mean of its neighbours' on both sides, weighted by distance.

    Between the places of two sessions are at least as many empty ones as there are weights (docs/decisions/0015).
    """
    side = [weight / 2 for weight in weights]
    placed = unscored(int(places.max(initial=0)) + SESSION_GAP + 1)
    placed[places] = scores
    kernel = np.array([*reversed(side), 1.0, *side], dtype=np.float32)
    return np.asarray(np.convolve(placed, kernel, mode="same")[places])


def top_positions(scores: Scores, limit: int) -> list[int]:
    """Return the positions of the highest scores, best first; equal scores keep their order."""
    if limit <= 0:
        return []
    candidates = np.arange(len(scores))
    if limit < len(scores):
        candidates = np.flatnonzero(scores >= np.partition(scores, -limit)[-limit])
    best: list[int] = candidates[np.argsort(-scores[candidates], kind="stable")[:limit]].tolist()
    return best


def top_matching(
    matches: Matches, kind: KindIndex[Event] | KindIndex[Synthesis], scores: Scores, limit: int
) -> Iterator[int]:
    """Yield the positions of the events or syntheses that match and score highest above 0, best first."""
    ranked = top_positions(scores, len(scores) if matches.conditions else limit)
    found = (position for position in ranked if scores[position] > 0 and matches.has(kind.items[position]))
    return islice(found, limit)


def dimension_scores(records: RecordIndex, intent: Intent) -> Scores:
    """Score n records by the constraints of a query, in [0, 1] (DimMem Eq. 7); all 0 for a query without any."""
    return weighted_mean(dimension_parts(records, intent, UNKNOWN_CREDIT), len(records))


def dimension_parts(
    records: RecordIndex, intent: Intent, unknown: float, *, mention_counts: bool = False
) -> list[tuple[float, Scores]]:
    """Return the weight of each dimension that a query constrains, and how well each record fulfils it.

    With `mention_counts` a time is fulfilled by a mention in it as well where the event was at another time.
    """
    parts: list[tuple[float, Scores]] = []
    if intent.target_types:
        of_type = np.isin(records.memory_type, [records.code("memory_type", name) for name in intent.target_types])
        parts.append((TYPE_WEIGHT, of_type.astype(np.float32)))
    if intent.time:
        parts.append((TIME_WEIGHT, time_scores(records, intent.time, unknown, mention_counts=mention_counts)))
    if intent.location:
        elsewhere = np.where(records.has_location, np.float32(0), np.float32(unknown))
        parts.append((LOCATION_WEIGHT, np.where(records.mentioning(intent.location), np.float32(1), elsewhere)))
    if intent.reason:
        parts.append((REASON_WEIGHT, _word_shares([item.reason for item in records.items], intent.reason, unknown)))
    if intent.purpose:
        parts.append((PURPOSE_WEIGHT, _word_shares([item.purpose for item in records.items], intent.purpose, unknown)))
    return parts


def weighted_mean(parts: Sequence[tuple[float, Scores]], items: int) -> Scores:
    """Return the mean of n scores of several kinds by their weights; 0 where nothing has weight."""
    whole = sum(weight for weight, _ in parts)
    if whole <= 0:
        return unscored(items)
    return np.asarray(sum(weight / whole * scores for weight, scores in parts))


def time_scores(
    records: RecordIndex, constraint: TimeConstraint, unknown: float, *, mention_counts: bool = False
) -> Scores:
    """Return 1 where the event time, or lacking one the mention, is within the constraint; else 0 or `unknown`."""
    happened = overlap(records.event_start, records.event_end, constraint)
    mentioned = overlap(records.mentioned_local_time, records.mentioned_local_time, constraint)
    known = ~np.isnan(records.event_start) & ~(mentioned & mention_counts)
    return np.where(known, happened, np.where(mentioned, np.float32(1.0), np.float32(unknown)))


def event_scores(
    index: ScopeIndex, query: Vectors, k: int = BOUNDARY_K, window: int = BOUNDARY_WINDOW, alpha: float = BOUNDARY_ALPHA
) -> Scores:
    """Score events from coarse to fine (ES-Mem Eq. 7-10).

    The k boundaries closest to the query are anchors. Each opens a window of w events on both sides of the event that
    it leads to. An event in a window scores alpha * cos(query, summary) + (1 - alpha) * its best anchor, others 0.
    """
    events, boundaries = index.events, index.boundaries
    order, ranks, cosines = events.order(), events.ranks, boundaries.cosine(query)
    anchors = np.full(len(events), -np.inf, dtype=np.float32)
    for position in top_positions(cosines, k):
        event = events.find_position(boundaries.items[position].to_event_id)
        if event < 0:
            continue
        rank = int(ranks[event])
        low, high = max(0, rank - window), rank + window + 1
        anchors[low:high] = np.maximum(anchors[low:high], cosines[position])
    reached = np.flatnonzero(np.isfinite(anchors))
    fine = alpha * events.cosine_of(order[reached], query) + (1 - alpha) * anchors[reached]
    scores = unscored(len(events))
    scores[order[reached]] = np.clip(fine, LEAST, 1)
    return scores


def _word_shares(texts: Sequence[str], wanted: str, unknown: float) -> Scores:
    """Return the share of the wanted content words that each text holds; `unknown` for an empty text."""
    stems = set(content_stems(wanted))
    shares = [len(stems & set(content_stems(text))) / max(len(stems), 1) if text else unknown for text in texts]
    return np.asarray(shares, dtype=np.float32)


def overlap(starts: NDArray[np.float64], ends: NDArray[np.float64], constraint: TimeConstraint) -> Flags:
    """Return which spans of time, in seconds, have a part within a constraint; none that is unknown."""
    low = constraint.start.timestamp() if constraint.start else -np.inf
    high = constraint.end.timestamp() if constraint.end else np.inf
    with np.errstate(invalid="ignore"):
        return (ends >= low) & (starts <= high)
