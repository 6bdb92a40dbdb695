"""Score records by the dimensions that a query constrains (DimMem section 3.3, Eq. 7).

Weights are renormalised over the constraints that a query has. What a record leaves open is not a mismatch: it gets
the credit for unknown. Event time and mention time are told apart: a record with an event time is judged by it alone.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from langgraph_engram.language.tokens import words
from langgraph_engram.nodes.retrieving.scoring import Scores
from langgraph_engram.schema import Intent, Record, TimeConstraint
from langgraph_engram.settings import RetrieveSettings
from langgraph_engram.stores.scope_index import RecordShelf


def dimension_scores(shelf: RecordShelf, intent: Intent, settings: RetrieveSettings) -> Scores:
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


def type_scores(shelf: RecordShelf, intent: Intent) -> Scores:
    """Give 1 to records of a target type, 0 to the others."""
    wanted = set(intent.target_types)
    return np.fromiter((record.memory_type in wanted for record in shelf.items), dtype=np.float64, count=len(shelf))


def time_scores(shelf: RecordShelf, constraint: TimeConstraint, unknown: float) -> Scores:
    """Give 1 where the event time overlaps the constraint, else 0.

    Without an event time: 1 where the record was mentioned within the constraint, else the credit for unknown.
    """
    happened = _overlap(shelf.event_start, shelf.event_end, constraint)
    mentioned = _overlap(shelf.told_on_clock, shelf.told_on_clock, constraint)
    known = ~np.isnan(shelf.event_start)
    return np.where(known, happened.astype(np.float64), np.where(mentioned, 1.0, unknown))


def location_scores(shelf: RecordShelf, location: str, unknown: float) -> Scores:
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
