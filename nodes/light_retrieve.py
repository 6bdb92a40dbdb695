"""Retrieve evidence by the light routes, fused, within the budget; no model is asked."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
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
        request, intent = state["request"], state["intent"]
        index = index_as_of(self.store, request)
        if not len(index.turns) and not len(index.records):
            return {"evidence": [], "notes": [*state.get("notes", []), _nothing_remembered(request)]}
        fusions = self._fusions(index, intent, request)
        first = fusions[0]
        query = first.scores.query
        breadth = self._breadth(intent, query)
        most = self.settings.budget if breadth == "narrow" else self.settings.outline_budget
        budget = request.budget or most
        compared = int(COMPARED * self.settings.whole_tokens) if self._shows_lines(breadth) else max(budget, most)
        candidates = self._candidates(fusions, request.mode, breadth)
        pool = fit_budget(candidates, compared, size_of=approximate_tokens(index, self.settings))
        relevance = Relevance(index, intent, query)
        shown = self._shown(first, relevance, pool, request, breadth)
        if self.reranker:
            shown = list(rerank(self.reranker, state["query"], shown, self.settings.rerank_n))
        fitting = fit_budget(shown, budget)
        evidence = with_standing(first.matches, query, fitting, budget, self.settings)
        notes = [f"the route {name!r} has no data here" for name in first.scores.empty]
        if request.filters and not pool:
            notes.append("nothing that was found fulfils the filters")
        if pool and not shown:
            notes.append("nothing that was found is relevant enough to be shown")
        elif not fitting:
            found = shown or self._formatted(relevance, self._candidates(fusions, request.mode, breadth))
            if least := smallest_size(found):
                notes.append(f"no passage fits the budget of {budget:,} tokens: the smallest takes {least:,}")
        return {"evidence": evidence[: request.limit], "notes": list(dict.fromkeys([*state.get("notes", []), *notes]))}

    def _fusions(self, index: ScopeIndex, intent: Intent, request: RecallRequest) -> list[Fusion]:
        """Return what the routes find for a query, and for each of two things whose times it compares."""
        routes = Routes(self.store.encoder, self.settings)
        parts = part_intents(intent) if self.settings.split_comparisons else []
        conditions = conditions_of(request.filters)
        return [Fusion(index, part, routes.score(index, part), self.settings, conditions) for part in (intent, *parts)]

    def _candidates(
        self, fusions: Sequence[Fusion], mode: Literal["search", "recall"], breadth: Breadth
    ) -> Iterator[Candidate]:
        """Yield what was found, best first: passages for a narrow query, lines for a broad one."""
        if breadth != "narrow":
            return outline(fusions[0], breadth)
        first = fusions[0]
        return self._with_replies(first.index, first.intent, interleave(self._rank(mode, fusion) for fusion in fusions))

    def _shown(
        self, fusion: Fusion, relevance: Relevance, pool: Sequence[Candidate], request: RecallRequest, breadth: Breadth
    ) -> list[Evidence]:
        """Return what of the best candidates is shown, as passages in order of strength."""
        stop = self._stop(request, breadth)
        features = relevance.features(pool)
        found = with_relevance(pool, features)
        doubtful = breadth == "narrow" and stop > 0 and not is_answered(features, found)
        chosen = self._truncated([], found, request.mode, stop, doubtful=doubtful)
        if doubtful:
            shown = self._formatted(relevance, chosen)
            return fit_budget(shown, DOUBTFUL_TOKENS) or shown[:1]
        if self._shows_lines(breadth):
            return self._with_lines(fusion, relevance, chosen, request)
        return self._formatted(relevance, chosen)

    def _shows_lines(self, breadth: Breadth) -> bool:
        """Return whether lines follow the whole passages that answer a query."""
        return breadth == "narrow" and self.settings.outline_characters > 0

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


def _nothing_remembered(request: RecallRequest) -> str:
    whose = f"user {request.user_id}" + (f" with agent {request.agent_id}" if request.agent_id else "")
    if request.as_of:
        return f"nothing that was said by {request.as_of.date()} is remembered for {whose}"
    return f"nothing is remembered yet for {whose}"
