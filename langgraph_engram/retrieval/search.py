"""Define what a search is asked and what it returns, and end one: reranked, within its budget, with its notes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

from langgraph_engram.embeddings.base import Vectors
from langgraph_engram.filters import Condition
from langgraph_engram.rerank import Reranker, rerank
from langgraph_engram.retrieval.passages import Candidate
from langgraph_engram.retrieval.pool import fit_budget, passage_tokens
from langgraph_engram.retrieval.standing import with_standing
from langgraph_engram.schema import Evidence, Intent
from langgraph_engram.settings import RetrieveSettings
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.stores.matches import Matches


@dataclass(frozen=True)
class Search:
    """One search of the memories of a scope, for its own sake or for an answer."""

    intent: Intent
    mode: Literal["search", "recall"] = "search"
    budget: int | None = None
    """Tokens of evidence at most; None for the settings' own."""
    stop: float | None = None
    """Strength at which a list ends; None for the settings' own."""
    limit: int | None = None
    conditions: Sequence[Condition] = ()


class Found(NamedTuple):
    """Passages, best first, and a note of each lack."""

    evidence: list[Evidence]
    notes: list[str]


class Retriever(Protocol):
    """Find passages in the memories of a scope, without asking a model."""

    def retrieve(self, index: ScopeIndex, search: Search) -> Found:
        """Return what is found, within the budget."""


@dataclass(frozen=True, eq=False)
class Ranking:
    """What was found and compared with the query, best first, before it is formatted."""

    matches: Matches
    query: Vectors
    """The unit vector that was searched for."""
    pool: Sequence[Candidate]
    empty: Sequence[str] = ()
    """Routes without data."""


@dataclass(frozen=True)
class ListEnd:
    """Decide where a list of passages ends."""

    settings: RetrieveSettings
    reranker: Reranker | None = field(default=None, compare=False)

    def stop(self, search: Search, own: float) -> float:
        """Return the strength at which a list ends; 0 for no end: the readers of a recall have limits of their own."""
        if search.mode == "recall":
            return 0.0
        return own if search.stop is None else search.stop

    def cut(self, search: Search, ranking: Ranking, shown: list[Evidence], budget: int) -> Found:
        """Return what is shown of a pool, as far as it fits the budget, and the user's standing statements."""
        if self.reranker:
            shown = list(rerank(self.reranker, search.intent.query, shown, self.settings.rerank_n))
        fitting = fit_budget(shown, budget)
        evidence = with_standing(ranking.matches, ranking.query, fitting, budget, self.settings.standing_share)
        notes = [f"the route {name!r} has no data here" for name in ranking.empty]
        if search.conditions and not ranking.pool:
            notes.append("nothing that was found fulfils the filters")
        if ranking.pool and not shown:
            notes.append("nothing that was found is relevant enough to be shown")
        elif shown and not fitting:
            least = min(map(passage_tokens, shown))
            notes.append(f"no passage fits the budget of {budget:,} tokens: the smallest takes {least:,}")
        return Found(evidence[: search.limit], notes)
