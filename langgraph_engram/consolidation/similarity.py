"""Find the earlier records that a new one resembles: posting lists for the keywords, one product for the vectors.

Both thresholds are DimMem's (section 3.4). Two records that set one slot of one person to different values are rivals,
though they may share no word. Standing statements of one kind are compared by meaning alone: they are few, and a later
one on the same matter takes the place of the earlier (docs/decisions/0040).
"""

from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from operator import is_not
from threading import Lock
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from langgraph_engram.consolidation.triage import common_from, slot_in, states_something
from langgraph_engram.embeddings.base import Vectors
from langgraph_engram.schema import Record, Scope
from langgraph_engram.settings import UpdateSettings
from langgraph_engram.stores.arrays import AppendOnlyArray
from langgraph_engram.stores.base import Store
from langgraph_engram.stores.bm25 import BM25Index
from langgraph_engram.stores.index import RecordIndex
from langgraph_engram.text.tokens import words

MAX_CACHED_SCOPES = 64
"""Scopes of a store whose keyword index is cached."""
TYPES = ("fact", "episodic", "profile", None)

Positions = NDArray[np.intp]

_EMPTY: AppendOnlyArray[np.bool_] = AppendOnlyArray(np.empty(0, dtype=np.bool_))


@dataclass(frozen=True)
class KeywordIndex:
    """Records by keyword and by slot, in the order of their index. It is a value: `extended` returns another."""

    records: Sequence[Record] = ()
    keywords: BM25Index = field(default_factory=BM25Index)
    """The terms of each record are its keywords, case-folded, each under its type (DimMem: the type group)."""
    slots: BM25Index = field(default_factory=BM25Index)
    """The term of a record is the slot that it sets, if it sets one."""
    standing: BM25Index = field(default_factory=BM25Index)
    """The term of a record is the kind of standing statement that it is, if it is one."""
    states: AppendOnlyArray[np.bool_] = _EMPTY
    """Whether each record states something that may change."""

    def extended(self, records: Sequence[Record]) -> "KeywordIndex":
        """Return the index of `records`, which begin with this index's own, some of them changed."""
        keywords, slots, standing = self.keywords.fork(), self.slots.fork(), self.standing.fork()
        known = len(self.records)
        changed = [position for position, differs in enumerate(map(is_not, self.records, records)) if differs]
        for position in changed:
            keywords.replace(position, _keyword_terms(records[position]))
            slots.replace(position, _slot_terms(records[position]))
            standing.replace(position, _standing_terms(records[position]))
        keywords.extend(map(_keyword_terms, records[known:]))
        slots.extend(map(_slot_terms, records[known:]))
        standing.extend(map(_standing_terms, records[known:]))
        states = self.states.extended(_stating(records[known:]))
        if changed:
            states = states.replaced(changed, _stating([records[position] for position in changed]))
        return KeywordIndex(records, keywords, slots, standing, states)


_cache: WeakKeyDictionary[Store, OrderedDict[str, KeywordIndex]] = WeakKeyDictionary()
"""The index last made for each scope, those used longest ago first."""
_cache_lock = Lock()


def keyword_index(store: Store, scope: Scope, records: RecordIndex, new: Sequence[Record] = ()) -> KeywordIndex:
    """Return the index of a scope's records as they stand, and of new ones behind them.

    It extends the one that was last made; only the stored records are cached for the next time.
    """
    with _cache_lock:
        cached = _cache.setdefault(store, OrderedDict())
        last = cached.get(scope.key, KeywordIndex())
        if len(last.records) > len(records.items):
            last = KeywordIndex()  # the scope has shrunk
        cached[scope.key] = index = last.extended(records.items)
        cached.move_to_end(scope.key)
        while len(cached) > MAX_CACHED_SCOPES:
            cached.popitem(last=False)
        return index.extended([*records.items, *new]) if new else index


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
        return frozenset(self.index.keywords.doc_freqs[position]) - self.ignored

    def keyword_counts(self) -> Positions:
        """Return how many keywords of each record say something, as an array of shape (n,)."""
        counts = self.index.keywords.lengths.astype(np.intp)
        for term in self.ignored:
            counts[self.index.keywords.positions(term)] -= 1
        return counts

    def cosines(self, position: int, candidates: Positions) -> NDArray[np.float32]:
        """Return the cosine of a new record with each candidate, as an array of shape (candidates,)."""
        first_new = len(self.stored)
        vector = self.new[position - first_new]
        cosines = np.empty(len(candidates), dtype=np.float32)
        old = candidates < first_new
        if old.any():
            cosines[old] = self.stored[candidates[old]] @ vector
        cosines[~old] = self.new[candidates[~old] - first_new] @ vector
        return cosines


