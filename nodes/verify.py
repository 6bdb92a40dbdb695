"""Verify each record against the turns it cites: numbers, names, dates, words. No model is asked.

Speakers, captions, and dates that are resolved from a turn's time count as evidence. What fails is quarantined with its
reason; it is kept and shown, and no search finds it. A dimension without evidence is left out. A passage is what was
said, and needs no evidence.
"""

from dataclasses import dataclass

from langgraph_engram.extraction.evidence import Verifier
from langgraph_engram.settings import VerifySettings
from langgraph_engram.state import WriteState
from langgraph_engram.stores.base import Store


@dataclass(frozen=True)
class Verify:
    """Quarantine what its sources do not say. Reads `request`, `turns`, `events`, `records`; changes `records`."""

    store: Store
    settings: VerifySettings

    def __call__(self, state: WriteState) -> WriteState:
        """Return the records, those without evidence quarantined."""
        if not self.settings.enabled:
            return {}
        index = self.store.index(state["request"].scope)
        verifier = Verifier(index, state["turns"], state["events"], self.settings)
        return {"records": [record if record.is_passage else verifier.verify(record) for record in state["records"]]}
