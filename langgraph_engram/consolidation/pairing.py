"""Pair near-duplicate records: same type, then shared keywords, then close meaning (DimMem section 3.4).

Each new record is compared with the scope index, never all with all. Two records that set one slot of one person to
different values are rivals, though they may share no word. Wishes of one kind are compared by meaning alone: they are
few, and a later one on the same matter takes the place of the earlier (docs/decisions/0011).

Pairs that need no decision are ruled out, and counted: what is no statement, two sentences of one turn, what two people
say, unless the later says that something has changed, two episodes at times that do not meet, what shares few words
that say something in its scope, and what is behind the nearest of many. What is done for each pair is done on arrays.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from langgraph_engram.embeddings.base import Vectors
from langgraph_engram.schema import FilterCounts, Pair, Record, Scope
from langgraph_engram.settings import UpdateSettings
from langgraph_engram.stores.base import Store
from langgraph_engram.stores.bm25 import BM25Index
from langgraph_engram.stores.index import RecordIndex, ScopeIndex
from langgraph_engram.stores.kind_index import ELSEWHERE
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
BEHIND_OTHERS = "behind the nearest of many"
COMMON_SHARE = 0.01
"""Share of a scope's records from which a word that they hold is not informative."""
COMMON_FLOOR = 10
"""Records of a scope that may hold an informative word, however small the scope."""
MIN_SHARED_WORDS = 2
"""Informative words that the contents of a pair must share."""
MAX_PARTNERS = 19
"""Earlier records that a new one is paired with, the nearest: a cluster holds 8, and a record is linked to 19."""

Positions = NDArray[np.intp]


@dataclass(frozen=True)
class ComparisonSet:
    """What new records are compared with: the records of the scope, then the new ones, in one order."""

    scope: RecordIndex
    records: Sequence[Record]
    terms: BM25Index
    """The terms of each record are its keywords, case-folded, each under its type (DimMem: the type group)."""
    slots: BM25Index
    """The terms of a record are the slot that it sets, if it sets one, this with its value, and the wish that it is."""
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
            records,
            records.items.extended(new),
            records.terms("keyword_terms", _keyword_terms).extended(map(_keyword_terms, new)),
            records.terms("slot_terms", _slot_terms).extended(map(_slot_terms, new)),
            encoded,
            np.concatenate([old, np.ones(len(new), dtype=np.bool_)]),
        )

    def column(
        self, label: str, value: Callable[[Record], Any], dtype: type, given: frozenset[str] | None = None
    ) -> NDArray[Any]:
        """Return a value of each record, of shape (n,); of the scope's it is a column."""
        new: NDArray[Any] = np.array([value(record) for record in self.records[len(self.scope) :]], dtype=dtype)
        return np.concatenate([self.scope.column(label, value, dtype, given), new])

    @cached_property
    def keyword_counts(self) -> Positions:
        """Return how many keywords of each record say something, as an array of shape (n,)."""
        counts = self.terms.lengths.astype(np.intp)
        for term in self.ignored:
            counts[self.terms.positions(term)] -= 1
        return counts

    def cosines(self, position: int, others: Positions) -> NDArray[np.float32]:
        """Return the cosine of a new record with each of others, as an array of shape (others,)."""
        first_new = len(self.scope)
        vector = self.new[position - first_new]
        old, new = np.split(others, np.searchsorted(others, [first_new]))
        are_many = 8 * len(old) > first_new  # to copy their vectors would take longer than to multiply all
        of_old = self.scope.cosine(vector)[old] if are_many else self.scope.cosine_of(old, vector)
        return np.concatenate([of_old, np.vecdot(self.new[new - first_new], vector)])

    def jaccards(self, position: int, others: Positions) -> NDArray[np.float64]:
        """Return the share of the keywords that a record has in common with each of others (DimMem section 3.4).

        Keywords that say nothing do not count. Shares are in [0, 1], and 0 where either has none.
        """
        own = self._own_keywords(position)
        shared = self.terms.contains(others, own).sum(axis=1)
        return np.asarray(shared / np.maximum(len(own) + self.keyword_counts[others] - shared, 1))

    def with_shared_keywords(self, position: int, least: float) -> Positions:
        """Return the positions of the earlier records of the same type whose keywords overlap enough, in order."""
        found = [self.earlier(self.terms, term, position) for term in self._own_keywords(position)]
        holders = np.unique(np.concatenate([np.empty(0, dtype=np.intp), *found]))
        return holders[self.jaccards(position, holders) >= least]

    def rivals(self, position: int) -> Positions:
        """Return the positions of the earlier records that set the new one's slot to another value, in order."""
        slot = slot_in(self.records[position])
        holders = self.earlier(self.slots, slot.key if slot else "", position)
        return holders[~self.slots.contains(holders, [f"{slot.key} = {slot.value}" if slot else ""])[:, 0]]

    def earlier(self, index: BM25Index, term: str, position: int) -> Positions:
        """Return the positions of the comparable records before one that hold a term, in order."""
        holders = index.positions(term).astype(np.intp)
        return holders[(holders < position) & self.comparable[holders]]

    def _own_keywords(self, position: int) -> list[str]:
        return [term for term in _keyword_terms(self.records[position]) if term not in self.ignored]


