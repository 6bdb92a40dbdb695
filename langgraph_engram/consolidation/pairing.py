"""Pair near-duplicate records: same type, then shared keywords, then close meaning (DimMem section 3.4).

Each new record is compared with the scope index, never all with all. Two records that set one slot of one person to
different values are rivals, though they may share no word. Wishes of one kind are compared by meaning alone: they are
few, and a later one on the same matter takes the place of the earlier (docs/decisions/0011).

Pairs that need no decision are ruled out, and counted: what is no statement, two sentences of one turn, what two people
say, unless the later says that something has changed, two episodes at times that do not meet, and what shares few words
that say something in its scope.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from langgraph_engram.embeddings.base import Vectors
from langgraph_engram.schema import FilterCounts, Pair, Record, Scope
from langgraph_engram.settings import UpdateSettings
from langgraph_engram.stores.base import Store
from langgraph_engram.stores.bm25 import BM25Index
from langgraph_engram.stores.index import RecordIndex, ScopeIndex
from langgraph_engram.text.statements import own_words, slot_in, speaks_of_self, states_change, states_something
from langgraph_engram.text.words import content_stems, words

DECIDED = "decided before"
BY_ASSISTANT = "both said by an assistant"
WISH_COSINE = 0.6
"""Minimum cosine of a pair of wishes of one kind, whatever their keywords."""
TYPES = ("fact", "episodic", "profile", None)

ONE_TURN = "said in one turn"
TWO_TIMES = "two times"
TWO_SPEAKERS = "two speakers, and no change"
LITTLE_SHARED = "little shared that says something"
COMMON_SHARE = 0.01
"""Share of a scope's records from which a word that they hold is not informative."""
COMMON_FLOOR = 10
"""Records of a scope that may hold an informative word, however small the scope."""
MIN_SHARED_WORDS = 2
"""Informative words that the contents of a pair must share."""

Positions = NDArray[np.intp]


@dataclass(frozen=True)
class ComparisonSet:
    """What new records are compared with: the records of the scope, then the new ones, in one order."""

    records: Sequence[Record]
    terms: BM25Index
    """The terms of each record are its keywords, case-folded, each under its type (DimMem: the type group)."""
    slots: BM25Index
    """The term of a record is the slot that it sets, if it sets one."""
    wishes: BM25Index
    """The term of a record is the kind of wish that it is, if it is one."""
    stored: Vectors
    """Vectors of the scope's records, of shape (scope, d)."""
    new: Vectors
    """Vectors of the new records, of shape (new, d)."""
    comparable: NDArray[np.bool_]
    """Whether each record may be compared, of shape (scope + new,)."""
    ignored: frozenset[str] = frozenset()
    """Keyword terms that say nothing about any single record."""

    @classmethod
    def of(cls, records: RecordIndex, old: NDArray[np.bool_], new: Sequence[Record], encoded: Vectors) -> Self:
        """Return a scope's records, whose terms are read once, of which the `old` may be compared, and all new ones."""
        return cls(
            records.items.extended(new),
            records.terms("keyword_terms", _keyword_terms).extended(map(_keyword_terms, new)),
            records.terms("slot_terms", _slot_terms).extended(map(_slot_terms, new)),
            records.terms("wish_terms", _wish_terms).extended(map(_wish_terms, new)),
            records.vectors,
            encoded,
            np.concatenate([old, np.ones(len(new), dtype=np.bool_)]),
        )

    def keywords(self, position: int) -> frozenset[str]:
        """Return the keyword terms of a record that say something."""
        return frozenset(_keyword_terms(self.records[position])) - self.ignored

    @cached_property
    def keyword_counts(self) -> Positions:
        """Return how many keywords of each record say something, as an array of shape (n,)."""
        counts = self.terms.lengths.astype(np.intp)
        for term in self.ignored:
            counts[self.terms.positions(term)] -= 1
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

    def with_shared_keywords(self, position: int, least: float) -> Positions:
        """Return the positions of the earlier records of the same type whose keywords overlap enough, in order."""
        own = self.keywords(position)
        holders = [self.terms.positions(term) for term in own]
        if not holders:
            return np.empty(0, dtype=np.intp)
        positions, shared = np.unique(np.concatenate(holders), return_counts=True)
        shares = shared / (len(own) + self.keyword_counts[positions] - shared)
        passing = (positions < position) & self.comparable[positions] & (shares >= least)
        return np.asarray(positions[passing], dtype=np.intp)

    def rivals(self, position: int) -> Positions:
        """Return the positions of the earlier records that set the new one's slot to another value, in order."""
        own = slot_in(self.records[position])
        if own is None:
            return np.empty(0, dtype=np.intp)
        holders = self.earlier(self.slots, own.key, position)
        slots = (slot_in(self.records[holder]) for holder in holders.tolist())
        return holders[[slot is not None and slot.value != own.value for slot in slots]]

    def near_duplicates(self, position: int, others: Positions, cosines: NDArray[np.float32]) -> "list[NearDuplicate]":
        """Return how much a new record resembles some earlier ones, with their cosines, in order."""
        own, new = self.keywords(position), self.records[position]
        return [
            NearDuplicate(self.records[other], new, jaccard(own, self.keywords(other)), float(cosine))
            for other, cosine in zip(others.tolist(), cosines, strict=True)
        ]

    def earlier(self, index: BM25Index, term: str, position: int) -> Positions:
        """Return the positions of the comparable records before one that hold a term, in order."""
        holders = index.positions(term).astype(np.intp)
        return holders[(holders < position) & self.comparable[holders]]


