"""Score a scope's memories by each route. A route without data scores nothing, and says so (`empty_routes`).

Lexical and dense scores of records spread to neighbours; the turn, boundary and synthesis routes find turns, events
and narratives, and lend their scores to the records that come from them.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from langgraph_engram.embeddings.base import Encoder, Vectors
from langgraph_engram.retrieval.scoring import Scores, dimension_scores, event_scores, min_max, with_neighbours
from langgraph_engram.schema import Intent
from langgraph_engram.settings import RetrieveSettings
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.text.tokens import content_stems

TOLD_KINDS = frozenset({"event", "buffer"})
"""Kinds of events of the presets that write narratives."""


def empty_routes(index: ScopeIndex, routes: Sequence[str]) -> tuple[str, ...]:
    """Give the routes, of those named, whose data is missing."""
    held = {
        "lexical": len(index.records),
        "dense": len(index.records),
        "dimension": len(index.records),
        "boundary": len(index.boundaries),
        "synthesis": len(index.syntheses) or _awaits_narratives(index),
        "turn": len(index.turns),
    }
    return tuple(name for name in routes if not held[name])


def _awaits_narratives(index: ScopeIndex) -> bool:
    """Say whether no narrative was due yet: there are records, and all that are active are of sessions under way."""
    events = sorted(index.events.items, key=lambda event: event.seq)
    last = {event.session_id: event for event in events}
    told = (last.get(record.session_id) for record in index.records.items if record.status == "active")
    return bool(len(index.records)) and all(
        event is None or (event.kind in TOLD_KINDS and event.status == "open") for event in told
    )


@dataclass(frozen=True)
class RouteScores:
    """What the routes gave each record, turn, event and synthesis, each in [0, 1] and in the order of its shelf."""

    query: Vectors = field(default_factory=lambda: np.zeros(0, dtype=np.float32))
    """The unit vector that was searched for, of shape (d,)."""
    records: Mapping[str, Scores] = field(default_factory=dict)
    turns: Scores = field(default_factory=lambda: np.zeros(0))
    events: Scores = field(default_factory=lambda: np.zeros(0))
    syntheses: Scores = field(default_factory=lambda: np.zeros(0))
    empty: tuple[str, ...] = ()
    """Routes whose data is missing."""


@dataclass(frozen=True)
class Routes:
    """Run the routes that the settings name."""

    encoder: Encoder
    settings: RetrieveSettings

    def score(self, index: ScopeIndex, intent: Intent) -> RouteScores:
        """Score everything in a scope for a query."""
        names = self.settings.routes
        query = self.encoder.encode([first_person(intent) if self.settings.first_person_query else intent.anchor])[0]
        stems = self._stems(intent)
        records: dict[str, Scores] = {}
        if "lexical" in names:
            records["lexical"] = self._spread(index, index.records.bm25(stems))
        if "dense" in names:
            cosines = index.records.cosine(query)
            records["dense"] = self._spread(index, cosines)
            if self.settings.fusion == "weighted":
                records["own_dense"] = min_max(cosines.astype(np.float64))
        if "dimension" in names:
            records["dimension"] = dimension_scores(index.records, intent, self.settings)
        turns = self._turns(index, query, stems) if "turn" in names else np.zeros(len(index.turns))
        events = event_scores(index, query, self.settings) if "boundary" in names else np.zeros(len(index.events))
        syntheses = self._syntheses(index, query) if "synthesis" in names else np.zeros(len(index.syntheses))
        return RouteScores(query, records, turns, events, syntheses, empty_routes(index, names))

    def _stems(self, intent: Intent) -> list[str]:
        """Give the stems to search for. Whose words they are is weighed by the fusion, not by the name in them."""
        people = (
            {stem for name in intent.speakers for stem in content_stems(name)}
            if self.settings.first_person_query
            else set()
        )
        return [one for one in content_stems(" ".join([intent.anchor, *intent.keywords])) if one not in people]

    def _spread(self, index: ScopeIndex, scores: NDArray[np.float32]) -> Scores:
        if not self.settings.neighbours or not len(index.records):
            return min_max(scores.astype(np.float64))
        before, after = index.records.neighbours()
        return min_max(with_neighbours(scores.astype(np.float64), before, after, self.settings.neighbours))

    def _turns(self, index: ScopeIndex, query: Vectors, stems: list[str]) -> Scores:
        if not len(index.turns):
            return np.zeros(0)
        before, after = index.turns.neighbours()
        lexical, dense = (
            min_max(with_neighbours(scores.astype(np.float64), before, after, self.settings.turn_neighbours))
            for scores in (index.turns.bm25(stems), index.turns.cosine(query))
        )
        return (lexical + dense) / 2

    def _syntheses(self, index: ScopeIndex, query: Vectors) -> Scores:
        live = np.array([synthesis.status == "active" for synthesis in index.syntheses.items], dtype=bool)
        scores = np.clip(index.syntheses.cosine(query).astype(np.float64), 0, 1)
        return np.where(live, scores, 0.0) if live.size else np.zeros(0)


def first_person(intent: Intent) -> str:
    """Put a query about one person as that person would say it: people speak of themselves as "I" and "my".

    A query about nobody or about several people stays as it is.
    """
    if len(intent.speakers) != 1:
        return intent.anchor
    name = re.escape(intent.speakers[0])
    owned = re.sub(rf"\b{name}['’]s\b", "my", intent.anchor)
    return re.sub(rf"\b{name}\b", "I", owned)
