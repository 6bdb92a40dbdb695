"""Verify each record against what it was extracted from: numbers, names, dates, words. No model is asked.

Speakers, captions, and dates that are resolved from a turn's time count as evidence, in the turns that a record cites
and in those that were read beside them. What fails is quarantined with its reason; it is kept and shown, and no search
finds it. A dimension without evidence is left out. A passage is what was said, and needs no evidence.
"""

from dataclasses import dataclass, field

from langgraph_engram.extraction.evidence import verify_records
from langgraph_engram.settings import ExtractSettings, VerifySettings
from langgraph_engram.state import WriteState
from langgraph_engram.stores.base import Store


@dataclass(frozen=True)
class Verify:
    """Quarantine what was not said. Reads `request`, `events`, `prompts`, `records`; changes `records`."""

    store: Store
    settings: VerifySettings
    extract: ExtractSettings = field(default_factory=ExtractSettings)
    """What of a turn was read."""

    def __call__(self, state: WriteState) -> WriteState:
        """Return the records, those without evidence quarantined, the others with all turns that they rest on."""
        if not self.settings.enabled:
            return {}
        index, prompts = self.store.index(state["request"].scope), state.get("prompts", [])
        return {"records": verify_records(state["records"], index, state["events"], prompts, self.extract)}
