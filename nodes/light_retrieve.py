"""Retrieve evidence by the light routes, fused, within the budget; no model is asked."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import tee
from typing import Literal

from langgraph_engram.rerank import Reranker, rerank
from langgraph_engram.retrieval.fusion import fuse, interleave
from langgraph_engram.retrieval.grouping import Candidate, diversify_sessions
from langgraph_engram.retrieval.passages import fit_budget, format_passage, smallest_size, with_assistant_replies
from langgraph_engram.retrieval.queries import part_intents
from langgraph_engram.retrieval.relevance import by_strength, truncate, with_relevance
from langgraph_engram.retrieval.routes import Routes, RouteScores
from langgraph_engram.retrieval.standing import with_standing
from langgraph_engram.schema import Evidence, Intent
from langgraph_engram.settings import RetrieveSettings
from langgraph_engram.state import ReadState, RecallRequest
from langgraph_engram.stores.base import Store, index_as_of
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.text.questions import asks_for_aggregate


@dataclass(frozen=True)
class LightRetrieve:
    """Retrieve passages. Reads `request`, `query`, `intent`; sets `evidence`, adds to `notes`."""

    store: Store
    settings: RetrieveSettings
    reranker: Reranker | None = None

    def __call__(self, state: ReadState) -> ReadState:
        """Return the passages, best first, and a note for each route without data and for too small a budget."""
        request = state["request"]
        index = index_as_of(self.store, request)
        if not len(index.turns) and not len(index.records):
            whose = f"user {request.user_id}" + (f" with agent {request.agent_id}" if request.agent_id else "")
            return {"evidence": [], "notes": [*state.get("notes", []), f"nothing is remembered yet for {whose}"]}
        routes = Routes(self.store.encoder, self.settings)
        intents = [state["intent"], *(part_intents(state["intent"]) if self.settings.split_comparisons else ())]
        scores = [routes.score(index, intent) for intent in intents]
        rankings = [self._rank(index, request.mode, *scored) for scored in zip(intents, scores, strict=True)]
        ranked, found = tee(self._passages(index, state["intent"], interleave(rankings)))
        budget = request.budget or self.settings.budget
        query = scores[0].query
        pool = fit_budget(ranked, max(budget, self.settings.budget))
        shown = self._truncated(with_relevance(index, state["intent"], query, pool), request)
        if self.reranker:
            shown = list(rerank(self.reranker, state["query"], shown, self.settings.rerank_n))
        fitting = fit_budget(shown, budget)
        evidence = with_standing(index, query, fitting, budget, self.settings)
        notes = [f"the route {name!r} has no data here" for name in scores[0].empty]
        if pool and not shown:
            notes.append("nothing that was found is relevant enough to be shown")
        elif not fitting and (least := smallest_size(shown or found)):
            notes.append(f"no passage fits the budget of {budget:,} tokens: the smallest takes {least:,}")
        return {"evidence": evidence, "notes": list(dict.fromkeys([*state.get("notes", []), *notes]))}

    def _truncated(self, passages: Sequence[Evidence], request: RecallRequest) -> list[Evidence]:
        """Order what a search found by strength, and end it where relevance ends; readers have limits of their own."""
        if request.mode == "recall":
            return list(passages)
        weight = self.settings.relevance_weight
        stop = self.settings.stop if request.stop is None else request.stop
        return truncate(by_strength(passages, weight), weight, stop, self.settings.relevance_threshold)

    def _passages(self, index: ScopeIndex, intent: Intent, found: Iterator[Candidate]) -> Iterator[Evidence]:
        """Format what was found, with the assistant's replies where the settings or the query ask for them."""
        passages = (format_passage(index, candidate, self.settings.event_passages) for candidate in found)
        wanted = self.settings.assistant_replies
        if wanted == "always" or (wanted == "asked_for" and intent.needs_assistant):
            return (with_assistant_replies(index, passage) for passage in passages)
        return passages

    def _rank(
        self, index: ScopeIndex, mode: Literal["search", "recall"], intent: Intent, scores: RouteScores
    ) -> Iterator[Candidate]:
        """Rank candidates: a search groups exchanges, a recall single turns; what adds up spans sessions."""
        if self.settings.session_factor and asks_for_aggregate(intent.query):
            ranking = fuse(index, intent, scores, self.settings)
            return iter(diversify_sessions(index, ranking, self.settings.session_factor))
        return fuse(index, intent, scores, self.settings, self.settings.exchange_reach if mode == "search" else 0)
