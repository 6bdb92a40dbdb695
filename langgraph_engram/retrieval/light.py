"""Find passages by the light routes: for one thing whole ones, then lines; for what needs the whole lines alone.

Counts, lists, orders and summaries rest on many turns, and whole passages fill the budget with a tenth of them
(docs/decisions/0018).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice

from langgraph_engram.embeddings.base import Encoder
from langgraph_engram.prompts.write_answer import AnswerForm
from langgraph_engram.retrieval.fusion import Fusion, interleave
from langgraph_engram.retrieval.lines import format_lines, lines_of
from langgraph_engram.retrieval.messages import MessageRetriever
from langgraph_engram.retrieval.passages import Candidate, approximate_tokens, format_passage, near_turns, with_excerpt
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
from langgraph_engram.schema import IN_SET, Breadth, Evidence, Turn
from langgraph_engram.settings import RetrieveSettings, Settings
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.text.questions import answer_type

WHOLE_TOKENS = 500
"""Tokens of whole passages after which a narrow query is shown lines, of turns that none of them is from."""
COMPARED_TOKENS = 2 * WHOLE_TOKENS
"""Tokens of the passages that are compared with a narrow query."""
OUTLINE_STOP = 0.08
"""Strength at which an outline ends: what it is of is in many exchanges, the last much weaker than the first."""
MOST_LINES = 160
"""Lines that an answer that needs the whole is first written from."""
ADVICE_LINES = 80
"""Lines that advice is given from: what bears on it shares few words with what is asked."""
BESIDE_SETS = 80
"""Lines that complete what stands in a set that the query names."""
FURTHER_LINES = 240
"""Lines that are read behind them at once, in batches."""
LINES_BATCH = 80
"""Lines of one such batch."""
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
        if search.intent.sort != "question":
            return MessageRetriever(self.encoder, self.end).retrieve(index, search)
        routes = Routes(self.encoder, self.settings.routes)
        intents = (search.intent, *part_intents(search.intent))
        fusions = [Fusion(index, intent, routes.score(index, intent), search.conditions) for intent in intents]
        first = fusions[0]
        relevance = Relevance(index, search.intent, first.scores.query)
        breadth, most = _lines_wanted(search)
        more = 0
        if breadth == "narrow":
            budget = search.budget or self.settings.budget
            pool = _pool(index, interleave(_rank(fusion, search) for fusion in fusions), COMPARED_TOKENS)
            shown = self._answering(first, relevance, pool, search, budget)
        else:
            pool = list(lines_of(first, breadth))
            in_sets = sum(IN_SET in candidate.routes for candidate in pool)
            most = min(most, in_sets + BESIDE_SETS) if in_sets else most
            budget = search.budget or self.settings.whole_budget * most // MOST_LINES
            found = with_relevance(pool, relevance.features(pool))
            kept = _ended(search, found, self.end.stop(search, OUTLINE_STOP))
            lines = format_lines(index, kept, readable=search.mode == "recall")
            fresh = [line for line in lines if line.evidence_id not in search.read]
            shown = fresh[:most] if search.mode == "recall" else fresh
            more = len(fresh) - len(shown)
        ranking = Ranking(first.matches, first.scores.query, pool, first.scores.empty)
        return self.end.cut(search, ranking, shown, budget)._replace(more=more)

    def _answering(
        self, fusion: Fusion, relevance: Relevance, pool: Sequence[Candidate], search: Search, budget: int
    ) -> list[Evidence]:
        """Return whole passages, then lines; little where nothing found seems to answer."""
        stop = self.end.stop(search, self.settings.stop)
        features = relevance.features(pool)
        found = with_relevance(pool, features)
        if stop and not is_answered(features, found):
            shown = _format(relevance, truncate(by_strength(found), stop, self.settings.relevance_threshold))
            return fit_budget(shown, DOUBTFUL_TOKENS) or shown[:1]
        shown = _format(relevance, _ended(search, found, stop))
        whole = fit_budget(shown, WHOLE_TOKENS)
        if not whole or len(whole) == len(shown):
            return shown
        lines = _lines(fusion, relevance, whole, budget)
        ordered: list[Evidence | Candidate] = [*whole, *(lines if search.mode == "recall" else by_strength(lines))]
        kept = truncate(ordered, stop)
        kept_lines = [line for line in kept if isinstance(line, Candidate)]
        return [*whole[: len(kept)], *format_lines(relevance.index, kept_lines)]


def _lines_wanted(search: Search) -> tuple[Breadth, int]:
    """Return what is read for in lines, and how many of them at most; "narrow" for passages."""
    breadth = search.intent.breadth or "narrow"
    if breadth == "narrow" and search.mode == "recall" and answer_type(search.intent.query) == "advice":
        return "list", ADVICE_LINES
    return breadth, FURTHER_LINES if search.read else MOST_LINES


def _rank(fusion: Fusion, search: Search) -> Iterator[Candidate]:
    """Rank candidates: a search groups exchanges, a recall single turns."""
    return fusion.ranked(EXCHANGE_REACH if search.mode == "search" else 0)


def _pool(index: ScopeIndex, candidates: Iterator[Candidate], budget: int) -> list[Candidate]:
    """Return the best candidates that take so many tokens together, or the best one if it takes more."""
    best = list(islice(candidates, 1))
    return fit_budget(chain(best, candidates), budget, size_of=approximate_tokens(index)) or best


def _ended(search: Search, found: Sequence[Candidate], stop: float) -> list[Candidate]:
    """Order what a search found by strength, and end it where that is low; a recall takes it as it is."""
    return list(found) if search.mode == "recall" else truncate(by_strength(found), stop)


def _lines(fusion: Fusion, relevance: Relevance, whole: Sequence[Evidence], budget: int) -> list[Candidate]:
    """Return the turns that no passage is from, as lines that fit beside them."""
    index = relevance.index
    shown = {index.turns.position(turn.turn_id) for passage in whole for turn in passage.turns}
    left = budget - sum(map(passage_tokens, whole))
    lines = fit_budget(lines_of(fusion, "narrow", shown), left, size_of=approximate_tokens(index))
    return with_relevance(lines, relevance.features(lines))


def _format(relevance: Relevance, candidates: Sequence[Candidate]) -> list[Evidence]:
    index, weights = relevance.index, relevance.stem_weights
    return [with_excerpt(format_passage(index, candidate), weights) for candidate in candidates]


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
    reads_whole: bool = False
    """Whether what needs the whole is answered from lines of all that was found."""


def default_parts(encoder: Encoder, settings: Settings) -> ReadParts:
    """Return the parts of the default preset."""
    retriever = LightRetriever(encoder, settings.retrieve, ListEnd(settings.retrieve))
    return ReadParts(retriever, AnswerForm().styled(settings.answer.style), reads_whole=settings.retrieve.whole)
