"""Backtrack from selected memories to the turns under them, Level 2, within a budget (HyMem section 3.3)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import cast

from langgraph.types import Overwrite

from langgraph_engram.retrieval.passages import consecutive_runs, near_turns, turn_passage, without_cuts
from langgraph_engram.retrieval.pool import fit_budget, merge_pools, passage_tokens, repeats, stands_alone
from langgraph_engram.schema import OUTLINE, Evidence, Turn
from langgraph_engram.settings import DeepSettings
from langgraph_engram.state import BatchSelection, ReadState, needs_whole
from langgraph_engram.stores.base import Store
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.temporal.datetimes import epoch_seconds


@dataclass(frozen=True)
class Backtrack:
    """Fetch turns. Reads `evidence`, `selections`, `pool`; sets `selected_ids`, `pool`, `read_ids`, `went_deep`."""

    store: Store
    settings: DeepSettings
    turns_around: Callable[[ScopeIndex, Evidence], Sequence[Turn]] = near_turns
    """Returns what is shown of a selected passage."""
    alone: bool = False
    """Whether what is fetched takes the place of the pool."""

    def __call__(self, state: ReadState) -> ReadState:
        """Return the pool with the selected memories in the words of their turns, and excerpts completed."""
        request = state["request"]
        index = self.store.index(request.scope, state.get("revision")).as_of(request.as_of, request.branches)
        budget, selected = request.budget, self._selected(state)
        most = self.settings.level2_tokens if budget is None else min(self.settings.level2_tokens, budget)
        others = [passage for passage in selected if not stands_alone(passage)]
        passages = fit_budget(self._passages(index, others), most)
        left = most - sum(map(passage_tokens, passages))
        shown = {turn.turn_id for passage in passages for turn in passage.turns}
        apart = [passage for passage in selected if stands_alone(passage) and not repeats(passage, shown)]
        alone = without_cuts(apart, left)
        light = [passage for passage in state["pool"] if not (self.alone or repeats(passage, shown))]
        failures = [selection.failure for selection in state.get("selections", []) if selection.failure]
        read = [passage.evidence_id for passage in state["evidence"] if OUTLINE in passage.routes]
        return {
            "read_ids": list(dict.fromkeys([*state.get("read_ids", []), *read])),
            "missing": [f"lines that could not be read: {reason}" for reason in dict.fromkeys(failures)],
            "selected_ids": [passage.evidence_id for passage in selected],
            "pool": merge_pools(merge_pools(passages, alone, budget), light, budget),
            "selections": cast(list[BatchSelection], Overwrite([])),
            "went_deep": state.get("went_deep", False) or bool(state.get("selections")),
        }

    def _selected(self, state: ReadState) -> list[Evidence]:
        """Return what the batches selected, in the order of the batches; the best of the light routes for nothing."""
        found = {passage.evidence_id: passage for passage in state["evidence"]}
        selections = sorted(state.get("selections", []), key=lambda selection: selection.start)
        ids = dict.fromkeys(evidence_id for selection in selections for evidence_id in selection.evidence_ids)
        selected = [found[evidence_id] for evidence_id in ids if evidence_id in found]
        return selected or ([] if needs_whole(state) else state["evidence"][: self.settings.light_k])

    def _passages(self, index: ScopeIndex, selected: Sequence[Evidence]) -> list[Evidence]:
        shown: set[str] = set()
        passages: list[Evidence] = []
        for passage in selected:
            for turns in consecutive_runs([turn for turn in self._around(index, passage) if turn.turn_id not in shown]):
                shown.update(turn.turn_id for turn in turns)
                passages.append(turn_passage(turns, passage.score, passage.routes, passage.relevance))
        return passages

    def _around(self, index: ScopeIndex, passage: Evidence) -> list[Turn]:
        wanted = self.turns_around(index, passage)
        return sorted(wanted, key=lambda turn: (epoch_seconds(turn.said_at, inf), turn.session_id, turn.seq))