@dataclass(frozen=True)
class NearDuplicate:
    """An earlier record, a new one that resembles it, and how much."""

    earlier: Record
    new: Record
    jaccard: float
    cosine: float

    @property
    def pair(self) -> Pair:
        """Return both in the order in which they were said."""
        earlier, new = self.earlier, self.new
        is_older = new.mentioned_at and earlier.mentioned_at and new.mentioned_at < earlier.mentioned_at
        older, newer = (new, earlier) if is_older else (earlier, new)
        return Pair(older_id=older.record_id, newer_id=newer.record_id, jaccard=self.jaccard, cosine=self.cosine)


@dataclass(frozen=True)
class PairedRecords:
    """The near-duplicates of a run's new records."""

    pairs: list[Pair] = field(default_factory=list)
    """Those to decide on."""
    counts: FilterCounts = field(default_factory=FilterCounts)
    revision: str | None = None
    """The revision of the scope that was looked at; None where there was nothing to look for."""


@dataclass(frozen=True)
class InformativeStems:
    """Which stems say something in a scope: those that few of its records hold, names of speakers aside."""

    stored: BM25Index
    new: Sequence[Record]
    names: Collection[str]

    @cached_property
    def _named(self) -> frozenset[str]:
        return frozenset(content_stems(" ".join(self.names)))

    @cached_property
    def _counts(self) -> Counter[str]:
        return Counter(stem for record in self.new for stem in set(content_stems(record.content)))

    def of(self, record: Record) -> frozenset[str]:
        """Return the stems of a record's own words that say something."""
        most = common_from(len(self.stored) + len(self.new))
        stems = frozenset(content_stems(own_words(record.content, record.speaker))) - self._named
        return frozenset(stem for stem in stems if self.stored.document_frequency(stem) + self._counts[stem] <= most)


@dataclass(frozen=True)
class PairFinder:
    """Find pairs of near-duplicates."""

    store: Store
    settings: UpdateSettings

    def find(self, scope: Scope, records: Sequence[Record]) -> PairedRecords:
        """Return the pairs of active records to decide on, each with a new record in it, stored already or not."""
        new = [record for record in records if record.status == "active" and not record.is_chunk]
        if not self.settings.enabled or not new:
            return PairedRecords()
        index = self.store.index(scope).as_of(None)
        old = _old_active(index, new)
        encoded = self.store.encoder.encode([record.indexed_text for record in new])
        compared = self.narrowed(ComparisonSet.of(index.records, old, new, encoded), index)
        of_new = np.flatnonzero(compared.comparable[len(index.records) :]) + len(index.records)
        found = [self.alike(compared, position) for position in of_new.tolist()]
        matches = [match for near, _ in found for match in near]
        pairs, ruled_out = self.triage(matches, index, new)
        undecided = _undecided(pairs, index)
        ruled_out[DECIDED] = len(pairs) - len(undecided)
        counts = FilterCounts(
            possible=int(old.sum()) * len(new) + len(new) * (len(new) - 1) // 2,
            compared=sum(count for _, count in found),
            alike=len(matches),
            ruled_out={reason: count for reason, count in ruled_out.items() if count},
        )
        return PairedRecords(undecided, counts, index.revision)

    def narrowed(self, compared: ComparisonSet, index: ScopeIndex) -> ComparisonSet:
        """Leave out, of all active records and their keywords, what states nothing and what says nothing here."""
        speakers = index.turns.speakers
        names = {name.casefold() for name in speakers} | {part for name in speakers for part in words(name)}
        common = compared.terms.terms_in_more_than(common_from(len(compared.records)))
        ignored = frozenset([*(f"{kind}: {name}" for kind in TYPES for name in names), *common])
        new = compared.records[len(index.records) :]
        states = index.records.column("states_something", states_something, np.bool_)
        may_change = np.concatenate([states, np.array(list(map(states_something, new)), dtype=np.bool_)])
        return replace(compared, comparable=compared.comparable & may_change, ignored=ignored)

    def alike(self, compared: ComparisonSet, position: int) -> tuple[list[NearDuplicate], int]:
        """Return the earlier records that a new one resembles or is a rival of, and how many vectors were compared."""
        near = compared.with_shared_keywords(position, self.settings.jaccard)
        rivals = compared.rivals(position)
        wishes = compared.earlier(compared.wishes, wish_in(compared.records[position]), position)
        others = np.union1d(np.union1d(near, rivals), wishes)
        cosines = compared.cosines(position, others)
        passing = (np.isin(others, near) & (cosines >= self.settings.cosine)) | np.isin(others, rivals)
        passing |= np.isin(others, wishes) & (cosines >= WISH_COSINE)
        return compared.near_duplicates(position, others[passing], cosines[passing]), len(others)

    def triage(
        self, matches: Sequence[NearDuplicate], index: ScopeIndex, new: Sequence[Record]
    ) -> tuple[list[Pair], Counter[str]]:
        """Return the pairs to decide on, and how many were ruled out for which reason."""
        informative = InformativeStems(index.records.lexical, new, index.turns.speakers)
        pairs: list[Pair] = []
        ruled_out = Counter[str]()
        for match in matches:
            by_assistant = _is_by_assistant(match.earlier, index) and _is_by_assistant(match.new, index)
            is_advice = by_assistant and not states_change(match.new)
            reason = BY_ASSISTANT if is_advice else ruled_out_reason(match.earlier, match.new, informative)
            if reason:
                ruled_out[reason] += 1
            else:
                pairs.append(match.pair)
        return pairs, ruled_out


