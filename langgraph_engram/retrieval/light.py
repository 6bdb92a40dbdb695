"""Find passages by the light routes: for a narrow query whole ones, then lines; for a broad one lines alone."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice

from langgraph_engram.embeddings.base import Encoder
from langgraph_engram.prompts.answer_form import WORDINGS, AnswerForm
from langgraph_engram.rerank import Reranker
from langgraph_engram.retrieval.fusion import Fusion, interleave
from langgraph_engram.retrieval.grouping import Candidate, diversify_sessions
from langgraph_engram.retrieval.outline import breadth_of, format_line, outline
from langgraph_engram.retrieval.passages import approximate_tokens, format_passage, near_turns, with_excerpt
from langgraph_engram.retrieval.pool import fit_budget, passage_tokens
from langgraph_engram.retrieval.queries import part_intents
from langgraph_engram.retrieval.relevance import (
    DOUBTFUL_TOKENS,
    Relevance,
    by_strength,
    is_answered,
    truncate,
    with_relevance,
)
from langgraph_engram.retrieval.scoring import Routes
from langgraph_engram.retrieval.search import Found, ListEnd, Ranking, Retriever, Search
from langgraph_engram.schema import Evidence, Turn
from langgraph_engram.settings import RetrieveSettings, Settings
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.text.questions import asks_for_aggregate

WHOLE_TOKENS = 500
"""Tokens of whole passages after which a narrow query is shown lines, of turns that none of them is from."""
COMPARED_TOKENS = 2 * WHOLE_TOKENS
"""Tokens of the passages that are compared with a narrow query."""
OUTLINE_STOP = 0.08
"""Strength at which an outline ends: what it is of is in many exchanges, the last much weaker than the first."""
SELECT_BATCH = 15
"""Candidates of one call of the deep selection."""
EXCHANGE_REACH = 2
"""Turns between sentences of one passage in a search; a recall has passages of one turn."""


@dataclass(frozen=True)
class LightRetriever:
    """Search by all routes at once."""

    encoder: Encoder
    settings: RetrieveSettings
    end: ListEnd

    def retrieve(self, index: ScopeIndex, search: Search) -> Found:
        """Return the passages that bear most on a query, within the budget, and a note of each lack."""
        routes = Routes(self.encoder, self.settings.routes)
        intents = (search.intent, *part_intents(search.intent))
        fusions = [Fusion(index, intent, routes.score(index, intent), search.conditions) for intent in intents]
        first = fusions[0]
        relevance = Relevance(index, search.intent, first.scores.query)
        breadth = breadth_of(search.intent, first.scores.query, self.encoder.name)
        if breadth == "narrow":
            candidates = interleave(_rank(fusion, search) for fusion in fusions)
            budget, compared = search.budget or self.settings.budget, COMPARED_TOKENS
        else:
            candidates = outline(first, breadth)
            budget = search.budget or self.settings.outline_budget
            compared = max(budget, self.settings.outline_budget)
        pool = _pool(index, candidates, compared)
        if breadth == "narrow":
            shown = self._answering(first, relevance, pool, search, budget)
        else:
            found = with_relevance(pool, relevance.features(pool))
            ended = _ended(search, found, self.end.stop(search, OUTLINE_STOP))
            shown = [_format(relevance, candidate) for candidate in ended]
        ranking = Ranking(first.matches, first.scores.query, pool, first.scores.empty)
        return self.end.cut(search, ranking, shown, budget)

    def _answering(
        self, fusion: Fusion, relevance: Relevance, pool: Sequence[Candidate], search: Search, budget: int
    ) -> list[Evidence]:
        """Return whole passages, then lines; little where nothing found seems to answer."""
        stop = self.end.stop(search, self.settings.stop)
        features = relevance.features(pool)
        found = with_relevance(pool, features)
        if stop and not is_answered(features, found):
            doubtful = truncate(by_strength(found), stop, self.settings.relevance_threshold)
            shown = [_format(relevance, candidate) for candidate in doubtful]
            return fit_budget(shown, DOUBTFUL_TOKENS) or shown[:1]
        shown = [_format(relevance, candidate) for candidate in _ended(search, found, stop)]
        whole = fit_budget(shown, WHOLE_TOKENS)
        if not whole or len(whole) == len(shown):
            return shown
        lines = self._lines(fusion, relevance, whole, budget)
        ordered: list[Evidence | Candidate] = [*whole, *(lines if search.mode == "recall" else by_strength(lines))]
        kept = truncate(ordered, stop)
        return [chosen if isinstance(chosen, Evidence) else _format(relevance, chosen) for chosen in kept]

    def _lines(self, fusion: Fusion, relevance: Relevance, whole: Sequence[Evidence], budget: int) -> list[Candidate]:
        """Return the turns that no passage is from, as lines that fit beside them."""
        index = relevance.index
        shown = {index.turns.position(turn.turn_id) for passage in whole for turn in passage.turns}
        left = budget - sum(map(passage_tokens, whole))
        lines = fit_budget(outline(fusion, "narrow", shown), left, size_of=approximate_tokens(index))
        return with_relevance(lines, relevance.features(lines))


def _rank(fusion: Fusion, search: Search) -> Iterator[Candidate]:
    """Rank candidates: a search groups exchanges, a recall single turns; what adds up spans sessions."""
    if asks_for_aggregate(fusion.intent.query):
        return iter(diversify_sessions(fusion.index, fusion.ranked()))
    return fusion.ranked(EXCHANGE_REACH if search.mode == "search" else 0)


def _pool(index: ScopeIndex, candidates: Iterator[Candidate], budget: int) -> list[Candidate]:
    """Return the best candidates that take so many tokens together, or the best one if it takes more."""
    best = list(islice(candidates, 1))
    return fit_budget(chain(best, candidates), budget, size_of=approximate_tokens(index)) or best


def _ended(search: Search, found: Sequence[Candidate], stop: float) -> list[Candidate]:
    """Order what a search found by strength, and end it where that is low; a recall takes it as it is."""
    return list(found) if search.mode == "recall" else truncate(by_strength(found), stop)


def _format(relevance: Relevance, candidate: Candidate) -> Evidence:
    if candidate.as_line:
        return format_line(relevance.index, candidate)
    return with_excerpt(format_passage(relevance.index, candidate), relevance.stem_weights)


@dataclass(frozen=True)
class ReadParts:
    """What a preset's read graph is made of."""

    retriever: Retriever
    form: AnswerForm = field(default_factory=AnswerForm)
    """How the reader of an answer is shown the evidence."""
    turns_around: Callable[[ScopeIndex, Turn], Sequence[Turn]] = near_turns
    """Returns what deep retrieval shows of a source turn."""
    select_batch: int = SELECT_BATCH
    """Candidates of one call of the deep selection."""
    reflects_on_all: bool = False
    """Whether each answer is reflected on, and not only those that rules cannot confirm."""


def default_parts(encoder: Encoder, settings: Settings, reranker: Reranker | None = None) -> ReadParts:
    """Return the parts of the default preset."""
    end = ListEnd(settings.retrieve, reranker)
    retriever = LightRetriever(encoder, settings.retrieve, end)
    return ReadParts(retriever, AnswerForm(WORDINGS[settings.answer.style]))
