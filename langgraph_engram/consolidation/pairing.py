"""Pair near-duplicate records: same type, then shared keywords, then close meaning (DimMem section 3.4).

Each new record is compared with the scope index, never all with all. Pairs that need no decision are ruled out here,
and counted.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from langgraph_engram.consolidation.similarity import (
    ComparisonSet,
    NearDuplicate,
    Positions,
    common_terms,
    keyword_index,
    near_duplicates,
    rivals_of,
    standing_alike,
    with_shared_keywords,
)
from langgraph_engram.consolidation.triage import InformativeStems, ruled_out_reason, states_change
from langgraph_engram.schema import FilterCounts, Pair, Record, Scope
from langgraph_engram.settings import UpdateSettings
from langgraph_engram.stores.base import Store
from langgraph_engram.stores.index import ScopeIndex

DECIDED = "decided before"
BY_ASSISTANT = "both said by an assistant"
STANDING_COSINE = 0.6
"""Minimum cosine of a pair of standing statements of one kind, whatever their keywords."""

Match: TypeAlias = tuple[Record, Record, NearDuplicate]
"""An earlier record, a new one, and how alike they are."""


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
        """Return the pairs of active records to decide on, each with a new record in it, and how many there were.

        Args:
            scope: Where to look.
            records: The new records, stored already or not.
        """
        new = [record for record in records if record.status == "active" and not record.is_passage]
        if not self.settings.enabled or not new:
            return PairedRecords()
        index = self.store.index(scope)
        old = _old_active(index, new)
        matches, compared = self._compare(self.comparison_set(index, new, old), len(new))
        pairs, ruled_out = self.triage(matches, index, new)
        undecided = self._undecided(scope, pairs)
        ruled_out[DECIDED] = len(pairs) - len(undecided)
        counts = FilterCounts(
            possible=possible_pairs(int(old.sum()), len(new)),
            compared=compared,
            alike=len(matches),
            ruled_out={reason: count for reason, count in ruled_out.items() if count},
        )
        return PairedRecords(undecided, counts, index.revision)

    def comparison_set(self, index: ScopeIndex, new: Sequence[Record], old: NDArray[np.bool_]) -> ComparisonSet:
        """Return what new records are compared with: the old ones and one another, those that may change.

        Args:
            index: What is stored of the scope.
            new: The new records.
            old: Which of the stored ones may be compared.
        """
        terms = keyword_index(index.records, new)
        active = np.concatenate([old, np.ones(len(new), dtype=np.bool_)])
        encoded = self.store.encoder.encode([record.indexed_text for record in new])
        ignored = common_terms(terms, index.speakers)
        return ComparisonSet(terms, index.records.vectors, encoded, active & terms.states, ignored)

    def alike(self, compared: ComparisonSet, position: int, counts: Positions) -> tuple[list[NearDuplicate], int]:
        """Return the earlier records that a new one resembles, and how many vectors were compared.

        They pass both thresholds, set the same slot to another value, or are standing statements of its kind and close
        in meaning.

        Args:
            compared: All records.
            position: The position of the new one.
            counts: What `compared.keyword_counts` returns.
        """
        near = with_shared_keywords(compared, position, counts, self.settings.jaccard)
        rivals, standing = rivals_of(compared, position), standing_alike(compared, position)
        others = np.union1d(np.union1d(near, rivals), standing)
        cosines = compared.cosines(position, others)
        passing = (np.isin(others, near) & (cosines >= self.settings.cosine)) | np.isin(others, rivals)
        passing |= np.isin(others, standing) & (cosines >= STANDING_COSINE)
        return near_duplicates(compared, position, others[passing], cosines[passing]), len(others)

    def triage(
        self, matches: Sequence[Match], index: ScopeIndex, new: Sequence[Record]
    ) -> tuple[list[Pair], Counter[str]]:
        """Return the pairs to decide on, and how many were ruled out for which reason."""
        informative = InformativeStems.among(index.records.lexical, new, index.speakers)
        pairs: list[Pair] = []
        ruled_out = Counter[str]()
        for older, newer, match in matches:
            by_assistant = _is_by_assistant(older, index) and _is_by_assistant(newer, index)
            is_advice = by_assistant and not states_change(newer)
            reason = BY_ASSISTANT if is_advice else ruled_out_reason(older, newer, informative)
            if reason:
                ruled_out[reason] += 1
            else:
                pairs.append(pair_of(older, newer, match))
        return pairs, ruled_out

    def _compare(self, compared: ComparisonSet, new: int) -> tuple[list[Match], int]:
        records, keyword_counts = compared.index.records, compared.keyword_counts()
        matches: list[Match] = []
        comparisons = 0
        for position in np.flatnonzero(compared.comparable[len(records) - new :]) + len(records) - new:
            found, count = self.alike(compared, int(position), keyword_counts)
            matches += [(records[match.position], records[int(position)], match) for match in found]
            comparisons += count
        return matches, comparisons

    def _undecided(self, scope: Scope, pairs: Sequence[Pair]) -> list[Pair]:
        """Leave out what the audit trail says was decided on, undone or not."""
        ids = {record_id for pair in pairs for record_id in (pair.older_id, pair.newer_id)}
        decided = self.store.index(scope).decisions.values() if pairs else ()
        trail = [frozenset(decision.pair) for decision in decided if not ids.isdisjoint(decision.pair)]
        return [pair for pair in pairs if not any({pair.older_id, pair.newer_id} <= known for known in trail)]


def possible_pairs(old: int, new: int) -> int:
    """Return the number of pairs with a new record in them: each with each old one, and with one another."""
    return old * new + new * (new - 1) // 2


def _old_active(index: ScopeIndex, new: Sequence[Record]) -> NDArray[np.bool_]:
    """Return which records of a scope are active and no passages, and are not the new ones written before."""
    records = index.records
    old: NDArray[np.bool_] = records.active & ~records.is_passage
    old[[records.position(record.record_id) for record in new if record.record_id in records]] = False
    return old


def _is_by_assistant(record: Record, index: ScopeIndex) -> bool:
    """Return whether a record's last source is an assistant's turn: advice and lists, which are about nobody."""
    turn = index.turns.get(record.source_turn_ids[-1]) if record.source_turn_ids else None
    return turn is not None and turn.role == "assistant"


def pair_of(earlier: Record, new: Record, match: NearDuplicate) -> Pair:
    """Return an earlier record and a new one as a pair, in the order in which they were said."""
    is_older = new.mentioned_at and earlier.mentioned_at and new.mentioned_at < earlier.mentioned_at
    older, newer = (new, earlier) if is_older else (earlier, new)
    return Pair(older_id=older.record_id, newer_id=newer.record_id, jaccard=match.jaccard, cosine=match.cosine)