class NearDuplicates(NamedTuple):
    """The earlier records that a new one resembles, by their positions, and their cosines with it."""

    position: int
    others: Positions
    cosines: NDArray[np.float32]


@dataclass(frozen=True)
class PairedRecords:
    """The near-duplicates of a run's new records."""

    pairs: list[Pair] = field(default_factory=list)
    """Those to decide on."""
    counts: FilterCounts = field(default_factory=FilterCounts)
    revision: str | None = None
    """The revision of the scope that was looked at; None where there was nothing to look for."""


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
        near, ruled_out = self.triage([near for near, _ in found if near.others.size], compared, index)
        pairs = [pair for match in near for pair in _pairs(compared, match)]
        undecided = _undecided(pairs, index)
        ruled_out[DECIDED] = len(pairs) - len(undecided)
        counts = FilterCounts(
            possible=int(old.sum()) * len(new) + len(new) * (len(new) - 1) // 2,
            compared=sum(count for _, count in found),
            alike=sum(len(near.others) for near, _ in found),
            ruled_out={reason: count for reason, count in ruled_out.items() if count},
        )
        return PairedRecords(undecided, counts, index.revision)

    def narrowed(self, compared: ComparisonSet, index: ScopeIndex) -> ComparisonSet:
        """Leave out, of all active records and their keywords, what states nothing and what says nothing here."""
        speakers = index.turns.speakers
        names = {name.casefold() for name in speakers} | {part for name in speakers for part in words(name)}
        common = compared.terms.terms_in_more_than(common_from(len(compared.records)))
        ignored = frozenset([*(f"{kind}: {name}" for kind in TYPES for name in names), *common])
        may_change = compared.column("states_something", states_something, np.bool_)
        return replace(compared, comparable=compared.comparable & may_change, ignored=ignored)

    def alike(self, compared: ComparisonSet, position: int) -> tuple[NearDuplicates, int]:
        """Return the earlier records that a new one resembles or is a rival of, and how many vectors were compared."""
        least = np.full(position, np.inf, dtype=np.float32)
        least[compared.with_shared_keywords(position, self.settings.jaccard)] = self.settings.cosine
        wishes = compared.earlier(compared.slots, wish_in(compared.records[position]), position)
        least[wishes] = np.minimum(least[wishes], WISH_COSINE)
        least[compared.rivals(position)] = -np.inf
        others = np.flatnonzero(least < np.inf)
        cosines = compared.cosines(position, others)
        passing = cosines >= least[others]
        return NearDuplicates(position, others[passing], cosines[passing]), len(others)

    def triage(
        self, found: Sequence[NearDuplicates], compared: ComparisonSet, index: ScopeIndex
    ) -> tuple[list[NearDuplicates], Counter[str]]:
        """Return the nearest to decide on of each new record, and how many pairs were ruled out for which reason."""
        informative = _informative_stems(index, compared.records[len(index.records) :])
        said_in = compared.column("last_source", lambda record: _last_source(record, index), np.intp, ELSEWHERE)
        by_assistant = np.append(index.turns.from_assistant, False)[said_in]  # advice and lists, which are about nobody
        chosen: list[NearDuplicates] = []
        ruled_out = Counter[str]()
        for near in found:
            newer = compared.records[near.position]
            is_advice = by_assistant[near.others] & (by_assistant[near.position] and not states_change(newer))
            in_turn = ~is_advice & (said_in[near.others] == said_in[near.position]) & (said_in[near.position] >= 0)
            ruled_out.update({BY_ASSISTANT: int(is_advice.sum()), ONE_TURN: int(in_turn.sum())})
            nearest = np.lexsort((-near.others, -near.cosines))  # of equals the latest first
            kept: list[int] = []
            for place in nearest[~(is_advice | in_turn)[nearest]].tolist():
                if reason := ruled_out_reason(compared.records[near.others[place]], newer, informative):
                    ruled_out[reason] += 1
                elif len(kept := [*kept, place]) == MAX_PARTNERS:
                    break
            chosen.append(NearDuplicates(near.position, near.others[kept], near.cosines[kept]))
        left = sum(len(near.others) for near in found) - sum(len(near.others) for near in chosen)
        ruled_out[BEHIND_OTHERS] = left - ruled_out.total()
        return chosen, ruled_out


