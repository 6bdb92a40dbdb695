"""Fuse the routes into one ranking: a weighted sum on one scale, and preferences beside it (docs/decisions/0015)."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import merge

import numpy as np

from langgraph_engram.filters import Condition
from langgraph_engram.retrieval.features import (
    QUESTION_WEIGHT,
    RecordLinks,
    preferences,
    record_links,
    turn_preferences,
)
from langgraph_engram.retrieval.grouping import Candidate, group_records
from langgraph_engram.retrieval.scoring import Flags, Positions, RouteScores, Scores, top_positions, unscored
from langgraph_engram.schema import Intent
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.stores.matches import Matches
from langgraph_engram.text.questions import asks_for_earlier_state
from langgraph_engram.text.tokens import content_stems

ROUTE_WEIGHTS: Mapping[str, float] = {
    "lexical": 0.4,
    "dense": 0.3,
    "first_person_dense": 0.5,
    "turn": 0.75,
    "dimension": 0.25,
    "boundary": 0.1,
    "synthesis": 0.05,
}
"""Weights of the routes; "first_person_dense" is the dense route without neighbours."""
TURN_TOTAL = sum(ROUTE_WEIGHTS[name] for name in ("lexical", "dense", "first_person_dense", "turn"))
"""Weight of the turn route for a turn that no record stands for, so that it is on the scale of the records."""
SUPERSEDED_MARGIN = 0.25
"""Margin by which a superseded record must score above its successor, unless the query asks for the past."""
MAX_RANKED = 400
"""Candidates that the fusion ranks."""
MIN_SCORE = 1e-6
"""The score of the last of them: it was found."""
REPEATED_QUESTION_SCORE = MIN_SCORE / 2
"""The score of what only repeats the query."""


@dataclass(frozen=True, eq=False)
class Fusion:
    """What the routes found, in one ranking."""

    index: ScopeIndex
    intent: Intent
    scores: RouteScores
    conditions: Sequence[Condition] = ()
    question_weight: float = QUESTION_WEIGHT

    @cached_property
    def matches(self) -> Matches:
        """Return what fulfils the conditions."""
        return Matches(self.index, self.conditions)

    def ranked(self, reach: int = 0) -> Iterator[Candidate]:
        """Yield turns, and passages of records up to `reach` turns apart, best first."""
        places, scores = self._found
        of_records = places < len(self.index.records)
        links = record_links(self.index)
        groups = group_records(self.index, places[of_records], scores[of_records], links, reach)
        passages = (self._candidate(group.positions[0], group.score, group.positions[1:]) for group in groups)
        alone = zip(places[~of_records].tolist(), scores[~of_records].tolist(), strict=True)
        turns = (self._candidate(at, score) for at, score in alone)
        return merge(passages, turns, key=lambda found: -found.score)

    def ranked_turns(self, shown: Collection[int] = ()) -> Iterator[tuple[int, Candidate]]:
        """Yield each turn that was found, a negative number for none, and the best of it as a line, best first."""
        places, scores = self._found
        turn_of, records = record_links(self.index).turn, len(self.index.records)
        seen = set(shown)
        for at, score in zip(places.tolist(), scores.tolist(), strict=True):
            turn = int(turn_of[at]) if at < records else at - records
            turn = turn if turn >= 0 else ~at
            if turn not in seen:
                seen.add(turn)
                yield turn, self._candidate(at, score)._replace(as_line=True)

    @cached_property
    def _found(self) -> tuple[Positions, Scores]:
        """Add up the routes and the preferences on one scale; return places and scores, best first.

        The place of a turn is behind those of all records.
        """
        index, links = self.index, record_links(self.index)
        topical = unscored(len(index.records))
        for name, part in self._routes.items():
            topical += ROUTE_WEIGHTS[name] * part
        eligible = index.records.active | _eligible_superseded(topical, self.intent, links)
        eligible &= self.matches.records & (topical > 0)
        of_records = np.where(eligible, topical + self._preference, -np.inf)
        of_turns = np.where(self.matches.turns, self._uncited_turns(links), -np.inf)
        best, scores = _best(np.concatenate([of_records, of_turns]))
        asks = np.concatenate([links.is_question, links.turn_asks])
        scores[[asks[at] and self._repeats_query(at) for at in best]] = REPEATED_QUESTION_SCORE
        order = top_positions(scores, MAX_RANKED)
        return best[order], scores[order]

    @cached_property
    def _routes(self) -> dict[str, Scores]:
        """Return the scores of records by route."""
        return _record_parts(self.index, record_links(self.index), self.scores)

    @cached_property
    def _preference(self) -> Scores:
        return preferences(self.index.records, record_links(self.index), self.intent, self.question_weight)

    def _candidate(self, at: int, score: float, joined: Sequence[int] = ()) -> Candidate:
        """Return the record, or the turn, at a place."""
        turn = at - len(self.index.records)
        if turn >= 0:
            return Candidate("turn", turn, score, {"turn": float(self.scores.turns[turn])})
        parts = {**self._routes, "preference": self._preference}
        routes = {name: float(part[at]) for name, part in parts.items()}
        return Candidate("record", at, score, routes, tuple(joined))

    def _repeats_query(self, at: int) -> bool:
        """Return whether a question holds no more than the query: asked before, it answers nothing."""
        turn = at - len(self.index.records)
        text = self.index.turns.items[turn].text if turn >= 0 else self.index.records.items[at].content
        return self._known_stems.issuperset(content_stems(text))

    @cached_property
    def _known_stems(self) -> frozenset[str]:
        """Return the stems of the query and of the names of speakers."""
        return frozenset(content_stems(" ".join([self.intent.query, *self.index.speakers])))

    def _uncited_turns(self, links: RecordLinks) -> Scores:
        """Score the turns that no record stands for, on the scale of the records; -inf for the others."""
        index, positions = self.index, links.uncited
        total = np.full(len(index.turns), -np.inf, dtype=np.float32)
        if len(positions) and len(self.scores.turns):
            preferred = turn_preferences(index.turns, links, self.intent, self.question_weight)[positions]
            found = self.scores.turns[positions]
            total[positions] = np.where(found > 0, TURN_TOTAL * found + preferred, -np.inf)
        return total


def interleave(rankings: Iterable[Iterator[Candidate]]) -> Iterator[Candidate]:
    """Yield the candidates of several rankings in turns, best first, each once."""
    running = list(rankings)
    if len(running) == 1:
        yield from running.pop()
    seen: set[tuple[str, int]] = set()
    while running:
        for ranking in list(running):
            found = next((candidate for candidate in ranking if (candidate.kind, candidate.position) not in seen), None)
            if found is None:
                running.remove(ranking)
                continue
            seen.update((found.kind, position) for position in (found.position, *found.joined))
            yield found


def _eligible_superseded(topical: Scores, intent: Intent, links: RecordLinks) -> Flags:
    """Return which superseded records are found, since not all that they say has changed (docs/decisions/0013).

    A query for the past finds all of them; any other those that score higher than their successors by a margin.
    """
    eligible = links.successor >= 0
    if not asks_for_earlier_state(intent.query):
        superseded = np.flatnonzero(eligible)
        least = topical[links.successor[superseded]] + SUPERSEDED_MARGIN
        eligible[superseded] = topical[superseded] > least
    return eligible


def _best(totals: Scores) -> tuple[Positions, Scores]:
    """Return the positions of the highest totals that are not -inf, and these totals, scaled to [0, 1]."""
    limit = min(MAX_RANKED, len(totals))
    lowest = np.partition(totals, -limit)[-limit] if limit else -np.inf
    positions = np.flatnonzero((totals >= lowest) & np.isfinite(totals))
    found = totals[positions]
    low, high = found.min(initial=np.inf), found.max(initial=-np.inf)
    return positions, np.maximum((found - low) / (high - low or 1.0), MIN_SCORE)


def _record_parts(index: ScopeIndex, links: RecordLinks, scores: RouteScores) -> dict[str, Scores]:
    """Return the scores of the records by route, those of their turns, events and syntheses included."""
    parts = dict(scores.records)
    parts["turn"] = _scores_at(scores.turns, links.turn)
    parts["boundary"] = _scores_at(scores.events, links.event)
    parts["synthesis"] = unscored(len(index.records))
    np.maximum.at(parts["synthesis"], links.narrated, scores.syntheses[links.narrated_by])
    return parts


def _scores_at(scores: Scores, positions: Positions) -> Scores:
    """Return the scores at some positions; 0 at -1."""
    return np.append(scores, np.float32(0))[positions] if len(scores) else unscored(len(positions))
