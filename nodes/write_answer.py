"""Answer from the pool, with citations; the text streams (HyMem section 3.3).

What needs the whole is listed first, and answered from the list: the pool then is the lines that the list rests on. A
model that copies lines instead, as small ones do, is asked again, for an answer from the best of them. A pool too long
for the model's context is halved until it fits.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from langgraph_engram.errors import ModelUnavailable
from langgraph_engram.llm.base import LLMResult, Model, entry_of
from langgraph_engram.prompts.list_items import ItemList, ListItems, answer_from, read_items
from langgraph_engram.prompts.write_answer import UNKNOWN, AnswerForm, WriteAnswer, cited_answer
from langgraph_engram.retrieval.pool import light_passages, merge_pools
from langgraph_engram.schema import OUTLINE, Evidence
from langgraph_engram.settings import DeepSettings
from langgraph_engram.state import ReadState, needs_whole

LAST_SHARE = 3
"""The last third of the lines, by rank: where the list rests on none of these, reading on would add nothing."""
UNLISTED = "the model made no list of what counts: the answer rests on the best lines alone"


@dataclass(frozen=True)
class WriteAnswerStep:
    """Write the answer. Reads `request`, `intent`, `evidence`, `pool`; sets `answer`, `items`, `may_go_on`, `pool`."""

    model: Model
    settings: DeepSettings
    form: AnswerForm = field(default_factory=AnswerForm)

    def __call__(self, state: ReadState) -> ReadState:
        """Return the answer to the query; unknown when nothing was found. A model that gives none is an error."""
        pool = self._pool(state)
        if not pool:
            return {"answer": UNKNOWN, "pool": pool}
        shown, attempts = pool, [self._ask(state, pool)]
        while len(shown) > 1 and (failure := attempts[-1].failure) and failure.kind == "too_long":
            shown = shown[: len(shown) // 2]
            attempts.append(self._ask(state, shown))
        if failure := attempts[-1].failure:
            raise ModelUnavailable(f"{self.model.name} gave no answer: {failure.reason}")
        left_out = f"the model's context held {len(shown)} of {len(pool)} passages: the answer rests on these"
        reply, by_rule = attempts[-1].answer or "", attempts[-1].by_rule
        if needs_whole(state) and not by_rule:
            listed = read_items(reply, shown)
            written = self._listed(state, listed, shown)
            if not listed.is_list:
                few = shown[: self.settings.light_k]
                attempts.append(self._answered(state, few))
                answer, _ = cited_answer(attempts[-1].answer or written["answer"], few)
                missing = [*state.get("missing", []), UNLISTED]
                written |= {"answer": answer or UNKNOWN, "pool": few, "may_go_on": False, "missing": missing}
        else:
            answer, may_go_on = cited_answer(reply, shown)
            written = {"answer": answer or UNKNOWN, "may_go_on": may_go_on, "pool": pool}
        return {
            **written,
            "quoted": by_rule,
            "notes": [*state.get("notes", []), *([left_out] if len(shown) < len(pool) else [])],
            "usage": [entry_of("write_answer", attempts)],
        }

    def _pool(self, state: ReadState) -> list[Evidence]:
        """Return the pool, grown by what this round found for the whole, or where light memory always suffices."""
        budget, pool = state["request"].budget, state["pool"]
        if needs_whole(state) and not state["read_ids"]:
            return merge_pools(state["evidence"], pool, budget)
        if pool and self.settings.sufficiency != "always":
            return pool
        held = [] if self.form.shows_earlier else pool
        return merge_pools(held, light_passages(state["evidence"], self.settings), budget)

    def _ask(self, state: ReadState, shown: Sequence[Evidence]) -> LLMResult[str]:
        request, intent = state["request"], state["intent"]
        if needs_whole(state):
            style = request.answer_style or self.form.style
            return self.model.ask(ListItems(request.query, intent, tuple(shown), request.now, style))
        return self._answered(state, shown)

    def _answered(self, state: ReadState, shown: Sequence[Evidence]) -> LLMResult[str]:
        request, intent = state["request"], state["intent"]
        earlier = tuple(state.get("earlier_answers", ())) if self.form.shows_earlier else ()
        form = self.form.styled(request.answer_style)
        return self.model.ask(WriteAnswer(request.query, intent, tuple(shown), request.now, form, earlier))

    def _listed(self, state: ReadState, listed: ItemList, shown: Sequence[Evidence]) -> ReadState:
        """Return what a list says. It goes on where it names further words, or rests on what was found last."""
        answer, pool = answer_from(listed, shown)
        lines = [passage.evidence_id for passage in state["evidence"] if OUTLINE in passage.routes]
        last = set(lines[-len(lines) // LAST_SHARE :])
        dropped = f"no line holds what was listed as {'; '.join(listed.dropped)}"
        return {
            "answer": answer,
            "pool": pool or list(shown[: self.settings.light_k]),
            "items": listed.items,
            "read_ids": list(dict.fromkeys([*state["read_ids"], *lines])),
            "look_for": listed.look_for,
            "may_go_on": bool(listed.look_for) or (state["more"] > 0 and any(p.evidence_id in last for p in pool)),
            "missing": [*state.get("missing", []), *([dropped] if listed.dropped else [])],
        }
