"""Retrieve evidence by the light routes, fused, within the budget; no model is asked."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import tee
from typing import Literal, TypeAlias

from langgraph_engram.embeddings.base import Vectors
from langgraph_engram.filters import conditions_of
from langgraph_engram.rerank import Reranker, rerank
from langgraph_engram.results import count_tokens
from langgraph_engram.retrieval.excerpts import with_excerpt
from langgraph_engram.retrieval.fusion import Fusion, interleave
from langgraph_engram.retrieval.grouping import Candidate, diversify_sessions
from langgraph_engram.retrieval.outline import breadth_of, format_line, outline
from langgraph_engram.retrieval.passages import (
    approximate_tokens,
    fit_budget,
    format_passage,
    smallest_size,
    with_assistant_replies,
)
from langgraph_engram.retrieval.queries import part_intents
from langgraph_engram.retrieval.relevance import (
    DOUBTFUL_TOKENS,
    Relevance,
    by_strength,
    is_answered,
    truncate,
    with_relevance,
)
from langgraph_engram.retrieval.routes import Routes
from langgraph_engram.retrieval.standing import with_standing
from langgraph_engram.schema import Breadth, Evidence, Intent
from langgraph_engram.settings import RetrieveSettings
from langgraph_engram.state import ReadState, RecallRequest
from langgraph_engram.stores.base import Store, index_as_of
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.text.questions import asks_for_aggregate
from langgraph_engram.tracing import retrieval

Found: TypeAlias = Candidate | Evidence

COMPARED = 2.0
"""Tokens of the passages that are compared with a query, as a multiple of those that are shown whole at most."""


@dataclass(frozen=True)
class LightRetrieve:
    """Retrieve passages. Reads `request`, `query`, `intent`; sets `evidence`, adds to `notes`."""

    store: Store
    settings: RetrieveSettings
    reranker: Reranker | None = None

    def __call__(self, state: ReadState) -> ReadState:
        """Return the passages, best first, and a note for each route without data and for too small a budget."""
        with retrieval(state["query"]) as traced:
            update = self._retrieve(state)
            traced += update["evidence"]
        return update

    def _retrieve(self, state: ReadState) -> ReadState:
        request = state["request"]
        index = index_as_of(self.store, request)
        if not len(index.turns) and not len(index.records):
            whose = f"user {request.user_id}" + (f" with agent {request.agent_id}" if request.agent_id else "")
            nothing = f"nothing is remembered yet for {whose}"
            if request.as_of:
                nothing = f"nothing that was said by {request.as_of.date()} is remembered for {whose}"
            return {"evidence": [], "notes": [*state.get("notes", []), nothing]}
        routes = Routes(self.store.encoder, self.settings)
        intents = [state["intent"], *(part_intents(state["intent"]) if self.settings.split_comparisons else ())]
        conditions = conditions_of(request.filters)
        fusions = [Fusion(index, intent, routes.score(index, intent), self.settings, conditions) for intent in intents]
        scores = fusions[0].scores
        query = scores.query
        breadth = self._breadth(state["intent"], query)
        most = self.settings.budget if breadth == "narrow" else self.settings.outline_budget
        budget = request.budget or most
        if breadth == "narrow":
            rankings = [self._rank(request.mode, fusion) for fusion in fusions]
            ranked, found = tee(self._with_replies(index, state["intent"], interleave(rankings)))
        else:
            ranked, found = tee(outline(fusions[0], breadth))
        if breadth == "narrow" and self.settings.outline_characters:
            compared = int(COMPARED * self.settings.whole_tokens)
        else:
            compared = max(budget, most)
        pool = fit_budget(ranked, compared, size_of=approximate_tokens(index, self.settings))
        stop = self._stop(request, breadth)
        relevance = Relevance(index, state["intent"], query)
        features = relevance.features(pool)
        estimated = with_relevance(pool, features)
        doubtful = breadth == "narrow" and stop > 0 and not is_answered(features, estimated)
        chosen = self._truncated([], estimated, request.mode, stop, doubtful=doubtful)
        if doubtful:
            shown = self._formatted(relevance, chosen)
            shown = fit_budget(shown, DOUBTFUL_TOKENS) or shown[:1]
        elif breadth == "narrow" and self.settings.outline_characters:
            shown = self._with_lines(fusions[0], relevance, chosen, request)
        else:
            shown = self._formatted(relevance, chosen)
        if self.reranker:
            shown = list(rerank(self.reranker, state["query"], shown, self.settings.rerank_n))
        fitting = fit_budget(shown, budget)
        evidence = with_standing(fusions[0].matches, query, fitting, budget, self.settings)
        notes = [f"the route {name!r} has no data here" for name in scores.empty]
        if conditions and not pool:
            notes.append("nothing that was found fulfils the filters")
        if pool and not shown:
            notes.append("nothing that was found is relevant enough to be shown")
        elif not fitting and (least := smallest_size(shown or self._formatted(relevance, found))):
            notes.append(f"no passage fits the budget of {budget:,} tokens: the smallest takes {least:,}")
        return {"evidence": evidence[: request.limit], "notes": list(dict.fromkeys([*state.get("notes", []), *notes]))}

    def _breadth(self, intent: Intent, query: Vectors) -> Breadth:
        """Return how broad a query is; narrow where the settings outline nothing."""
        return breadth_of(intent, query, self.store.encoder.name) if self.settings.outline_characters else "narrow"

    def _with_lines(
        self, fusion: Fusion, relevance: Relevance, chosen: Iterable[Found], request: RecallRequest
    ) -> list[Evidence]:
        """Show whole passages as far as their tokens go, then a line of each turn that none of them is from."""
        index, shown = relevance.index, self._formatted(relevance, chosen)
        whole = fit_budget(shown, self.settings.whole_tokens)
        if not whole or len(whole) == len(shown):
            return shown
        known = {index.turns.position(turn.turn_id) for passage in whole for turn in passage.turns}
        budget = request.budget or self.settings.budget
        left = budget - sum(count_tokens(passage.text) for passage in whole)
        others = fit_budget(outline(fusion, "narrow", known), left, size_of=approximate_tokens(index, self.settings))
        lines = with_relevance(others, relevance.features(others))
        return self._formatted(relevance, self._truncated(whole, lines, request.mode, self._stop(request, "narrow")))

    def _truncated(
        self,
        first: Sequence[Found],
        then: Sequence[Found],
        mode: Literal["search", "recall"],
        stop: float,
        *,
        doubtful: bool = False,
    ) -> list[Found]:
        """Order what a search found after the first passages by strength, and end it all where relevance ends.

        The readers of a recall have limits of their own. Where a result is doubtful, less of it is relevant enough.
        """
        if mode == "recall":
            return [*first, *then]
        weight = self.settings.relevance_weight
        threshold = self.settings.relevance_threshold if doubtful else 0.0
        return truncate([*first, *by_strength(then, weight)], weight, stop, threshold)

    def _stop(self, request: RecallRequest, breadth: Breadth) -> float:
        """Return the strength at which a result ends; 0 for a search that fills its budget, and for every recall."""
        if request.mode == "recall":
            return 0.0
        own = self.settings.stop if breadth == "narrow" else self.settings.outline_stop
        return own if request.stop is None else request.stop

    def _formatted(self, relevance: Relevance, found: Iterable[Found]) -> list[Evidence]:
        """Format what was found, but what is formatted."""
        return [passage if isinstance(passage, Evidence) else self._format(relevance, passage) for passage in found]

    def _format(self, relevance: Relevance, candidate: Candidate) -> Evidence:
        if candidate.as_line:
            return format_line(relevance.index, candidate, self.settings)
        passage = format_passage(relevance.index, candidate, self.settings.event_passages)
        return with_excerpt(passage, relevance.stem_weights, self.settings.excerpt_characters)

    def _with_replies(self, index: ScopeIndex, intent: Intent, found: Iterator[Candidate]) -> Iterator[Candidate]:
        """Add the assistant's replies to what was found where the settings or the query ask for them."""
        wanted = self.settings.assistant_replies
        if wanted == "always" or (wanted == "asked_for" and intent.needs_assistant):
            return (with_assistant_replies(index, candidate) for candidate in found)
        return found

    def _rank(self, mode: Literal["search", "recall"], fusion: Fusion) -> Iterator[Candidate]:
        """Rank candidates: a search groups exchanges, a recall single turns; what adds up spans sessions."""
        if self.settings.session_factor and asks_for_aggregate(fusion.intent.query):
            return iter(diversify_sessions(fusion.index, fusion.ranked(), self.settings.session_factor))
        return fusion.ranked(self.settings.exchange_reach if mode == "search" else 0)
