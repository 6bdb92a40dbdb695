"""Answer from the pool, with citations; the text streams (HyMem section 3.3; DESIGN, read step 6)."""

from dataclasses import dataclass

from langgraph_engram.errors import ModelUnavailable
from langgraph_engram.model import Model, entry_of
from langgraph_engram.nodes.answering.cite import cited
from langgraph_engram.nodes.answering.evidence_pool import light_pieces
from langgraph_engram.prompts.write_answer import UNKNOWN, WriteAnswer
from langgraph_engram.settings import DeepSettings
from langgraph_engram.state import ReadState


@dataclass(frozen=True)
class WriteAnswerStep:
    """Write the answer. Reads `request`, `intent`, `pool`; sets `answer`."""

    model: Model
    settings: DeepSettings

    def __call__(self, state: ReadState) -> ReadState:
        """Return the answer to the first question; unknown when nothing was found.

        Raises:
            ModelUnavailable: The model gave no answer. A failure must not look like an empty result.
        """
        request, pool = state["request"], list(state["pool"] or light_pieces(state["evidence"], self.settings))
        if not pool:
            return {"answer": UNKNOWN, "pool": pool}
        asked = self.model.ask(
            WriteAnswer(request.query, state["intent"], tuple(pool), request.now, self.settings.whole_turns)
        )
        if asked.failure:
            raise ModelUnavailable(f"{self.model.name} gave no answer: {asked.failure.reason}")
        answer = cited(asked.answer or "", pool) or UNKNOWN
        return {"answer": answer, "pool": pool, "usage": [entry_of("write_answer", [asked])]}
