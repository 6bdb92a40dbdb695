"""Find which records resemble one another: same type, then shared keywords, then close meaning (DimMem section 3.4).

Each new record is held against the records of its type in the scope index, never all against all.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from langgraph_engram.encoder import Vectors
from langgraph_engram.schema import Record
from langgraph_engram.settings import UpdateSettings
from langgraph_engram.state import Pair, WriteState
from langgraph_engram.stores.store import Store


@dataclass(frozen=True)
class FilterCandidates:
    """Pair look-alikes. Reads `request`, `records`; sets `pairs`."""

    store: Store
    settings: UpdateSettings

    def __call__(self, state: WriteState) -> WriteState:
        """Return the pairs of active records that pass both thresholds, each with a new record in it."""
        new = [record for record in state["records"] if record.status == "active"]
        if not self.settings.enabled or not new:
            return {"pairs": []}
        ids = {record.record_id for record in new}
        shelf = self.store.index(state["request"].scope).records
        old = [one for one in shelf.items if one.status == "active" and one.record_id not in ids]
        vectors = {one.record_id: shelf.vectors[shelf.position(one.record_id)] for one in old}
        encoded = self.store.encoder.encode([record.indexed_text for record in new])
        vectors |= {record.record_id: vector for record, vector in zip(new, encoded, strict=True)}
        return {"pairs": pairs_of(new, old, vectors, self.settings)}


def pairs_of(
    new: Sequence[Record], old: Sequence[Record], vectors: dict[str, Vectors], settings: UpdateSettings
) -> list[Pair]:
    """Pair new records with older ones and with one another.

    Args:
        new: The run's active records.
        old: The scope's active records.
        vectors: A unit vector of each, by record id.
        settings: The thresholds of keyword Jaccard and cosine.

    Returns:
        Pairs in which the older record is named first.
    """
    found: list[Pair] = []
    holders = _by_keyword([*old, *new])
    seen = {record.record_id: place for place, record in enumerate([*old, *new])}
    everyone = [*old, *new]
    for record in new:
        near = {other for word in _keywords(record) for other in holders.get((record.memory_type, word), ())}
        for place in sorted(other for other in near if other < seen[record.record_id]):
            other = everyone[place]
            shared = jaccard(_keywords(record), _keywords(other))
            if shared < settings.jaccard:
                continue
            close = float(np.dot(vectors[record.record_id], vectors[other.record_id]))
            if close >= settings.cosine:
                found.append(_pair(record, other, shared, close))
    return found


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Give the share of common keywords, in [0, 1] (DimMem section 3.4); 0 when either has none."""
    return len(one & other) / len(one | other) if one and other else 0.0


def _pair(record: Record, other: Record, shared: float, close: float) -> Pair:
    later = record.mentioned_at and other.mentioned_at and record.mentioned_at < other.mentioned_at
    older, newer = (record, other) if later else (other, record)
    return Pair(older_id=older.record_id, newer_id=newer.record_id, jaccard=shared, cosine=close)


def _by_keyword(records: Sequence[Record]) -> dict[tuple[str | None, str], list[int]]:
    holders: dict[tuple[str | None, str], list[int]] = {}
    for place, record in enumerate(records):
        for word in _keywords(record):
            holders.setdefault((record.memory_type, word), []).append(place)
    return holders


def _keywords(record: Record) -> frozenset[str]:
    return frozenset(word.casefold() for word in record.keywords)
