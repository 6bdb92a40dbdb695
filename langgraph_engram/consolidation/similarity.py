"""Find the earlier records that a new one resembles: posting lists for the keywords, one product for the vectors.

Both thresholds are in DimMem section 3.4. Two records that set one slot of one person to different values are rivals,
though they may share no word. Standing statements of one kind are compared by meaning alone: they are few, and a later
one on the same matter takes the place of the earlier (docs/decisions/0011).
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from langgraph_engram.consolidation.triage import common_from, slot_in, states_something
from langgraph_engram.embeddings.base import Vectors
from langgraph_engram.schema import Record
from langgraph_engram.stores.bm25 import BM25Index
from langgraph_engram.stores.index import RecordIndex
from langgraph_engram.text.tokens import words

TYPES = ("fact", "episodic", "profile", None)

Positions = NDArray[np.intp]


@dataclass(frozen=True)
class KeywordIndex:
    """Records by keyword and by slot, in one order."""

    records: Sequence[Record]
    keywords: BM25Index
    """The terms of each record are its keywords, case-folded, each under its type (DimMem: the type group)."""
    slots: BM25Index
    """The term of a record is the slot that it sets, if it sets one."""
    standing: BM25Index
    """The term of a record is the kind of standing statement that it is, if it is one."""
    states: NDArray[np.bool_]
    """Whether each record states something that may change."""


def keyword_index(records: RecordIndex, new: Sequence[Record] = ()) -> KeywordIndex:
    """Return the index of a scope's records, which are read once, and of new ones behind them."""
    states = records.column("states_something", states_something, np.bool_)
    return KeywordIndex(
        records.items.extended(new),
        records.terms("keyword_terms", _keyword_terms).extended([_keyword_terms(record) for record in new]),
        records.terms("slot_terms", _slot_terms).extended([_slot_terms(record) for record in new]),
        records.terms("standing_terms", _standing_terms).extended([_standing_terms(record) for record in new]),
        np.concatenate([states, np.array([states_something(record) for record in new], dtype=np.bool_)]),
    )


@dataclass(frozen=True)
class ComparisonSet:
    """What new records are compared with: the records of the scope, then the new ones, in one order."""

    index: KeywordIndex
    stored: Vectors
    """Vectors of the scope's records, of shape (scope, d)."""
    new: Vectors
    """Vectors of the new records, of shape (new, d)."""
    comparable: NDArray[np.bool_]
    """Whether each record may be compared, of shape (scope + new,)."""
    ignored: frozenset[str] = frozenset()
    """Keyword terms that say nothing about any single record."""

    def keywords(self, position: int) -> frozenset[str]:
        """Return the keyword terms of a record that say something."""
        return self.index.keywords.terms_at(position) - self.ignored

    def keyword_counts(self) -> Positions:
        """Return how many keywords of each record say something, as an array of shape (n,)."""
        counts = self.index.keywords.lengths.astype(np.intp)
        for term in self.ignored:
            counts[self.index.keywords.positions(term)] -= 1
        return counts

    def cosines(self, position: int, others: Positions) -> NDArray[np.float32]:
        """Return the cosine of a new record with each of others, as an array of shape (others,)."""
        first_new = len(self.stored)
        vector = self.new[position - first_new]
        cosines = np.empty(len(others), dtype=np.float32)
        old = others < first_new
        if old.any():
            cosines[old] = self.stored[others[old]] @ vector
        cosines[~old] = self.new[others[~old] - first_new] @ vector
        return cosines


@dataclass(frozen=True)
class NearDuplicate:
    """An earlier record that a new one resembles."""

    position: int
    jaccard: float
    cosine: float


def near_duplicates(
    compared: ComparisonSet, position: int, others: Positions, cosines: NDArray[np.float32]
) -> list[NearDuplicate]:
    """Return how much a new record resembles some earlier ones, with their cosines, in order."""
    own = compared.keywords(position)
    return [
        NearDuplicate(int(other), jaccard(own, compared.keywords(int(other))), float(cosine))
        for other, cosine in zip(others, cosines, strict=True)
    ]


def jaccard(first: frozenset[str], second: frozenset[str]) -> float:
    """Return the share of common keywords, in [0, 1] (DimMem section 3.4); 0 when either has none."""
    return len(first & second) / len(first | second) if first and second else 0.0


def common_terms(index: KeywordIndex, speakers: Collection[str]) -> frozenset[str]:
    """Return the keyword terms that say nothing: names of speakers, and what a large share of the scope holds."""
    names = {name.casefold() for name in speakers} | {word for name in speakers for word in words(name)}
    common = index.keywords.terms_in_more_than(common_from(len(index.records)))
    return frozenset([*(f"{kind}: {name}" for kind in TYPES for name in names), *common])


def with_shared_keywords(compared: ComparisonSet, position: int, counts: Positions, least: float) -> Positions:
    """Return the positions of the earlier records of the same type whose keywords overlap enough, in order."""
    own = compared.keywords(position)
    holders = [compared.index.keywords.positions(term) for term in own]
    if not holders:
        return np.empty(0, dtype=np.intp)
    positions, shared = np.unique(np.concatenate(holders), return_counts=True)
    shares = shared / (len(own) + counts[positions] - shared)
    passing = (positions < position) & compared.comparable[positions] & (shares >= least)
    near: Positions = positions[passing].astype(np.intp)
    return near


def rivals_of(compared: ComparisonSet, position: int) -> Positions:
    """Return the positions of the earlier records that set the new one's slot to another value, in order."""
    records = compared.index.records
    own = slot_in(records[position])
    if own is None:
        return np.empty(0, dtype=np.intp)
    holders = [int(holder) for holder in compared.index.slots.positions(own.key) if holder < position]
    rivals = [holder for holder in holders if (slot := slot_in(records[holder])) and slot.value != own.value]
    return np.array([rival for rival in rivals if compared.comparable[rival]], dtype=np.intp)


def standing_alike(compared: ComparisonSet, position: int) -> Positions:
    """Return the positions of the earlier standing statements of the new one's kind, in order."""
    kind = compared.index.records[position].standing
    holders = compared.index.standing.positions(kind) if kind else ()
    return np.array([holder for holder in holders if holder < position and compared.comparable[holder]], dtype=np.intp)


def _keyword_terms(record: Record) -> list[str]:
    """Return a record's keywords as terms of its type, case-folded, without repeats."""
    return list(dict.fromkeys(f"{record.memory_type}: {word.casefold()}" for word in record.keywords))


def _slot_terms(record: Record) -> list[str]:
    slot = slot_in(record)
    return [slot.key] if slot else []


def _standing_terms(record: Record) -> list[str]:
    return [record.standing] if record.standing else []
