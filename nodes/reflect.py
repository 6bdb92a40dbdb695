"""Reflect on the answer against the query and the whole pool, and end or search further (HyMem section 3.4).

The loop ends on a complete answer, a query asked before in any form, an answer that another round did not change,
nothing new, or a spent budget. Under the paper's preset each answer is reflected on, by itself, and a complete answer,
no query, or T rounds end the loop alone (Algorithm 1).
"""

from dataclasses import dataclass, field
from time import time

from langgraph_engram.llm.base import Model, entry_of
from langgraph_engram.prompts.reflect import Reflect
from langgraph_engram.prompts.rendering import CITATION
from langgraph_engram.prompts.write_answer import AnswerForm, rests_on_evidence
from langgraph_engram.results import total
from langgraph_engram.settings import DeepSettings
from langgraph_engram.state import ReadState, needs_whole
from langgraph_engram.text.words import content_stems

UNCHANGED = "searching further did not change the answer"


@dataclass(frozen=True)
class ReflectStep:
    """Reflect. Reads everything found; sets `done`, `missing`, `query`, `round`, `asked_queries`."""

    model: Model
    settings: DeepSettings
    form: AnswerForm = field(default_factory=AnswerForm)
    reads_on: bool = False
    """Whether what needs the whole, or turns out to, is read on for."""

    def __call__(self, state: ReadState) -> ReadState:
        """Return the end, or the next query."""
        by_answers = self.form.shows_earlier
        if stopped := self._spent(state) or ("" if by_answers or not _unchanged(state) else UNCHANGED):
            missing = _left(state) if needs_whole(state) else state.get("missing", [])
            return {"done": True, "missing": missing, "notes": [*state.get("notes", []), stopped]}
        is_whole, may_go_on = needs_whole(state), self.reads_on and state.get("may_go_on", False)
        if (is_whole and not may_go_on) or (not by_answers and _is_settled(state)):
            return {"done": True, "missing": _left(state)}
        if is_whole or (may_go_on and rests_on_evidence(state["answer"])):
            return self._read_on(state)
        query, pool = state["request"].query, None if by_answers else tuple(state["pool"])
        question = Reflect(query, state["intent"], state["answer"], pool, tuple(state["asked_queries"]), self.form)
        asked = self.model.ask(question)
        usage, thought = [entry_of("reflect", [asked])], asked.answer
        if thought is None:
            unchecked = f"nothing checked the answer: {asked.failure.reason if asked.failure else 'no reply'}"
            return {"done": True, "missing": [], "notes": [*state.get("notes", []), unchecked], "usage": usage}
        following = thought.next_query.strip()
        missing = [] if thought.complete or not thought.missing.strip() else [thought.missing.strip()]
        ended: ReadState = {"done": True, "missing": missing, "usage": usage}
        is_new = bool(following) if by_answers else _asks_something_new(following, question.asked)
        if thought.complete or not is_new:
            return ended
        if ends := self._ends(state):
            return {**ended, "notes": [*state.get("notes", []), ends]}
        return {
            **ended,
            "done": False,
            "query": following,
            "round": state["round"] + 1,
            "seen_passages": len(state["pool"]),
            "doubted_answer": state["answer"],
            "earlier_answers": [*state.get("earlier_answers", []), *([state["answer"]] if state["answer"] else [])],
            "asked_queries": [*state["asked_queries"], following],
        }

    def _read_on(self, state: ReadState) -> ReadState:
        """Read on: by the words that the answer names, else what was found next; all lines for what is new as a whole.

        A summary is told from the lines that fit, and what else was found is said to be missing.
        """
        notes = [self._ends(state)] if state["round"] >= self.settings.max_rounds else []
        if notes or state["intent"].breadth == "summary":
            return {"done": True, "missing": _left(state), "notes": [*state.get("notes", []), *notes]}
        return {
            "done": False,
            "needs_all": not needs_whole(state),
            "query": state["look_for"] or state["request"].query,
            "round": state["round"] + 1,
        }

    def _ends(self, state: ReadState) -> str:
        if state["round"] >= self.settings.max_rounds:
            return f"the budget of {self.settings.max_rounds} rounds is spent"
        is_same = not self.form.shows_earlier and len(state["pool"]) <= state.get("seen_passages", 0)
        return "searching further found nothing new" if is_same else ""

    def _spent(self, state: ReadState) -> str:
        usage = total(state.get("usage", []))
        limits = (
            ("calls", usage.calls, self.settings.max_calls),
            ("tokens", usage.tokens, self.settings.max_tokens),
            ("seconds", time() - state["started_at"], self.settings.max_seconds),
        )
        over = [f"the budget of {limit} {name} is spent" for name, used, limit in limits if used >= limit]
        return over[0] if over else ""


def _left(state: ReadState) -> list[str]:
    """Return what an answer that ends here is not written from, although it needs the whole."""
    if not needs_whole(state):
        return []
    unread = state["more"] if state.get("may_go_on") else 0
    not_read = [f"up to {unread} further lines that were found, and not read"] if unread else []
    return [*state.get("missing", []), *not_read]


def _is_settled(state: ReadState) -> bool:
    """Return whether no call is needed: a language model answered, cites evidence, and says that nothing is left."""
    return not (state.get("quoted") or state.get("may_go_on")) and rests_on_evidence(state["answer"])


def _unchanged(state: ReadState) -> bool:
    """Return whether the answer is still the one that the last round doubted."""
    before, now = (
        CITATION.sub("", answer).casefold().split() for answer in (state.get("doubted_answer", ""), state["answer"])
    )
    return bool(before) and before == now


def _asks_something_new(query: str, asked: tuple[str, ...]) -> bool:
    """Return whether a query differs in content words from every earlier one."""
    return bool(query) and set(content_stems(query)) not in [set(content_stems(earlier)) for earlier in asked]
