"""Pair records that resemble one another: same type, then shared keywords, then close meaning (DimMem section 3.4).

Each new record is held against the scope index, never all against all. Pairs that need nobody to decide on them are
told apart here, and counted.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from langgraph_engram.consolidation.similarity import (
    ComparisonSet,
    NearDuplicate,
    empty_terms,
    keyword_index,
    keyword_sizes,
    near_duplicates,
)
from langgraph_engram.consolidation.triage import InformativeStems, ruled_out_reason, states_change
from langgraph_engram.schema import FilterCounts, Pair, Record, Scope
from langgraph_engram.settings import UpdateSettings
from langgraph_engram.state import WriteState
from langgraph_engram.stores.base import Store
from langgraph_engram.stores.index import ScopeIndex

DECIDED = "decided before"
BY_ASSISTANT = "both told by an assistant"
Found: TypeAlias = tuple[Record, Record, NearDuplicate]
"""An earlier record, a new one, and how alike they are."""


@dataclass(frozen=True)
class FilterCandidates:
    """Pair look-alikes. Reads `request`, `records`; sets `pairs`, `filtered`, `checked_revision`, `looks`."""

    store: Store
    settings: UpdateSettings

    def __call__(self, state: WriteState) -> WriteState:
        """Return the pairs of active records to decide on, each with a new record in it, and how many there were."""
        new = [record for record in state["records"] if record.status == "active"]
        if not self.settings.enabled or not new:
            return {"pairs": [], "filtered": FilterCounts()}
        scope = state["request"].scope
        index = self.store.index(scope)
        found, compared = self._compare(self._field(scope, index, new), len(new))
        pairs, apart = self._sort_out(found, index, new)
        fresh = self._undecided(scope, pairs)
        apart[DECIDED] = len(pairs) - len(fresh)
        counts = FilterCounts(
            possible=possible_pairs(_standing(index, new).sum(), len(new)),
            compared=compared,
            alike=len(found),
            ruled_out={reason: number for reason, number in apart.items() if number},
        )
        return {
            "pairs": fresh,
            "filtered": counts,
            "checked_revision": index.revision,
            "rechecks": state.get("rechecks", 0) + 1,
        }

    def _field(self, scope: Scope, index: ScopeIndex, new: Sequence[Record]) -> ComparisonSet:
        terms = keyword_index(self.store, scope, index.records, new)
        stands = np.concatenate([_standing(index, new), np.ones(len(new), dtype=np.bool_)])
        return ComparisonSet(
            index=terms,
            known=index.records.vectors,
            new=self.store.encoder.encode([record.indexed_text for record in new]),
            stands=stands & terms.states.rows if self.settings.selective else stands,
            empty=empty_terms(terms, index.speakers, self.settings) if self.settings.selective else frozenset(),
        )

    def _compare(self, field: ComparisonSet, new: int) -> tuple[list[Found], int]:
        records, sizes = field.index.records, keyword_sizes(field)
        found: list[Found] = []
        compared = 0
        for position in range(len(records) - new, len(records)):
            alike, seen = near_duplicates(field, position, sizes, self.settings)
            found += [(records[one.place], records[position], one) for one in alike]
            compared += seen
        return found, compared

    def _sort_out(
        self, found: Sequence[Found], index: ScopeIndex, new: Sequence[Record]
    ) -> tuple[list[Pair], Counter[str]]:
        """Give the pairs to decide on, and how many of the others were told apart by which reason."""
        if not self.settings.selective:
            return [_pair(*one) for one in found], Counter()
        telling = InformativeStems.among(index.records.lexical, new, index.speakers, self.settings)
        pairs: list[Pair] = []
        apart = Counter[str]()
        for older, newer, alike in found:
            advice = all(said_by_assistant(one, index) for one in (older, newer)) and not states_change(newer)
            reason = BY_ASSISTANT if advice else ruled_out_reason(older, newer, telling, self.settings)
            if reason:
                apart[reason] += 1
            else:
                pairs.append(_pair(older, newer, alike))
        return pairs, apart

    def _undecided(self, scope: Scope, pairs: Sequence[Pair]) -> list[Pair]:
        """Leave out what the audit trail says was decided on, taken back or not."""
        trail = [frozenset(decision.pair) for decision in self.store.decisions(scope)] if pairs else []
        return [pair for pair in pairs if not any({pair.older_id, pair.newer_id} <= decided for decided in trail)]


def possible_pairs(old: int, new: int) -> int:
    """Count the pairs that hold a new record: each new one with each old one, and the new ones with one another."""
    return int(old) * new + new * (new - 1) // 2


def said_by_assistant(record: Record, index: ScopeIndex) -> bool:
    """Say whether a record's last source is an assistant's turn: advice and lists, which tell nothing of anyone."""
    turn = index.turns.get(record.source_turn_ids[-1]) if record.source_turn_ids else None
    return turn is not None and turn.role == "assistant"


def _standing(index: ScopeIndex, new: Sequence[Record]) -> NDArray[np.bool_]:
    """Say which records of a scope are active, and are not the new ones written before."""
    shelf = index.records
    standing = shelf.active.copy()
    standing[[shelf.position(record.record_id) for record in new if record.record_id in shelf]] = False
    return standing


def _pair(other: Record, record: Record, alike: NearDuplicate) -> Pair:
    later = record.mentioned_at and other.mentioned_at and record.mentioned_at < other.mentioned_at
    older, newer = (record, other) if later else (other, record)
    return Pair(older_id=older.record_id, newer_id=newer.record_id, jaccard=alike.jaccard, cosine=alike.cosine)
