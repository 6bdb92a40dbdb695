"""Score records by the dimensions of a query (DimMem Eq. 7) and events by their boundaries (ES-Mem Eq. 5-7).

`min_max` brings the scores of all routes to one scale; `with_neighbours` spreads them to what stands beside a match.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from langgraph_engram.embeddings.base import Vectors
from langgraph_engram.schema import Intent, Record, TimeConstraint
from langgraph_engram.settings import RetrieveSettings
from langgraph_engram.stores.arrays import SessionRow
from langgraph_engram.stores.index import RecordIndex, ScopeIndex
from langgraph_engram.text.tokens import content_stems, words

Scores = NDArray[np.float32]
Positions = NDArray[np.intp]
LEAST = 1e-6
"""The score of an event that is reached, however unlike the query."""


def unscored(items: int) -> Scores:
    """Return n scores of 0."""
    return np.zeros(items, dtype=np.float32)


def min_max(scores: Scores) -> Scores:
    """Scale scores to [0, 1], from the lowest or 0, whichever is lower, to the highest.

    Zero stays the minimum where no score is negative, so that the worse of two good records keeps a score above 0.
    """
    if scores.size == 0:
        return np.zeros_like(scores)
    low = min(float(scores.min()), 0.0)
    span = float(scores.max()) - low
    return np.asarray((scores - low) / span) if span > 0 else np.zeros_like(scores)


def with_neighbours(scores: Scores, row: SessionRow, weights: Sequence[float]) -> Scores:
    """Add to each score the mean of its neighbours' on both sides, weighted by distance.

    Searching for a sentence by its context beats showing its context (docs/decisions/0002).

    Args:
        scores: n scores.
        row: Where the n items stand, with at least as many empty places between sessions as there are weights.
        weights: The weight at distance 1, 2 and so on.
    """
    side = [weight / 2 for weight in weights]
    placed = unscored(row.size)
    placed[row.places] = scores
    kernel = np.array([*reversed(side), 1.0, *side], dtype=np.float32)
    return np.asarray(np.convolve(placed, kernel, mode="same")[row.places])


def top_positions(scores: Scores, limit: int) -> list[int]:
    """Return the positions of the highest scores, best first; equal scores keep their order."""
    if limit <= 0:
        return []
    candidates = np.arange(len(scores))
    if limit < len(scores):
        candidates = np.flatnonzero(scores >= np.partition(scores, -limit)[-limit])
    best: list[int] = candidates[np.argsort(-scores[candidates], kind="stable")[:limit]].tolist()
    return best


def is_one_of(codes: NDArray[np.intp], wanted: Iterable[int]) -> NDArray[np.bool_]:
    """Return which of n codes are one of a few."""
    found = np.zeros(len(codes), dtype=np.bool_)
    for code in wanted:
        found |= codes == code
    return found


def dimension_scores(records: RecordIndex, intent: Intent, settings: RetrieveSettings) -> Scores:
    """Score every record by the constraints of a query (DimMem Eq. 7).

    Returns:
        n scores in [0, 1]; all 0 for a query without constraints.
    """
    parts: list[tuple[float, Scores]] = []
    if intent.target_types:
        parts.append((settings.type_weight, _type_scores(records, intent)))
    if intent.time:
        parts.append((settings.time_weight, time_scores(records, intent.time, settings.unknown_credit)))
    if intent.location:
        parts.append((settings.location_weight, _location_scores(records, intent.location, settings.unknown_credit)))
    if intent.reason:
        reasons = [record.reason for record in records.items]
        parts.append((settings.reason_weight, _word_shares(reasons, intent.reason, settings.unknown_credit)))
    if intent.purpose:
        purposes = [record.purpose for record in records.items]
        parts.append((settings.purpose_weight, _word_shares(purposes, intent.purpose, settings.unknown_credit)))
    if intent.keywords and settings.phrase_weight + settings.token_weight > 0:
        phrase, token = _keyword_scores(records.items, intent.keywords)
        parts.extend([(settings.phrase_weight, phrase), (settings.token_weight, token)])
    whole = sum(weight for weight, _ in parts)
    if not parts or whole <= 0:
        return unscored(len(records))
    return np.asarray(sum(weight / whole * scores for weight, scores in parts))


def time_scores(records: RecordIndex, constraint: TimeConstraint, unknown: float) -> Scores:
    """Return 1 for each record whose event time overlaps the constraint, else 0.

    Without an event time: 1 where the record was mentioned within the constraint, else `unknown`.
    """
    happened = _overlap(records.event_start, records.event_end, constraint)
    mentioned = _overlap(records.mentioned_local_time, records.mentioned_local_time, constraint)
    known = ~np.isnan(records.event_start)
    return np.where(known, happened, np.where(mentioned, np.float32(1.0), np.float32(unknown)))


def event_scores(index: ScopeIndex, query: Vectors, settings: RetrieveSettings) -> Scores:
    """Score events from coarse to fine (ES-Mem Eq. 5-7).

    The k boundaries closest to the query are anchors. Each opens a window of w events on both sides of the event that
    it leads to. An event in a window scores alpha * cos(query, summary) + (1 - alpha) * its best anchor. With k = 0
    there are no anchors, and each event scores cos(query, summary).

    Args:
        index: The memories of a scope.
        query: One unit vector of shape (d,).
        settings: k, w and alpha.

    Returns:
        One score for each of `index.events.items`, in that order; 0 for events outside of every window.
    """
    events, boundaries = index.events, index.boundaries
    if not settings.boundary_k:
        return np.clip(events.cosine(query), LEAST, 1)
    scores = unscored(len(events))
    if not len(events) or not len(boundaries):
        return scores
    order, ranks = events.order(), events.ranks
    cosines = boundaries.cosine(query)
    anchors = np.full(len(events), -np.inf, dtype=np.float32)
    for position in top_positions(cosines, settings.boundary_k):
        event = events.find_position(boundaries.items[position].to_event_id)
        if event < 0:
            continue
        rank = int(ranks[event])
        low, high = max(0, rank - settings.boundary_window), rank + settings.boundary_window + 1
        anchors[low:high] = np.maximum(anchors[low:high], cosines[position])
    reached = np.flatnonzero(np.isfinite(anchors))
    summary = events.cosine_of(order[reached], query)
    fine = settings.boundary_alpha * summary + (1 - settings.boundary_alpha) * anchors[reached]
    scores[order[reached]] = np.clip(fine, LEAST, 1)
    return scores


def raw_event_scores(index: ScopeIndex, query: Vectors) -> Scores:
    """Score events by their raw text: the cosine of the query with the mean of their turns' vectors.

    Args:
        index: The memories of a scope.
        query: One unit vector of shape (d,).

    Returns:
        One score in [0, 1] for each of `index.events.items`, in that order; 0 for an event whose turns are gone.
    """
    scores = unscored(len(index.events))
    for position, event in enumerate(index.events.items):
        rows = [index.turns.position(turn_id) for turn_id in event.turn_ids if turn_id in index.turns]
        mean = index.turns.vectors[rows].mean(axis=0) if rows else np.zeros_like(query.reshape(-1))
        length = float(np.linalg.norm(mean))
        scores[position] = max(float(mean @ query.reshape(-1)) / length, LEAST) if length else 0.0
    return scores


def _type_scores(records: RecordIndex, intent: Intent) -> Scores:
    types = records.memory_type
    return is_one_of(types, [records.code("memory_type", name) for name in intent.target_types]).astype(np.float32)


def _location_scores(records: RecordIndex, location: str, unknown: float) -> Scores:
    """Return 1 where a record names the location, 0 where it names another, `unknown` where it names none."""
    return np.where(records.mentioning(location), np.float32(1), np.where(records.has_location, np.float32(0), unknown))


def _word_shares(texts: Sequence[str], wanted: str, unknown: float) -> Scores:
    """Return the share of the wanted content words that each text holds; `unknown` for an empty text."""
    stems = set(content_stems(wanted))
    shares = [len(stems & set(content_stems(text))) / max(len(stems), 1) if text else unknown for text in texts]
    return np.asarray(shares, dtype=np.float32)


def _keyword_scores(records: Sequence[Record], keywords: Sequence[str]) -> tuple[Scores, Scores]:
    """Return the share of keywords found as phrases, and the share of their words found."""
    phrases = [keyword.casefold() for keyword in keywords]
    tokens = {word for keyword in keywords for word in words(keyword)}
    texts = [_searchable_text(record) for record in records]
    phrase_shares = [sum(phrase in text for phrase in phrases) / len(phrases) for text in texts]
    token_shares = [len(tokens & set(words(text))) / len(tokens) if tokens else 0.0 for text in texts]
    return np.asarray(phrase_shares, dtype=np.float32), np.asarray(token_shares, dtype=np.float32)


def _searchable_text(record: Record) -> str:
    """Return the case-folded text of a record; its location has a score of its own (DimMem Table 8)."""
    parts = (record.content, record.time_text, record.reason, record.purpose, *record.keywords)
    return " ".join(parts).casefold()


def _overlap(starts: NDArray[np.float64], ends: NDArray[np.float64], constraint: TimeConstraint) -> NDArray[np.bool_]:
    low = constraint.start.timestamp() if constraint.start else -np.inf
    high = constraint.end.timestamp() if constraint.end else np.inf
    with np.errstate(invalid="ignore"):
        return (ends >= low) & (starts <= high)
