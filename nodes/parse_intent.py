"""Parse what the query of this round asks for (DimMem section 3.3)."""

from dataclasses import dataclass
from time import time
from typing import cast
from uuid import uuid4

from langgraph.types import Overwrite

from langgraph_engram.llm.base import Model, entry_of
from langgraph_engram.prompts.parse_intent import SYSTEM, ParseIntent
from langgraph_engram.results import UsageEntry
from langgraph_engram.retrieval.queries import (
    UNPARSED_NOTE,
    asking_speakers,
    breadth_of,
    make_intent,
    sort_of,
    truncated,
    with_context,
)
from langgraph_engram.schema import Intent
from langgraph_engram.settings import RetrieveSettings
from langgraph_engram.state import ReadState, RecallRequest, needs_whole
from langgraph_engram.stores.base import Store
from langgraph_engram.stores.index import ScopeIndex


@dataclass(frozen=True)
class ParseIntentStep:
    """Parse the query. Reads `request`, JSON included, and `query`; sets `intent`, at first the whole initial state."""

    store: Store
    model: Model
    rule_model: Model
    """Parses where no call may be made: for a search, and where the settings say so."""
    settings: RetrieveSettings
    reads_whole: bool = True
    """Whether a query that needs the whole is read for as such; without, no intent says that one does."""
    rules: str = SYSTEM
    """What the model is told of the parts of an intent."""

    def __call__(self, state: ReadState) -> ReadState:
        """Return the intent of the query of this round."""
        whole = RecallRequest.model_validate(state["request"])
        read, truncation = truncated(whole.query)
        request = whole.model_copy(update={"query": read})
        goes_on = state.get("current_request") == request
        query = state["query"] if goes_on else request.query
        revision = state.get("revision") if goes_on else None
        index = self.store.index(request.scope, revision).as_of(request.as_of, request.branches)
        now = request.now or request.as_of or index.turns.newest
        model = self.rule_model if request.mode == "search" or self.settings.intent == "rules" else self.model
        asked = model.ask(ParseIntent(query, now, tuple(index.turns.speakers), self.rules))
        usage = entry_of("parse_intent", [asked])
        intent = make_intent(query, asked.answer, now, asking_speakers(index.turns.people, request.user_id))
        before = state.get("notes", []) if goes_on else truncation
        initial: ReadState = {"request": request, "usage": [usage]} if goes_on else initial_state(request, usage)
        return {
            **initial,
            "revision": index.revision,
            "query": query,
            "intent": self._sorted(self._broadened(intent, request, state if goes_on else None), request, index),
            "notes": [*before, *([] if asked.answer else [UNPARSED_NOTE])],
        }

    def _broadened(self, intent: Intent, request: RecallRequest, before: ReadState | None) -> Intent:
        """Return an intent with its breadth; what goes on looking for the whole asks for what was asked first."""
        if not self.reads_whole:
            return intent.model_copy(update={"breadth": None})
        if before and needs_whole(before):
            return before["intent"].model_copy(update={"anchor": intent.anchor, "keywords": intent.keywords})
        if before and before["needs_all"]:
            return intent.model_copy(update={"breadth": "list"})
        return intent.model_copy(update={"breadth": breadth_of(intent, self.store.encoder, request.mode)})

    def _sorted(self, intent: Intent, request: RecallRequest, index: ScopeIndex) -> Intent:
        """Return the intent of a search with its sort; of what is no question, read with what stood before it."""
        if request.mode == "recall" or not self.settings.messages:
            return intent
        sort = sort_of(intent, self.store.encoder, is_talk=not index.turns.from_assistant.any())
        if sort == "question":
            return intent
        return intent.model_copy(update={"sort": sort, "anchor": with_context(intent.query, request.thread)})


def initial_state(request: RecallRequest, usage: UsageEntry) -> ReadState:
    """Return the state that a run starts with: nothing of an earlier run on the thread, which may be another user's."""
    return {
        "request": request,
        "current_request": request,
        "evidence": [],
        "selection": None,
        "sufficient": False,
        "answer": "",
        "quoted": False,
        "selected_ids": [],
        "missing": [],
        "seen_passages": 0,
        "doubted_answer": "",
        "earlier_answers": [],
        "done": False,
        "usage": cast(list[UsageEntry], Overwrite([usage])),
        "run_id": request.run_id or str(uuid4()),
        "started_at": time(),
        "round": 1,
        "asked_queries": [request.query],
        "pool": [],
        "items": [],
        "read_ids": [],
        "look_for": "",
        "more": 0,
        "needs_all": False,
        "went_deep": False,
    }