@dataclass(frozen=True)
class NearDuplicate:
    """An earlier record that a new one resembles."""

    position: int
    jaccard: float
    cosine: float


def near_duplicates(
    compared: ComparisonSet, position: int, counts: Positions, settings: UpdateSettings
) -> tuple[list[NearDuplicate], int]:
    """Find the earlier records that a new one resembles.

    Args:
        compared: All records.
        position: The position of the new one.
        counts: What `compared.keyword_counts` returns.
        settings: The thresholds.

    Returns:
        Those that pass both thresholds, set the same slot to another value, or are standing statements of its kind and
        close in meaning, by position; and how many vectors were compared.
    """
    if not compared.comparable[position]:
        return [], 0
    if settings.filter == "embedding":
        near = np.flatnonzero(compared.comparable[:position])
    else:
        near = _keyword_candidates(compared, position, counts, settings.jaccard)
    rivals = _rivals(compared, position) if settings.selective else np.empty(0, dtype=np.intp)
    standing = _standing_alike(compared, position) if settings.selective else np.empty(0, dtype=np.intp)
    candidates = np.union1d(np.union1d(near, rivals), standing)
    cosines = compared.cosines(position, candidates)
    passing = (np.isin(candidates, near) & (cosines >= settings.cosine)) | np.isin(candidates, rivals)
    passing |= np.isin(candidates, standing) & (cosines >= settings.standing_cosine)
    own = compared.keywords(position)
    found = [
        NearDuplicate(int(candidate), jaccard(own, compared.keywords(int(candidate))), float(cosine))
        for candidate, cosine in zip(candidates[passing], cosines[passing], strict=True)
    ]
    return found, len(candidates)


def jaccard(first: frozenset[str], second: frozenset[str]) -> float:
    """Return the share of common keywords, in [0, 1] (DimMem section 3.4); 0 when either has none."""
    return len(first & second) / len(first | second) if first and second else 0.0


def common_terms(index: KeywordIndex, speakers: Collection[str], settings: UpdateSettings) -> frozenset[str]:
    """Return the keyword terms that say nothing: names of speakers, and what a large share of the scope holds."""
    names = {name.casefold() for name in speakers} | {word for name in speakers for word in words(name)}
    common = index.keywords.terms_in_more_than(common_from(len(index.records), settings))
    return frozenset([*(f"{kind}: {name}" for kind in TYPES for name in names), *common])


def _keyword_candidates(compared: ComparisonSet, position: int, counts: Positions, least: float) -> Positions:
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


def _rivals(compared: ComparisonSet, position: int) -> Positions:
    """Return the positions of the earlier records that set the new one's slot to another value, in order."""
    records = compared.index.records
    own = slot_in(records[position])
    if own is None:
        return np.empty(0, dtype=np.intp)
    holders = [int(holder) for holder in compared.index.slots.positions(own.key) if holder < position]
    rivals = [holder for holder in holders if (slot := slot_in(records[holder])) and slot.value != own.value]
    return np.array([rival for rival in rivals if compared.comparable[rival]], dtype=np.intp)


def _standing_alike(compared: ComparisonSet, position: int) -> Positions:
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


def _stating(records: Sequence[Record]) -> NDArray[np.bool_]:
    return np.array([states_something(record) for record in records], dtype=np.bool_)
