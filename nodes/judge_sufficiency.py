"""Answer from light memory, or send the query deep (HyMem section 3.2).

Anything but an answer that cites a passage goes deep, an unreadable reply included; one that rests on the answers of
earlier rounds, where these are shown, has none to cite.
"""

from dataclasses import dataclass, field

from langgraph_engram.llm.base import Model, entry_of
from langgraph_engram.prompts.answer_light import AnswerLight
from langgraph_engram.prompts.write_answer import AnswerForm, cited_answer, is_unknown, rests_on_evidence
from langgraph_engram.retrieval.pool import light_passages, merge_pools
from langgraph_engram.settings import DeepSettings
from langgraph_engram.state import ReadState


@dataclass(frozen=True)
class JudgeSufficiency:
    """Ask for a light answer. Reads `intent`, `evidence`, `pool`; sets `sufficient`, `answer`, `may_go_on`, `pool`."""

    model: Model
    settings: DeepSettings
    form: AnswerForm = field(default_factory=AnswerForm)

    def __call__(self, state: ReadState) -> ReadState:
        """Return whether the pool and the best passages of this round suffice, and the answer; else the earlier one."""
        request = state["request"]
        found, budget = light_passages(state["evidence"], self.settings), request.budget
        pool = merge_pools([] if self.form.shows_earlier else state["pool"], found, budget)
        if not pool:
            return {"sufficient": False, "answer": "", "pool": pool}
        earlier = tuple(state.get("earlier_answers", ())) if self.form.shows_earlier else ()
        form = self.form.styled(request.answer_style)
        asked = self.model.ask(AnswerLight(request.query, state["intent"], tuple(pool), request.now, form, earlier))
        light, may_go_on = cited_answer(asked.answer or "", pool)
        is_known = bool(light) and not is_unknown(light)
        sufficient = is_known if self.form.shows_earlier else rests_on_evidence(light)
        return {
            "sufficient": sufficient,
            "answer": light if sufficient else state.get("answer", ""),
            "quoted": asked.by_rule,
            "may_go_on": may_go_on,
            "pool": pool,
            "usage": [entry_of("judge_sufficiency", [asked])],
        }
