"""Bring the scores of routes to one scale, spread them to neighbours, and rank."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from langgraph_engram.embeddings.base import Vectors
from langgraph_engram.schema import Intent, Record, TimeConstraint
from langgraph_engram.settings import RetrieveSettings
from langgraph_engram.stores.index import RecordIndex, ScopeIndex
from langgraph_engram.text.tokens import words

Scores = NDArray[np.float64]
Places = NDArray[np.intp]


def min_max(scores: Scores) -> Scores:
    """Stretch scores to [0, 1] from 0 or the lowest, whichever is lower, to the highest.

    A score of 0 stays the least where none is below, so that the worse of two good records is not worth nothing.
    """
    if scores.size == 0:
        return np.zeros_like(scores)
    low = min(float(scores.min()), 0.0)
    span = float(scores.max()) - low
    return np.asarray((scores - low) / span) if span > 0 else np.zeros_like(scores)


def with_neighbours(scores: Scores, before: Places, after: Places, weights: Sequence[float]) -> Scores:
    """Add to each score the mean of its neighbours' on both sides, at each distance with its weight.

    Searching for a sentence by what stands around it beats showing what stands around it (docs/decisions).

    Args:
        scores: n scores.
        before: The place of the neighbour before each, -1 for none.
        after: The place of the neighbour after each, -1 for none.
        weights: The weight at distance 1, 2 and so on.
    """
    total = scores.astype(np.float64)
    one, other = before, after
    for weight in weights:
        total = total + weight * (_at(scores, one) + _at(scores, other)) / 2
        one, other = _follow(before, one), _follow(after, other)
    return total


def ranks(scores: Scores, most: int) -> list[int]:
    """Give the places of the highest scores, best first; equal scores keep their order."""
    return [int(place) for place in np.argsort(-scores, kind="stable")[:most]]


def _at(scores: Scores, places: Places) -> Scores:
    return np.where(places >= 0, scores[places], 0.0)


def _follow(step: Places, places: Places) -> Places:
    return np.where(places >= 0, step[places], -1)


def dimension_scores(shelf: RecordIndex, intent: Intent, settings: RetrieveSettings) -> Scores:
    """Score every record by the constraints of a query.

    Returns:
        n scores in [0, 1]; all 0 for a query without constraints.
    """
    parts: list[tuple[float, Scores]] = []
    if intent.target_types:
        parts.append((settings.type_weight, type_scores(shelf, intent)))
    if intent.time:
        parts.append((settings.time_weight, time_scores(shelf, intent.time, settings.unknown_credit)))
    if intent.location:
        parts.append((settings.location_weight, location_scores(shelf, intent.location, settings.unknown_credit)))
    if intent.keywords and settings.phrase_weight + settings.token_weight > 0:
        phrase, token = keyword_scores(shelf.items, intent.keywords)
        parts.extend([(settings.phrase_weight, phrase), (settings.token_weight, token)])
    whole = sum(weight for weight, _ in parts)
    if not parts or whole <= 0:
        return np.zeros(len(shelf))
    return np.asarray(sum(weight * scores for weight, scores in parts) / whole)


def type_scores(shelf: RecordIndex, intent: Intent) -> Scores:
    """Give 1 to records of a target type, 0 to the others."""
    wanted = set(intent.target_types)
    return np.fromiter((record.memory_type in wanted for record in shelf.items), dtype=np.float64, count=len(shelf))


def time_scores(shelf: RecordIndex, constraint: TimeConstraint, unknown: float) -> Scores:
    """Give 1 where the event time overlaps the constraint, else 0.

    Without an event time: 1 where the record was mentioned within the constraint, else the credit for unknown.
    """
    happened = _overlap(shelf.event_start, shelf.event_end, constraint)
    mentioned = _overlap(shelf.mentioned_local_time, shelf.mentioned_local_time, constraint)
    known = ~np.isnan(shelf.event_start)
    return np.where(known, happened.astype(np.float64), np.where(mentioned, 1.0, unknown))


def location_scores(shelf: RecordIndex, location: str, unknown: float) -> Scores:
    """Give 1 where a record names the place, 0 where it names another, the credit for unknown where it names none."""
    wanted = location.casefold()

    def score(record: Record) -> float:
        if wanted in f"{record.location} {record.content}".casefold():
            return 1.0
        return 0.0 if record.location else unknown

    return np.fromiter(map(score, shelf.items), dtype=np.float64, count=len(shelf))


def keyword_scores(records: Sequence[Record], keywords: Sequence[str]) -> tuple[Scores, Scores]:
    """Give the share of keywords found as phrases, and the share of their words found (DimMem Eq. 7)."""
    phrases = [keyword.casefold() for keyword in keywords]
    tokens = {word for keyword in keywords for word in words(keyword)}
    texts = [record_text(record) for record in records]
    phrase = [sum(one in text for one in phrases) / len(phrases) for text in texts]
    token = [len(tokens & set(words(text))) / len(tokens) if tokens else 0.0 for text in texts]
    return np.asarray(phrase, dtype=np.float64), np.asarray(token, dtype=np.float64)


def record_text(record: Record) -> str:
    """Give what a record says, case-folded; its place has a score of its own (DimMem Table 8)."""
    parts = (record.content, record.time_text, record.reason, record.purpose, *record.keywords)
    return " ".join(parts).casefold()


def _overlap(starts: NDArray[np.float64], ends: NDArray[np.float64], constraint: TimeConstraint) -> NDArray[np.bool_]:
    low = constraint.start.timestamp() if constraint.start else -np.inf
    high = constraint.end.timestamp() if constraint.end else np.inf
    with np.errstate(invalid="ignore"):
        return (ends >= low) & (starts <= high)


def event_scores(index: ScopeIndex, query: Vectors, settings: RetrieveSettings) -> Scores:
    """Score events from coarse to fine (ES-Mem Eq. 5-7).

    The k boundaries closest to the query are anchors; each opens a window of w events on both sides of the event it
    leads to; an event in a window scores alpha * cos(query, summary) + (1 - alpha) * the best anchor that reaches it.

    Args:
        index: A scope's memories.
        query: One unit vector of shape (d,).
        settings: k, w and alpha.

    Returns:
        One score an event, in the order of `index.events.items`; 0 for events that no anchor reaches.
    """
    events, boundaries = index.events, index.boundaries
    scores = np.zeros(len(events))
    if not len(events) or not len(boundaries):
        return scores
    order = events.order()
    place_of = {events.items[place].event_id: rank for rank, place in enumerate(order)}
    anchors = boundaries.cosine(query).astype(np.float64)
    reach = np.full(len(events), -np.inf)
    for place in ranks(anchors, settings.boundary_k):
        rank = place_of.get(boundaries.items[place].to_event_id)
        if rank is None:
            continue
        low, high = max(0, rank - settings.boundary_window), rank + settings.boundary_window + 1
        reach[low:high] = np.maximum(reach[low:high], anchors[place])
    summary = events.cosine(query).astype(np.float64)
    reached = np.isfinite(reach)
    fine = settings.boundary_alpha * summary[order] + (1 - settings.boundary_alpha) * np.where(reached, reach, 0.0)
    scores[order] = np.where(reached, np.clip(fine, 0, 1), 0.0)
    return scores