def _pairs(compared: ComparisonSet, near: NearDuplicates) -> Iterator[Pair]:
    """Yield the pairs of a new record and its near-duplicates, each in the order in which it was said."""
    shares = compared.jaccards(near.position, near.others).tolist()
    for other, share, cosine in zip(near.others.tolist(), shares, near.cosines.tolist(), strict=True):
        older, newer = compared.records[other], compared.records[near.position]
        if newer.mentioned_at and older.mentioned_at and newer.mentioned_at < older.mentioned_at:
            older, newer = newer, older
        yield Pair(older_id=older.record_id, newer_id=newer.record_id, jaccard=share, cosine=cosine)


def _old_active(index: ScopeIndex, new: Sequence[Record]) -> NDArray[np.bool_]:
    """Return which records of a scope are active and no chunks, and are not the new ones written before."""
    records = index.records
    old: NDArray[np.bool_] = records.active & ~records.is_chunk
    old[[records.position(record.record_id) for record in new if record.record_id in records]] = False
    return old


def _undecided(pairs: Sequence[Pair], index: ScopeIndex) -> list[Pair]:
    """Leave out what the audit trail says was decided on, undone or not."""
    ids = {record_id for pair in pairs for record_id in (pair.older_id, pair.newer_id)}
    trail = [decision.pair for decision in index.decisions.values() if pairs and not ids.isdisjoint(decision.pair)]
    decided = {frozenset(both) for members in trail for both in combinations(members, 2)}
    return [pair for pair in pairs if frozenset((pair.older_id, pair.newer_id)) not in decided]


def _last_source(record: Record, index: ScopeIndex) -> int:
    """Return the position of the turn that a record rests on last; -1 for none."""
    *_, turn_id = ["", *record.source_turn_ids]
    return index.turns.position(turn_id) if turn_id in index.turns else -1


def _keyword_terms(record: Record) -> list[str]:
    """Return a record's keywords as terms of its type, case-folded, without repeats."""
    return list(dict.fromkeys(f"{record.memory_type}: {word.casefold()}" for word in record.keywords))


def _slot_terms(record: Record) -> list[str]:
    slot = slot_in(record)
    return [*([slot.key, f"{slot.key} = {slot.value}"] if slot else ()), *filter(None, [wish_in(record)])]


def wish_in(record: Record) -> str:
    """Return the kind of wish that a record is, of which a later one takes the place of an earlier; empty for none."""
    return record.lasting if record.lasting in ("instruction", "preference") else ""


def ruled_out_reason(older: Record, newer: Record, informative: Set[str]) -> str:
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
    shared = {*content_stems(first)} & {*content_stems(second)} & informative
    return "" if changes or len(shared) >= MIN_SHARED_WORDS else LITTLE_SHARED


def _informative_stems(index: ScopeIndex, new: Sequence[Record]) -> set[str]:
    """Return which stems of new records say something: those that few of the scope hold, names of speakers aside."""
    most, lexical = common_from(len(index.records) + len(new)), index.records.lexical
    counts = Counter(stem for record in new for stem in set(content_stems(record.content)))
    few = {stem for stem, count in counts.items() if lexical.document_frequency(stem) + count <= most}
    return few.difference(content_stems(" ".join(index.turns.speakers)))


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
