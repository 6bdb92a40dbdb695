"""Go back from chosen memories to the turns under them, Level 2, within a budget (HyMem section 3.3)."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from langgraph_engram.retrieval.passages import (
    _event_turns,
    _stands_for_itself,
    fit_budget,
    merge_pools,
    runs,
    turn_passage,
)
from langgraph_engram.schema import Evidence, Turn
from langgraph_engram.settings import DeepSettings
from langgraph_engram.state import ReadState
from langgraph_engram.stores.as_of import index_as_of
from langgraph_engram.stores.base import Store
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.temporal.datetimes import epoch_seconds


@dataclass(frozen=True)
class Backtrack:
    """Fetch turns. Reads `request`, `evidence`, `selected_ids`, `pool`; sets `pool`."""

    store: Store
    settings: DeepSettings

    def __call__(self, state: ReadState) -> ReadState:
        """Return the pool with the chosen memories in the words of their turns, in place of the memories alone."""
        index, budget = index_as_of(self.store, state["request"]), state["request"].budget
        found = {piece.evidence_id: piece for piece in state["evidence"]}
        ids = state.get("selected_ids") or [piece.evidence_id for piece in state["evidence"][: self.settings.light_k]]
        chosen = [found[one] for one in ids if one in found]
        most = self.settings.level2_tokens
        told = [piece for piece in chosen if _stands_for_itself(piece)]
        by_turns = [piece for piece in chosen if not _stands_for_itself(piece)]
        pieces = fit_budget(self._pieces(index, by_turns), most if budget is None else min(most, budget))
        kept = {turn.turn_id for piece in pieces for turn in piece.turns}
        light = [
            piece
            for piece in state["pool"]
            if _stands_for_itself(piece) or not {turn.turn_id for turn in piece.turns} <= kept
        ]
        return {"pool": merge_pools(merge_pools(pieces, told, budget), light, budget)}

    def _pieces(self, index: ScopeIndex, chosen: Sequence[Evidence]) -> list[Evidence]:
        shown: set[str] = set()
        pieces: list[Evidence] = []
        for piece in chosen:
            for turns in runs([turn for turn in self._around(index, piece) if turn.turn_id not in shown]):
                shown.update(turn.turn_id for turn in turns)
                pieces.append(turn_passage(turns, piece.score, piece.routes, piece.relevance))
        return pieces

    def _around(self, index: ScopeIndex, piece: Evidence) -> list[Turn]:
        wanted: dict[str, Turn] = {}
        for source in piece.turns:
            session = index.session_turns(source.session_id)
            if self.settings.whole_events:
                near = _event_turns(index, source, session)
            else:
                near = [turn for turn in session if abs(turn.seq - source.seq) <= self.settings.level2_window]
            wanted |= {turn.turn_id: turn for turn in near}
        return sorted(wanted.values(), key=lambda turn: (epoch_seconds(turn.said_at, inf), turn.session_id, turn.seq))
