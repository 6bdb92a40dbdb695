"""Find the records that a new one resembles: posting lists for the keywords, one product for the vectors.

Both thresholds are DimMem's (section 3.4). Two records that set one attribute of one person to different values are
alike though they share no word. This module does not know what becomes of a pair.
"""

from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from operator import is_not
from threading import Lock
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from langgraph_engram.consolidation.triage import common_from, may_change, slot_in
from langgraph_engram.embeddings.base import Vectors
from langgraph_engram.schema import Record, Scope
from langgraph_engram.settings import UpdateSettings
from langgraph_engram.stores.arrays import AppendOnlyArray
from langgraph_engram.stores.base import Store
from langgraph_engram.stores.bm25 import BM25Index
from langgraph_engram.stores.index import RecordIndex
from langgraph_engram.text.tokens import words

SCOPES_KEPT = 64
"""Scopes of a store whose index is kept."""
NOTHING: AppendOnlyArray[np.bool_] = AppendOnlyArray(np.empty(0, dtype=np.bool_))


@dataclass(frozen=True)
class KeywordIndex:
    """Records by keyword and by attribute, in the order of their shelf. It is a value: growing gives another."""

    records: Sequence[Record] = ()
    keywords: BM25Index = field(default_factory=BM25Index)
    """The terms of each record are its keywords, case-folded, each under its type (DimMem: the type group)."""
    attributes: BM25Index = field(default_factory=BM25Index)
    """The term of a record is the attribute that it sets, if it sets one."""
    states: AppendOnlyArray[np.bool_] = NOTHING
    """Whether each record states something that may change."""

    def grown(self, records: Sequence[Record]) -> "KeywordIndex":
        """Give the index of `records`, which begin with this index's own, some of them changed."""
        keywords, attributes = self.keywords.fork(), self.attributes.fork()
        known = len(self.records)
        changed = [at for at, differs in enumerate(map(is_not, self.records, records)) if differs]
        for position in changed:
            keywords.replace(position, keyword_terms(records[position]))
            attributes.replace(position, slot_terms(records[position]))
        keywords.extend(map(keyword_terms, records[known:]))
        attributes.extend(map(slot_terms, records[known:]))
        states = self.states.extended(np.array([may_change(one) for one in records[known:]], dtype=np.bool_))
        if changed:
            states = states.replaced(changed, np.array([may_change(records[at]) for at in changed], dtype=np.bool_))
        return KeywordIndex(records, keywords, attributes, states)


CACHE: WeakKeyDictionary[Store, OrderedDict[str, KeywordIndex]] = WeakKeyDictionary()
"""The index last made for each scope, those used longest ago first."""
CACHE_LOCK = Lock()


def keyword_index(store: Store, scope: Scope, shelf: RecordIndex, new: Sequence[Record] = ()) -> KeywordIndex:
    """Give the index of a scope's records as they stand, and of new ones behind them.

    It grows from the one that was last made; only the records of the shelf are kept for the next time.
    """
    with CACHE_LOCK:
        kept = CACHE.setdefault(store, OrderedDict())
        held = kept.get(scope.key, KeywordIndex())
        if len(held.records) > len(shelf.items):
            held = KeywordIndex()  # the scope has shrunk
        kept[scope.key] = index = held.grown(shelf.items)
        kept.move_to_end(scope.key)
        while len(kept) > SCOPES_KEPT:
            kept.popitem(last=False)
        return index.grown([*shelf.items, *new]) if new else index


def keyword_terms(record: Record) -> list[str]:
    """Give a record's keywords as terms of its type, case-folded, without repeats."""
    return list(dict.fromkeys(f"{record.memory_type}: {word.casefold()}" for word in record.keywords))


def slot_terms(record: Record) -> list[str]:
    """Give the key of the attribute that a record sets, if it sets one."""
    found = slot_in(record)
    return [found.key] if found else []


TYPES = ("fact", "episodic", "profile", None)
Places = NDArray[np.intp]


