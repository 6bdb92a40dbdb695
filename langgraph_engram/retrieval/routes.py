"""Score the memories of a scope by each route.

The lexical, dense and dimension routes score records; the turn, boundary and synthesis routes score turns, events and
narratives. A route without data scores nothing and is named in `RouteScores.empty`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from langgraph_engram.embeddings.base import Encoder, Vectors
from langgraph_engram.retrieval.scoring import (
    Scores,
    dimension_scores,
    event_scores,
    min_max,
    raw_event_scores,
    unscored,
    with_neighbours,
)
from langgraph_engram.schema import Intent
from langgraph_engram.settings import RetrieveSettings
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.text.tokens import content_stems


@dataclass(frozen=True)
class RouteScores:
    """The scores of each record, turn, event and synthesis, in [0, 1] and in the order of their indexes."""

    query: Vectors = field(default_factory=lambda: np.zeros(0, dtype=np.float32))
    """The unit vector that was searched for, of shape (d,)."""
    records: Mapping[str, Scores] = field(default_factory=dict)
    """The scores of the records by route."""
    turns: Scores = field(default_factory=lambda: unscored(0))
    events: Scores = field(default_factory=lambda: unscored(0))
    syntheses: Scores = field(default_factory=lambda: unscored(0))
    empty: tuple[str, ...] = ()
    """Routes without data."""


@dataclass(frozen=True)
class Routes:
    """Run the routes that the settings name."""

    encoder: Encoder
    settings: RetrieveSettings

    def score(self, index: ScopeIndex, intent: Intent) -> RouteScores:
        """Return the scores of everything in a scope for a query."""
        names = self.settings.routes
        text = first_person_query(intent) if self.settings.first_person_query else intent.anchor
        query = self.encoder.encode([text])[0]
        stems = self._stems(intent)
        records: dict[str, Scores] = {}
        if "lexical" in names:
            records["lexical"] = self._record_scores(index, index.records.bm25(stems))
        if "dense" in names:
            cosines = index.records.cosine(query)
            records["dense"] = self._record_scores(index, cosines)
            if self.settings.fusion == "weighted":
                records["first_person_dense"] = min_max(cosines)
        if "dimension" in names:
            records["dimension"] = dimension_scores(index.records, intent, self.settings)
        turns = self._turn_scores(index, query, stems) if "turn" in names else unscored(len(index.turns))
        syntheses = _synthesis_scores(index, query) if "synthesis" in names else unscored(len(index.syntheses))
        events = self._event_scores(index, query)
        return RouteScores(query, records, turns, events, syntheses, self._empty(index))

    def _stems(self, intent: Intent) -> list[str]:
        """Return the stems to search for; the fusion weighs who speaks, so a first-person query drops the names."""
        people: set[str] = set()
        if self.settings.first_person_query:
            people = {stem for name in intent.speakers for stem in content_stems(name)}
        return [stem for stem in content_stems(" ".join([intent.anchor, *intent.keywords])) if stem not in people]

    def _record_scores(self, index: ScopeIndex, scores: Scores) -> Scores:
        weights = self.settings.neighbours
        if not weights or not len(index.records):
            return min_max(scores)
        return min_max(with_neighbours(scores, index.records.session_row(len(weights)), weights))

    def _event_scores(self, index: ScopeIndex, query: Vectors) -> Scores:
        if self.settings.fusion == "event_text":
            return raw_event_scores(index, query)
        return (
            event_scores(index, query, self.settings)
            if "boundary" in self.settings.routes
            else unscored(len(index.events))
        )

    def _empty(self, index: ScopeIndex) -> tuple[str, ...]:
        """Return the routes without data; without anchors, those of boundaries are the summaries of events.

        That nothing has been told by a synthesis is a lack only where readers are shown syntheses beside records.
        """
        sizes = {
            "lexical": len(index.records),
            "dense": len(index.records),
            "dimension": len(index.records),
            "boundary": len(index.boundaries) if self.settings.boundary_k else len(index.events),
            "synthesis": len(index.syntheses),
            "turn": len(index.turns),
        }
        shows_narratives = self.settings.fusion == "concatenate"
        empty = (name for name in self.settings.routes if not sizes[name])
        return tuple(name for name in empty if name != "synthesis" or shows_narratives)

    def _turn_scores(self, index: ScopeIndex, query: Vectors, stems: list[str]) -> Scores:
        if not len(index.turns):
            return unscored(0)
        weights = self.settings.turn_neighbours
        row = index.turns.session_row(len(weights))
        lexical, dense = (
            min_max(with_neighbours(scores, row, weights))
            for scores in (index.turns.bm25(stems), index.turns.cosine(query))
        )
        return np.asarray((lexical + dense) / 2)


def first_person_query(intent: Intent) -> str:
    """Rewrite a query about one person in the first person, since people speak of themselves as "I" and "my".

    A query about nobody or about several people is returned as it is.
    """
    if len(intent.speakers) != 1:
        return intent.anchor
    name = re.escape(intent.speakers[0])
    possessive = re.sub(rf"\b{name}['’]s\b", "my", intent.anchor)
    return re.sub(rf"\b{name}\b", "I", possessive)


def _synthesis_scores(index: ScopeIndex, query: Vectors) -> Scores:
    active = index.syntheses.column("active", lambda synthesis: synthesis.status == "active", np.bool_)
    scores = np.clip(index.syntheses.cosine(query), 0, 1)
    return np.where(active, scores, 0.0) if active.size else unscored(0)
