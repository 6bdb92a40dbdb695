"""Answer from light memory, or send the query deep (HyMem section 3.3).

Anything but an answer that cites a passage goes deep, an unreadable reply included.
"""

from dataclasses import dataclass, field

from langgraph_engram.llm.base import Model, entry_of
from langgraph_engram.prompts.answer_light import AnswerLight
from langgraph_engram.retrieval.citations import final_answer, rests_on_evidence, with_citations
from langgraph_engram.retrieval.passages import light_passages, merge_pools
from langgraph_engram.settings import AnswerSettings, DeepSettings, styled
from langgraph_engram.state import ReadState


@dataclass(frozen=True)
class JudgeSufficiency:
    """Ask for a light answer.

    Reads `request`, `intent`, `evidence`, `pool`; sets `sufficient`, `answer`, `may_go_on`, `pool`.
    """

    model: Model
    settings: DeepSettings
    answer: AnswerSettings = field(default_factory=AnswerSettings)

    def __call__(self, state: ReadState) -> ReadState:
        """Return whether the pool and the best passages of this round suffice, and the answer; else the earlier one."""
        request = state["request"]
        pool = merge_pools(state["pool"], light_passages(state["evidence"], self.settings), request.budget)
        if not pool:
            return {"sufficient": False, "answer": "", "pool": pool}
        earlier = tuple(state.get("earlier_answers", ())) if self.answer.earlier else ()
        asked = self.model.ask(
            AnswerLight(
                request.query,
                state["intent"],
                tuple(pool),
                request.now,
                styled(self.answer, request.answer_style),
                earlier,
            )
        )
        words, may_go_on = final_answer(asked.answer or "")
        light = with_citations(words, pool)
        sufficient = rests_on_evidence(light)
        return {
            "sufficient": sufficient,
            "answer": light if sufficient else state.get("answer", ""),
            "quoted": asked.by_rule,
            "may_go_on": may_go_on,
            "pool": pool,
            "usage": [entry_of("judge_sufficiency", [asked])],
        }