@dataclass(frozen=True)
class ComparisonSet:
    """What new records are compared with: the records of the scope, then the new ones, in one order."""

    index: KeywordIndex
    known: Vectors
    """Vectors of the scope's records, of shape (scope, d)."""
    new: Vectors
    """Vectors of the new records, of shape (new, d)."""
    stands: NDArray[np.bool_]
    """Whether each record may be compared, of shape (scope + new,)."""
    empty: frozenset[str] = frozenset()
    """Keyword terms that say nothing about any one record."""

    def keywords(self, position: int) -> frozenset[str]:
        """Give the keyword terms of a record that say something."""
        return frozenset(self.index.keywords.doc_freqs[position]) - self.empty

    def cosines(self, position: int, others: Places) -> NDArray[np.float32]:
        """Give the cosine of a new record with others, as an array of shape (others,)."""
        first_new = len(self.known)
        vector = self.new[position - first_new]
        cosines = np.empty(len(others), dtype=np.float32)
        old = others < first_new
        if old.any():
            cosines[old] = self.known[others[old]] @ vector
        cosines[~old] = self.new[others[~old] - first_new] @ vector
        return cosines


@dataclass(frozen=True)
class NearDuplicate:
    """An earlier record that a new one resembles."""

    place: int
    jaccard: float
    cosine: float


def near_duplicates(
    field: ComparisonSet, position: int, sizes: NDArray[np.intp], settings: UpdateSettings
) -> tuple[list[NearDuplicate], int]:
    """Find the earlier records that a new one resembles.

    Args:
        field: All records.
        position: The place of the new one.
        sizes: How many keywords of each record say something, of shape (n,); see `keyword_sizes`.
        settings: The thresholds.

    Returns:
        Those that pass both thresholds, or set the same attribute to another value, in order of place; and how many
        vectors were compared.
    """
    if not field.stands[position]:
        return [], 0
    near = keyword_candidates(field, position, sizes, settings.jaccard)
    rivals = rivals_of(field, position) if settings.selective else np.empty(0, dtype=np.intp)
    everyone = np.union1d(near, rivals)
    cosines = field.cosines(position, everyone)
    passing = (np.isin(everyone, near) & (cosines >= settings.cosine)) | np.isin(everyone, rivals)
    own = field.keywords(position)
    found = [
        NearDuplicate(int(place), jaccard(own, field.keywords(int(place))), float(cosine))
        for place, cosine in zip(everyone[passing], cosines[passing], strict=True)
    ]
    return found, len(everyone)


def keyword_candidates(field: ComparisonSet, position: int, sizes: NDArray[np.intp], least: float) -> Places:
    """Give the places of the earlier records of the same type whose keywords overlap enough, in order."""
    own = field.keywords(position)
    holders = [field.index.keywords.positions(term) for term in own]
    if not holders:
        return np.empty(0, dtype=np.intp)
    places, shared = np.unique(np.concatenate(holders), return_counts=True)
    shares = shared / (len(own) + sizes[places] - shared)
    near: Places = places[(places < position) & field.stands[places] & (shares >= least)].astype(np.intp)
    return near


def rivals_of(field: ComparisonSet, position: int) -> Places:
    """Give the places of the earlier records that set the new one's attribute to another value, in order."""
    records = field.index.records
    mine = slot_in(records[position])
    if mine is None:
        return np.empty(0, dtype=np.intp)
    holders = [int(place) for place in field.index.attributes.positions(mine.key) if place < position]
    other = [place for place in holders if (one := slot_in(records[place])) and one.value != mine.value]
    return np.array([place for place in other if field.stands[place]], dtype=np.intp)


def keyword_sizes(field: ComparisonSet) -> NDArray[np.intp]:
    """Count the keywords of each record that say something, as an array of shape (n,)."""
    sizes = field.index.keywords.lengths.astype(np.intp)
    for term in field.empty:
        sizes[field.index.keywords.positions(term)] -= 1
    return sizes


def empty_terms(index: KeywordIndex, speakers: Collection[str], settings: UpdateSettings) -> frozenset[str]:
    """Give the keyword terms that say nothing: names of who speaks, and what a large share of the scope holds."""
    names = {name.casefold() for name in speakers} | {word for name in speakers for word in words(name)}
    common = index.keywords.terms_in_more_than(common_from(len(index.records), settings))
    return frozenset([*(f"{kind}: {name}" for kind in TYPES for name in names), *common])


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Give the share of common keywords, in [0, 1] (DimMem section 3.4); 0 when either has none."""
    return len(one & other) / len(one | other) if one and other else 0.0
