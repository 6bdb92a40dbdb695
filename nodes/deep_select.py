"""Let the model name the memories that matter, among the best of the light routes (HyMem section 3.3)."""

from dataclasses import dataclass

from langgraph_engram.model import Model, entry_of
from langgraph_engram.prompts.select_records import SelectRecords
from langgraph_engram.settings import DeepSettings
from langgraph_engram.state import ReadState


@dataclass(frozen=True)
class DeepSelect:
    """Select records. Reads `query`, `intent`, `evidence`; sets `selected_ids`, `went_deep`."""

    model: Model
    settings: DeepSettings

    def __call__(self, state: ReadState) -> ReadState:
        """Return the ids of the candidates that matter, batches side by side; the best ones where none was named."""
        candidates = state["evidence"][: self.settings.rough_n]
        size = self.settings.batch
        batches = [tuple(candidates[start : start + size]) for start in range(0, len(candidates), size)]
        asked = self.model.ask_all([SelectRecords(state["query"], state["intent"], batch) for batch in batches])
        chosen = [
            batch[number - 1].evidence_id
            for batch, one in zip(batches, asked, strict=True)
            for number in (one.answer.numbers if one.answer else [])
            if 1 <= number <= len(batch)
        ]
        fallback = [piece.evidence_id for piece in candidates[: self.settings.light_k]]
        return {
            "selected_ids": list(dict.fromkeys(chosen)) or fallback,
            "went_deep": True,
            "usage": [entry_of("deep_select", asked)],
        }
