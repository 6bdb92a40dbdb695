"""Note what the query of this round asks for (DimMem section 3.3; DESIGN, read step 1)."""

from dataclasses import dataclass
from datetime import datetime
from time import time
from typing import cast
from uuid import uuid4

from langgraph.types import Overwrite

from langgraph_engram.language.times import parse_constraint
from langgraph_engram.model import Model, entry_of
from langgraph_engram.nodes.retrieving.query_beginning import beginning, cut_note
from langgraph_engram.nodes.retrieving.standing_index import standing_index
from langgraph_engram.prompts.parse_intent import ParsedIntent, ParseIntent
from langgraph_engram.results import UsageEntry
from langgraph_engram.schema import Intent
from langgraph_engram.settings import RetrieveSettings
from langgraph_engram.state import ReadState, RecallRequest
from langgraph_engram.stores.store import Store

UNREAD = "the query could not be analysed, so its words alone are searched for"


@dataclass(frozen=True)
class ParseIntentStep:
    """Read the query. Reads `request` (JSON too) and `query`; sets `intent`, and at first what a run starts with."""

    store: Store
    model: Model
    quick_model: Model
    """Answers where no call may be made: for `search`, and where the settings say that rules read queries."""
    settings: RetrieveSettings

    def __call__(self, state: ReadState) -> ReadState:
        """Return the intent of the query that this round looks for."""
        whole = RecallRequest.model_validate(state["request"])
        request = whole.model_copy(update={"query": beginning(whole.query)})
        goes_on = state.get("begun_for") == request
        query = state["query"] if goes_on else request.query
        index = standing_index(self.store, request)
        now = request.now or request.as_of or index.newest
        quick = request.mode == "search" or self.settings.intent == "rules"
        model = self.quick_model if quick else self.model
        asked = model.ask(ParseIntent(query, now, tuple(index.speakers)))
        before = state.get("notes", []) if goes_on else cut_note(whole.query)
        notes = [*before, *([] if asked.answer else [UNREAD])]
        if not goes_on:
            return {
                **begin(request, entry_of("parse_intent", [asked])),
                "query": query,
                "intent": make_intent(query, asked.answer, now),
                "notes": notes,
            }
        return {
            "request": request,
            "query": query,
            "intent": make_intent(query, asked.answer, now),
            "notes": notes,
            "usage": [entry_of("parse_intent", [asked])],
        }


def begin(request: RecallRequest, usage: UsageEntry) -> ReadState:
    """Give what a run starts with: nothing of a run before it on the same thread, which may be another user's."""
    return {
        "request": request,
        "begun_for": request,
        "evidence": [],
        "sufficient": False,
        "answer": "",
        "selected_ids": [],
        "missing": [],
        "seen": 0,
        "doubted": "",
        "done": False,
        "usage": cast(list[UsageEntry], Overwrite([usage])),
        "run_id": request.run_id or str(uuid4()),
        "started_at": time(),
        "round": 1,
        "asked_queries": [request.query],
        "pool": [],
        "went_deep": False,
    }


def make_intent(query: str, parsed: ParsedIntent | None, now: datetime | None) -> Intent:
    """Turn what was read of a query into constraints; the dimension asked for constrains nothing."""
    if parsed is None:
        return Intent(query=query, anchor=query, asked_at=now)
    asked_for = parsed.answer_dimension
    return Intent(
        query=query,
        anchor=parsed.anchor or query,
        target_types=list(dict.fromkeys(parsed.target_types)),
        keywords=list(dict.fromkeys(parsed.keywords)),
        time=parse_constraint(parsed.time, now) if parsed.time and asked_for != "time" else None,
        location="" if asked_for == "location" else parsed.location,
        speakers=list(dict.fromkeys(parsed.speakers)),
        answer_dimension=asked_for,
        needs_assistant=parsed.needs_assistant,
        asked_at=now,
    )
