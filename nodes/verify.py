"""Hold each record against the turns it cites: numbers, names, dates, words (DESIGN, step 4). No model is asked.

Speakers, captions, and dates that rules resolve from a turn's clock count as grounds. What fails is quarantined with
its reason; it is kept and shown, and no search finds it. A dimension without grounds is left open.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from langgraph_engram.extraction.evidence import _quarantined, recycled_reason, verify_record
from langgraph_engram.schema import Record, Turn
from langgraph_engram.settings import VerifySettings
from langgraph_engram.state import WriteState
from langgraph_engram.stores.base import Store
from langgraph_engram.stores.index import ScopeIndex


@dataclass(frozen=True)
class Verify:
    """Quarantine what its sources do not say. Reads `request`, `turns`, `events`, `records`; changes `records`."""

    store: Store
    settings: VerifySettings

    def __call__(self, state: WriteState) -> WriteState:
        """Return the records, those without grounds quarantined."""
        if not self.settings.enabled:
            return {}
        index = self.store.index(state["request"].scope)
        new = {turn.turn_id: turn for turn in state["turns"]}
        near = {event.event_id: [*event.context_turn_ids, *event.turn_ids] for event in state["events"]}

        def turns_of(ids: Sequence[str]) -> list[Turn]:
            return [turn for one in ids if (turn := new.get(one) or index.turns.get(one))]

        return {
            "records": [
                self._judge(record, index, turns_of(record.source_turn_ids), turns_of(near.get(record.event_id, [])))
                for record in state["records"]
            ]
        }

    def _judge(self, record: Record, index: ScopeIndex, sources: Sequence[Turn], around: Sequence[Turn]) -> Record:
        judged = verify_record(record, sources, around, self.settings)
        echo = recycled_reason(judged, sources, index, self.settings) if judged.status == "active" else ""
        return _quarantined(judged, echo) if echo else judged
