"""Answer from the pool, with citations; the text streams (HyMem section 3.3).

A pool too long for the model's context is halved until it fits.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from langgraph_engram.errors import ModelUnavailable
from langgraph_engram.llm.base import LLMResult, Model, entry_of
from langgraph_engram.prompts.write_answer import UNKNOWN, AnswerForm, WriteAnswer
from langgraph_engram.retrieval.pool import final_answer, light_passages, merge_pools, with_citations
from langgraph_engram.schema import Evidence
from langgraph_engram.settings import DeepSettings
from langgraph_engram.state import ReadState


@dataclass(frozen=True)
class WriteAnswerStep:
    """Write the answer. Reads `request`, `intent`, `pool`; sets `answer`, `quoted`, `may_go_on`, adds to `notes`."""

    model: Model
    settings: DeepSettings
    form: AnswerForm = field(default_factory=AnswerForm)

    def __call__(self, state: ReadState) -> ReadState:
        """Return the answer to the query; unknown when nothing was found. A model that gives none is an error."""
        pool = self._pool(state)
        if not pool:
            return {"answer": UNKNOWN, "pool": pool}
        shown, attempts = pool, [self._ask(state, pool)]
        while len(shown) > 1 and _is_too_long(attempts[-1]):
            shown = shown[: len(shown) // 2]
            attempts.append(self._ask(state, shown))
        if failure := attempts[-1].failure:
            raise ModelUnavailable(f"{self.model.name} gave no answer: {failure.reason}")
        left_out = f"the model's context held {len(shown)} of {len(pool)} passages: the answer rests on these"
        words, may_go_on = final_answer(attempts[-1].answer or "")
        return {
            "answer": with_citations(words, shown) or UNKNOWN,
            "quoted": attempts[-1].by_rule,
            "may_go_on": may_go_on,
            "pool": pool,
            "notes": [*state.get("notes", []), *([left_out] if len(shown) < len(pool) else [])],
            "usage": [entry_of("write_answer", attempts)],
        }

    def _pool(self, state: ReadState) -> list[Evidence]:
        """Return the pool; where light memory always suffices, grown by the best passages of this round."""
        if state["pool"] and self.settings.sufficiency != "always":
            return state["pool"]
        return merge_pools(state["pool"], light_passages(state["evidence"], self.settings), state["request"].budget)

    def _ask(self, state: ReadState, shown: Sequence[Evidence]) -> LLMResult[str]:
        request = state["request"]
        earlier = tuple(state.get("earlier_answers", ())) if self.form.shows_earlier else ()
        form = self.form.styled(request.answer_style)
        return self.model.ask(WriteAnswer(request.query, state["intent"], tuple(shown), request.now, form, earlier))


def _is_too_long(result: LLMResult[str]) -> bool:
    return result.failure is not None and result.failure.kind == "too_long"
