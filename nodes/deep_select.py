"""Let the model name the memories that matter, among the best of the light routes (HyMem section 3.3).

The candidates are asked about in batches side by side; what the batches named is gathered in the order of the batches.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from langgraph.types import Overwrite

from langgraph_engram.llm.base import Model, entry_of
from langgraph_engram.prompts.select_records import SelectRecords
from langgraph_engram.settings import DeepSettings
from langgraph_engram.state import BatchSelection, ReadState, SelectInput


@dataclass(frozen=True)
class DeepSelect:
    """Select within one batch. Reads `query`, `intent`, `batch`, `place`; adds to `selections`."""

    model: Model

    def __call__(self, state: SelectInput) -> ReadState:
        """Return the ids of those candidates of the batch that matter; none where the model names none."""
        batch = state["batch"]
        asked = self.model.ask(SelectRecords(state["query"], state["intent"], tuple(batch)))
        numbers = asked.answer.numbers if asked.answer else []
        chosen = [batch[number - 1].evidence_id for number in numbers if 1 <= number <= len(batch)]
        return {
            "selections": [BatchSelection(place=state["place"], evidence_ids=list(dict.fromkeys(chosen)))],
            "usage": [entry_of("deep_select", [asked])],
        }


@dataclass(frozen=True)
class GatherSelection:
    """Gather what the batches named. Reads `selections`, `evidence`; sets `selected_ids`, `went_deep`."""

    settings: DeepSettings

    def __call__(self, state: ReadState) -> ReadState:
        """Return the ids of the memories that matter; the best of the light routes where none was named."""
        chosen = [one for part in sorted(state["selections"], key=lambda part: part.place) for one in part.evidence_ids]
        fallback = [piece.evidence_id for piece in state["evidence"][: self.settings.light_k]]
        return {
            "selected_ids": list(dict.fromkeys(chosen)) or fallback,
            "selections": cast(list[BatchSelection], Overwrite([])),
            "went_deep": True,
        }


def batches(state: ReadState, settings: DeepSettings) -> Sequence[SelectInput]:
    """Give the inputs of the selection: the best N candidates in batches of d (HyMem: N 30, d 50)."""
    candidates = state["evidence"][: settings.rough_n]
    return [
        {
            "query": state["query"],
            "intent": state["intent"],
            "batch": candidates[start : start + settings.batch],
            "place": start,
        }
        for start in range(0, len(candidates), settings.batch)
    ]
