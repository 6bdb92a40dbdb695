"""Compare and decide on near-duplicates pair by pair, as DimMem does (section 3.4).

The result does not depend on the order of the pairs: a record that any pair supersedes is superseded by the newest that
does, what merges in a chain of pairs ends in one record, and conflicts are between records that stay.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from langgraph_engram.consolidation.pairing import Match, PairFinder, pair_of
from langgraph_engram.consolidation.resolution import (
    NO_VERDICT,
    ClusterBatch,
    Resolution,
    by_age,
    clusters_of,
    connected_ids,
)
from langgraph_engram.consolidation.similarity import (
    ComparisonSet,
    NearDuplicate,
    Positions,
    keyword_index,
    near_duplicates,
    with_shared_keywords,
)
from langgraph_engram.prompts.decide_update import UpdateVerdict, UpdateVerdicts
from langgraph_engram.schema import Action, Pair, Record
from langgraph_engram.stores.index import ScopeIndex

WITH_REPLACED = "something else takes the place of one of them"
_PairVerdict: TypeAlias = tuple[Record, Record, UpdateVerdict]
"""An older record, a newer one, and what was answered of them."""


@dataclass(frozen=True)
class EveryPairFinder(PairFinder):
    """Pair all records of one type that share keywords and are close in meaning; none is ruled out."""

    all_pairs: bool = False
    """Whether meaning alone decides (Table 5, the baseline)."""

    def comparison_set(self, index: ScopeIndex, new: Sequence[Record], old: NDArray[np.bool_]) -> ComparisonSet:
        """Return all active records, with all of their keywords."""
        active = np.concatenate([old, np.ones(len(new), dtype=np.bool_)])
        encoded = self.store.encoder.encode([record.indexed_text for record in new])
        return ComparisonSet(keyword_index(index.records, new), index.records.vectors, encoded, active)

    def alike(self, compared: ComparisonSet, position: int, counts: Positions) -> tuple[list[NearDuplicate], int]:
        """Return the earlier records that pass both thresholds, and how many vectors were compared."""
        if self.all_pairs:
            near = np.flatnonzero(compared.comparable[:position])
        else:
            near = with_shared_keywords(compared, position, counts, self.settings.jaccard)
        cosines = compared.cosines(position, near)
        passing = cosines >= self.settings.cosine
        return near_duplicates(compared, position, near[passing], cosines[passing]), len(near)

    def triage(
        self, matches: Sequence[Match], index: ScopeIndex, new: Sequence[Record]
    ) -> tuple[list[Pair], Counter[str]]:
        """Return all of them."""
        del index, new
        return [pair_of(*match) for match in matches], Counter()


class PairResolver:
    """Decide on each pair by a question of its own."""

    def batches(self, pairs: Sequence[Pair], own: Mapping[str, Record], index: ScopeIndex) -> list[ClusterBatch]:
        """Return each pair alone."""
        return [(pair,) for pair in clusters_of([(pair.older_id, pair.newer_id) for pair in pairs], own, index)]

    def resolve(self, answered: Sequence[tuple[ClusterBatch, UpdateVerdicts]]) -> list[Resolution]:
        """Return what becomes of the records of all pairs."""
        return resolve_pairs([(older, newer, _pair_verdict(answer)) for ((older, newer),), answer in answered])


def resolve_pairs(decided: Sequence[_PairVerdict]) -> list[Resolution]:
    """Resolve the verdicts on pairs of original records, the same for every order of pairs."""
    pairs = sorted(decided, key=lambda pair: (by_age(pair[0]), by_age(pair[1])))
    superseding = {
        older.record_id: (older, newer, verdict) for older, newer, verdict in pairs if verdict.action == "SUPERSEDE"
    }  # sorted: the newest that supersedes it comes last
    merging = [
        (older, newer, verdict)
        for older, newer, verdict in pairs
        if verdict.action == "MERGE"
        and verdict.content.strip()
        and superseding.keys().isdisjoint((older.record_id, newer.record_id))
    ]
    merged_ids = {record.record_id for older, newer, _ in merging for record in (older, newer)}
    resolutions = [*_supersessions(superseding), *_merges(merging)]
    resolved = {frozenset((older.record_id, newer.record_id)) for older, newer, _ in [*superseding.values(), *merging]}
    for older, newer, verdict in pairs:
        ids = frozenset((older.record_id, newer.record_id))
        if ids in resolved:
            continue
        stay = ids.isdisjoint(superseding) and ids.isdisjoint(merged_ids)
        action: Action = "CONFLICT" if verdict.action == "CONFLICT" and stay else "KEEP_BOTH"
        reason = verdict.reason if verdict.action in (action, "KEEP_BOTH") else WITH_REPLACED
        resolutions.append(Resolution((older, newer), action, reason))
    return resolutions


def _pair_verdict(answer: UpdateVerdicts) -> UpdateVerdict:
    """Return the verdict on a pair; where there is none, both stay."""
    verdicts = (verdict for verdict in answer.verdicts if verdict.cluster == 1)
    return next(verdicts, UpdateVerdict(action="KEEP_BOTH", reason=NO_VERDICT))


def _supersessions(superseding: Mapping[str, _PairVerdict]) -> Iterator[Resolution]:
    groups: dict[str, list[_PairVerdict]] = {}
    for pair in superseding.values():
        groups.setdefault(pair[1].record_id, []).append(pair)
    for group in groups.values():
        olds = sorted((older for older, _, _ in group), key=by_age)
        newest = group[0][1]
        yield Resolution((*olds, newest), "SUPERSEDE", _joined(verdict.reason for _, _, verdict in group))


def _merges(merging: Sequence[_PairVerdict]) -> Iterator[Resolution]:
    known = {record.record_id: record for older, newer, _ in merging for record in (older, newer)}
    links = [
        Pair(older_id=older.record_id, newer_id=newer.record_id, jaccard=0, cosine=0) for older, newer, _ in merging
    ]
    for ids in connected_ids(links):
        members = tuple(sorted((known[record_id] for record_id in ids), key=by_age))
        verdicts = [verdict for older, _, verdict in merging if older.record_id in ids]
        content = _joined(verdict.content.strip() for verdict in verdicts)
        yield Resolution(members, "MERGE", _joined(verdict.reason for verdict in verdicts), content)


def _joined(texts: Iterable[str]) -> str:
    return " ".join(dict.fromkeys(text for text in texts if text))
