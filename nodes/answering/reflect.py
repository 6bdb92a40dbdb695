"""Check the answer against the first question and the whole pool, and end or look further (HyMem section 3.4).

The loop stops on a complete answer, a query asked before, nothing new, or a spent budget; a budget says so.
"""

from dataclasses import dataclass
from time import time

from langgraph_engram.model import Model, entry_of
from langgraph_engram.prompts.reflect import Reflect, Reflection
from langgraph_engram.settings import DeepSettings
from langgraph_engram.state import ReadState
from langgraph_engram.usage import total

NOTHING_NEW = "looking further found nothing new"


@dataclass(frozen=True)
class ReflectStep:
    """Reflect. Reads everything found; sets `done`, `missing`, `query`, `round`, `asked_queries`."""

    model: Model
    settings: DeepSettings

    def __call__(self, state: ReadState) -> ReadState:
        """Return the end, or the next query."""
        spent = self._spent(state)
        if spent:
            return {"done": True, "notes": [*state.get("notes", []), spent]}
        question = Reflect(
            state["request"].query,
            state["intent"],
            state["answer"],
            tuple(state["pool"]),
            tuple(state["asked_queries"]),
        )
        asked = self.model.ask(question)
        thought = asked.answer or Reflection(complete=True)
        following = thought.next_query.strip()
        repeated = following.casefold() in {query.casefold() for query in state["asked_queries"]}
        usage = [entry_of("reflect", [asked])]
        missing = [] if thought.complete or not thought.missing.strip() else [thought.missing.strip()]
        if thought.complete or not following or repeated:
            return {"done": True, "missing": missing, "usage": usage}
        ends = self._ends(state)
        if ends:
            return {"done": True, "missing": missing, "notes": [*state.get("notes", []), ends], "usage": usage}
        return {
            "done": False,
            "missing": missing,
            "query": following,
            "round": state["round"] + 1,
            "seen": len(state["pool"]),
            "asked_queries": [*state["asked_queries"], following],
            "usage": usage,
        }

    def _ends(self, state: ReadState) -> str:
        if state["round"] >= self.settings.max_rounds:
            return f"the budget of {self.settings.max_rounds} rounds is spent"
        return NOTHING_NEW if len(state["pool"]) <= state.get("seen", 0) else ""

    def _spent(self, state: ReadState) -> str:
        usage = total(state.get("usage", []))
        limits = (
            ("calls", usage.calls, self.settings.max_calls),
            ("tokens", usage.tokens, self.settings.max_tokens),
            ("seconds", time() - state["started_at"], self.settings.max_seconds),
        )
        over = [f"the budget of {limit} {name} is spent" for name, used, limit in limits if used >= limit]
        return over[0] if over else ""
