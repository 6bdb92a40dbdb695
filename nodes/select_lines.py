"""Ask a model which of what people said bears on a message; what the search found stays where that fails."""

from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as Late
from contextvars import copy_context
from dataclasses import dataclass

from langgraph_engram.filters import conditions_of
from langgraph_engram.llm.base import Failure, LLMResult, Model, entry_of
from langgraph_engram.prompts.select_lines import MOST_NAMED, LineSelection, SelectLines
from langgraph_engram.results import Selection, UsageEntry, count_tokens
from langgraph_engram.retrieval.messages import make_offer, statements_for
from langgraph_engram.settings import DeepSettings
from langgraph_engram.state import ReadState
from langgraph_engram.stores.base import Store

THREAD_TURNS = 4
"""Turns before the message that the model is shown."""
MESSAGE_CHARACTERS = 1600
"""Characters of the message, and of all turns before it together, that it is shown; the rest is cut."""


@dataclass(frozen=True)
class SelectLinesStep:
    """Select lines. Reads `request`, `revision`, `intent`; sets `evidence`, `selection`, adds to `notes`, `usage`."""

    store: Store
    model: Model
    settings: DeepSettings

    def __call__(self, state: ReadState) -> ReadState:
        """Return what the model named; where it fails or is late, what the search found, and a note."""
        request, intent = state["request"], state["intent"]
        index = self.store.index(request.scope, state.get("revision")).as_of(request.as_of, request.branches)
        offer = make_offer(statements_for(index, intent, self.store.encoder, conditions_of(request.filters)))
        fixed, near = offer.lines()
        thread = [turn[-MESSAGE_CHARACTERS // THREAD_TURNS :] for turn in request.thread[-THREAD_TURNS:]]
        message = intent.query[:MESSAGE_CHARACTERS]
        asked = self._ask(SelectLines(tuple(fixed), tuple(near), message, tuple(thread), intent.asked_at))
        selection = Selection(
            offered=offer.record_ids(), fixed=len(offer.fixed), fixed_tokens=count_tokens("\n".join(fixed))
        )
        update: ReadState = {"usage": [entry_of("select_lines", [asked])]}
        if asked.answer is None:
            reason = asked.failure.reason if asked.failure else "no answer"
            note = f"no model selected what bears on the message ({reason}): this is what the search found"
            return {**update, "selection": selection, "notes": [*state.get("notes", []), note]}
        evidence = offer.evidence(asked.answer.numbers)[:MOST_NAMED][: request.limit]
        named = [passage.evidence_id for passage in evidence]
        return {**update, "evidence": evidence, "selection": selection.model_copy(update={"named": named})}

    def _ask(self, question: SelectLines) -> LLMResult[LineSelection]:
        """Ask, and wait no longer than the settings say: an agent's reply waits for this."""
        seconds = self.settings.select_seconds
        pool = ThreadPoolExecutor(1, thread_name_prefix="engram-select")
        try:
            return pool.submit(copy_context().run, self.model.ask, question).result(seconds)
        except Late:
            failure = Failure("timeout", f"it took longer than {seconds:g} seconds")
            return LLMResult(None, UsageEntry(node="", model=self.model.name, calls=1, asked=1), failure)
        finally:
            pool.shutdown(wait=False)