def jaccard(first: frozenset[str], second: frozenset[str]) -> float:
    """Return the share of common keywords, in [0, 1] (DimMem section 3.4); 0 when either has none."""
    return len(first & second) / len(first | second) if first and second else 0.0


def _old_active(index: ScopeIndex, new: Sequence[Record]) -> NDArray[np.bool_]:
    """Return which records of a scope are active and no chunks, and are not the new ones written before."""
    records = index.records
    old: NDArray[np.bool_] = records.active & ~records.is_chunk
    old[[records.position(record.record_id) for record in new if record.record_id in records]] = False
    return old


def _undecided(pairs: Sequence[Pair], index: ScopeIndex) -> list[Pair]:
    """Leave out what the audit trail says was decided on, undone or not."""
    ids = {record_id for pair in pairs for record_id in (pair.older_id, pair.newer_id)}
    decided = index.decisions.values() if pairs else ()
    trail = [frozenset(decision.pair) for decision in decided if not ids.isdisjoint(decision.pair)]
    return [pair for pair in pairs if not any({pair.older_id, pair.newer_id} <= known for known in trail)]


def _is_by_assistant(record: Record, index: ScopeIndex) -> bool:
    """Return whether a record's last source is an assistant's turn: advice and lists, which are about nobody."""
    turn = index.turns.get(record.source_turn_ids[-1]) if record.source_turn_ids else None
    return turn is not None and turn.role == "assistant"


def _keyword_terms(record: Record) -> list[str]:
    """Return a record's keywords as terms of its type, case-folded, without repeats."""
    return list(dict.fromkeys(f"{record.memory_type}: {word.casefold()}" for word in record.keywords))


def _slot_terms(record: Record) -> list[str]:
    return [slot.key] if (slot := slot_in(record)) else []


def _wish_terms(record: Record) -> list[str]:
    return [wish] if (wish := wish_in(record)) else []


def wish_in(record: Record) -> str:
    """Return the kind of wish that a record is, of which a later one takes the place of an earlier; empty for none."""
    return record.lasting if record.lasting in ("instruction", "preference") else ""


def ruled_out_reason(older: Record, newer: Record, informative: InformativeStems) -> str:
    """Return the reason why a record and one that came later, or with it, are two things; empty where to decide."""
    if not set(older.source_turn_ids).isdisjoint(newer.source_turn_ids):
        return ONE_TURN
    if (before := slot_in(older)) and (after := slot_in(newer)) and before.key == after.key:
        return ""
    if are_apart_in_time(older, newer):
        return TWO_TIMES
    first, second = (own_words(record.content, record.speaker) for record in (older, newer))
    changes = states_change(newer)
    if older.speaker != newer.speaker and (not changes or speaks_of_self(first) or speaks_of_self(second)):
        return TWO_SPEAKERS
    if wish_in(older) and wish_in(older) == wish_in(newer):
        return ""
    shares_enough = changes or len(informative.of(older) & informative.of(newer)) >= MIN_SHARED_WORDS
    return "" if shares_enough else LITTLE_SHARED


def common_from(records: int) -> float:
    """Return how many of a scope's records may hold a word before it says nothing about any single one of them."""
    return max(float(COMMON_FLOOR), COMMON_SHARE * records)


def are_apart_in_time(first: Record, second: Record) -> bool:
    """Return whether two records are episodes at known times that do not meet: two events, however alike."""
    if not (first.memory_type == second.memory_type == "episodic"):
        return False
    if not (first.event_start and first.event_end and second.event_start and second.event_end):
        return False
    return first.event_end < second.event_start or second.event_end < first.event_start
