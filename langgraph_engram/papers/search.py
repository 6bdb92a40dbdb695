"""Search as the papers do: by a ranking of their own, all of it shown, without an order or an end by relevance."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from langgraph_engram.embeddings.base import Encoder, Vectors
from langgraph_engram.prompts.rendering import dated, plain, quote_turn
from langgraph_engram.retrieval.passages import Candidate, as_passage, excerpted, make_passage, turn_passage, turns_of
from langgraph_engram.retrieval.relevance import Relevance, truncate, with_relevance
from langgraph_engram.retrieval.scoring import Scores, min_max, top_matching, top_positions
from langgraph_engram.retrieval.search import Found, Ranking, Search, cut, stop_of
from langgraph_engram.schema import Event, Evidence, Intent, Turn
from langgraph_engram.settings import RetrieveSettings
from langgraph_engram.stores.index import Matches, ScopeIndex
from langgraph_engram.temporal.datetimes import format_day
from langgraph_engram.text.words import content_stems


class Ranker(Protocol):
    """Find and rank what a paper's reader is shown."""

    def rank(self, matches: Matches, intent: Intent, query: Vectors) -> Iterator[Candidate]:
        """Yield what is found for a query, given its unit vector, best first."""


@dataclass(frozen=True)
class PaperRetriever:
    """Search once for the query as it was put."""

    encoder: Encoder
    ranker: Ranker
    settings: RetrieveSettings
    routes: Sequence[str] = ()
    """The routes whose lack of data is noted."""
    event_passages: Literal["turns", "summary"] = "turns"
    """What of an event is shown."""
    event_turns: Callable[[ScopeIndex, Event], Sequence[Turn]] | None = None
    """Returns the turns that are shown of an event; None for its own."""

    def retrieve(self, index: ScopeIndex, search: Search) -> Found:
        """Return what the paper's ranking finds, within the budget, and a note of each lack."""
        query = self.encoder.encode([search.intent.anchor])[0]
        matches = Matches(index, search.conditions)
        candidates = list(self.ranker.rank(matches, search.intent, query))
        relevance = Relevance(index, search.intent, query)
        found = with_relevance(candidates, relevance.features(candidates))
        settings = self.settings
        kept = truncate(found, stop_of(search, settings.stop), weight=0)
        shown = [excerpted(self._format(index, candidate), relevance.stem_weights) for candidate in kept]
        sizes = {"boundary": len(index.boundaries), "synthesis": len(index.syntheses)}
        empty = [name for name in self.routes if not sizes.get(name, len(index.records))]
        ranking = Ranking(matches, query, candidates, empty)
        return cut(search, ranking, shown, search.budget or settings.budget, settings.lasting_share)

    def _format(self, index: ScopeIndex, candidate: Candidate) -> Evidence:
        """Return an event as its summary where that is asked for or no turn is left, anything else as it is said."""
        has_turns = self.event_passages == "turns" and bool(turns_of(index, candidate))
        if candidate.kind != "event" or (has_turns and not self.event_turns):
            return as_passage(index, candidate)
        event = index.events.items[candidate.position]
        if has_turns and self.event_turns:
            return turn_passage(self.event_turns(index, event), candidate.score, candidate.routes, candidate.relevance)
        return make_passage(candidate, event.event_id, dated(event.indexed_text, event.started_at))


@dataclass(frozen=True)
class RecordRanker:
    """Rank the records of each route."""

    routes: Sequence[str]
    top_k: int
    """Records of each route."""

    def rank(self, matches: Matches, intent: Intent, query: Vectors) -> Iterator[Candidate]:
        """Yield the best records."""
        return self.best_records(matches, text_scores(matches.index, intent, query, self.routes))

    def best_records(self, matches: Matches, scores: Mapping[str, Scores]) -> Iterator[Candidate]:
        """Yield the best k active records of each route, route after route, each once."""
        active = np.flatnonzero(matches.index.records.active & matches.records)
        seen: set[int] = set()
        for part in scores.values():
            for position in active[top_positions(part[active], self.top_k)].tolist():
                if position not in seen:
                    seen.add(position)
                    routes = {name: float(other[position]) for name, other in scores.items()}
                    yield Candidate("record", position, float(part[position]), routes)


def text_scores(index: ScopeIndex, intent: Intent, query: Vectors, routes: Sequence[str]) -> dict[str, Scores]:
    """Score records by their words and by their meaning, each in [0, 1], as far as these routes are named."""
    scores: dict[str, Scores] = {}
    if "lexical" in routes:
        scores["lexical"] = min_max(index.records.bm25(content_stems(" ".join([intent.anchor, *intent.keywords]))))
    if "dense" in routes:
        scores["dense"] = min_max(index.records.cosine(query))
    return scores


def best_events(matches: Matches, scores: Scores, limit: int, route: str) -> Iterator[Candidate]:
    """Yield the events of the highest scores, best first."""
    for position in top_matching(matches, matches.index.events, scores, limit):
        score = float(scores[position])
        yield Candidate("event", position, score, {route: score})


def as_found(evidence: Sequence[Evidence]) -> str:
    """Quote passages under their numbers, in the order in which they were found."""
    return "\n".join(quote_passage(number, passage) for number, passage in enumerate(evidence, start=1))


def quote_passage(number: int, passage: Evidence) -> str:
    """Quote one passage under its number; raw turns as lines under their day."""
    if passage.record is None and passage.turns:
        lines = (quote_turn(turn) for turn in passage.turns)
        return "\n".join([f"[{number}] {format_day(passage.turns[0].said_at)}", *lines])
    return f"[{number}] {plain(passage.text)}"
