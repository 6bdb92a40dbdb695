"""Ask the model which memories matter, among the best of the light routes, in parallel batches (HyMem section 3.3)."""

from collections.abc import Sequence
from dataclasses import dataclass

from langgraph_engram.llm.base import Model, entry_of
from langgraph_engram.prompts.select_records import SelectRecords
from langgraph_engram.state import BatchSelection, ReadState, SelectInput, needs_whole


@dataclass(frozen=True)
class DeepSelect:
    """Select within one batch. Reads `query`, `intent`, `batch`, `start`; adds to `selections`."""

    model: Model

    def __call__(self, state: SelectInput) -> ReadState:
        """Return the ids of the candidates of the batch that matter."""
        batch = state["batch"]
        asked = self.model.ask(SelectRecords(state["query"], state["intent"], tuple(batch)))
        numbers = asked.answer.numbers if asked.answer else []
        chosen = [batch[number - 1].evidence_id for number in numbers if 1 <= number <= len(batch)]
        failure = "" if asked.answer else asked.failure.reason if asked.failure else "no answer"
        selection = BatchSelection(start=state["start"], evidence_ids=list(dict.fromkeys(chosen)), failure=failure)
        return {"selections": [selection], "usage": [entry_of("deep_select", [asked])]}


def batches(state: ReadState, most: int, size: int) -> Sequence[SelectInput]:
    """Return the inputs of the selection: the best N candidates in batches of d (HyMem section 3.3).

    What needs the whole is selected for what was asked first, whatever words are looked for.
    """
    candidates = state["evidence"][:most]
    query = state["request"].query if needs_whole(state) else state["query"]
    return [
        {"query": query, "intent": state["intent"], "batch": candidates[start : start + size], "start": start}
        for start in range(0, len(candidates), size)
    ]
