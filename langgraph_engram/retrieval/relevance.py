"""Estimate the probability that a passage holds what a query asks for, and order and end a list by it.

A logistic regression, which the lab's `relevance.py` fits. Where a query names people, what is said about others is a
reason for doubt (docs/decisions/0016).
"""

from collections.abc import Sequence
from itertools import chain, takewhile
from math import log1p
from typing import Any, NamedTuple, TypeVar

import numpy as np

from langgraph_engram.embeddings.base import LONG_TEXT, Vectors
from langgraph_engram.logistic import LogisticRegression, Numbers
from langgraph_engram.retrieval.passages import Candidate, turns_of
from langgraph_engram.retrieval.scoring import Flags, Positions, Scores, stems_without_people
from langgraph_engram.schema import Evidence, Intent
from langgraph_engram.stores.bm25 import inverse_document_frequency
from langgraph_engram.stores.index import KindIndex, ScopeIndex
from langgraph_engram.text.statements import own_words
from langgraph_engram.text.words import content_stems, words

LEAST = 1e-4
"""The lowest relevance that is told apart; 1 - LEAST is the highest."""
WEIGHTS_FILE = "relevance_weights.json"
FEATURES = ("cosine", "own_cosine", "breadth", "own_coverage", "rival_lead", "share")
"""The features of a passage, in the order of the columns; see `Relevance.features`."""
STRENGTH_WEIGHT = 0.15
"""The power of the odds of relevance in the strength of a passage."""
PRIOR_TURNS = 20
"""Turns that the prior counts for in statistics of a scope, so that a scope of a few turns gives sound ones."""
PRIOR_COSINE = 0.1
"""The prior of the cosine of a query with a turn about something else."""
MAX_SAMPLED = 1000
"""Turns over which the usual cosine of a query is estimated."""
S = TypeVar("S", bound=Candidate | Evidence)


class _Fit(NamedTuple):
    """How well several things fit, by what is about the people asked about ("own") and by what is about others."""

    cosine: Scores
    own_cosine: Scores
    own_coverage: Scores
    rival_coverage: Scores
    stems: Flags
    """Which stems of the query each holds, of shape (things, stems)."""


class Relevance:
    """Compare what was found with one query."""

    def __init__(self, index: ScopeIndex, intent: Intent, query: Vectors) -> None:
        """Weight the stems of a query by their rarity in the scope, speakers' names left out."""
        self.index = index
        self._kinds: dict[str, KindIndex[Any]] = {
            "record": index.records,
            "turn": index.turns,
            "event": index.events,
            "synthesis": index.syntheses,
        }
        self._vector = query
        sample = index.turns.cosine_of(slice(None, None, 1 + len(index.turns) // MAX_SAMPLED), query)
        usual = (float(sample.sum()) + PRIOR_TURNS * PRIOR_COSINE) / (len(sample) + PRIOR_TURNS)
        self._usual = min(0.99, max(0.0, usual))
        self._people = frozenset(intent.speakers)
        self._names = frozenset(word for name in intent.speakers for word in words(name))
        self.stem_weights = _stem_weights(index, intent)
        self._stems = list(self.stem_weights)
        self._weights = np.array(list(self.stem_weights.values()), dtype=np.float64)

    def features(self, candidates: Sequence[Candidate]) -> Numbers:
        """Return the features of each candidate, as an array of shape (candidates, len(FEATURES)).

        - `cosine`: of the query with the nearest of the candidate's record and turns.
        - `own_cosine`: the same over what is about the people whom the query names; as `cosine` where it names none.
        - `breadth`: the share of the query's stems, weighted by rarity in the scope, that the candidate and its turns
          hold, times ln(1 + the query's stems): one word of two is less than four of eight.
        - `own_coverage`: that share of one turn or record that is about those people.
        - `rival_lead`: how much more of the query is covered by what a turn of any candidate says about others.
        - `share`: of the best candidate's score.
        """
        if not candidates:
            return np.zeros((0, len(FEATURES)))
        itself = self._compared_items(candidates)
        shown = [[*turns_of(self.index, candidate), *candidate.replies] for candidate in candidates]
        owners = np.repeat(np.arange(len(shown)), [len(cited) for cited in shown])
        turns, rows = np.unique(np.array([*chain(*shown)], dtype=np.intp), return_inverse=True)
        of_turns = self._compared_turns(turns)
        for whole, part in zip(itself, of_turns, strict=True):
            np.maximum.at(whole, owners, part[rows])
        scores = np.array([candidate.score for candidate in candidates])
        best = scores.max()
        return np.column_stack(
            [
                itself.cosine,
                itself.own_cosine,
                itself.stems @ self._weights * log1p(len(self._stems)),
                itself.own_coverage,
                np.maximum(0.0, itself.rival_coverage.max() - itself.own_coverage),
                np.maximum(0.0, scores / best) if best > 0 else np.zeros(len(scores)),
            ]
        )

    def _compared_items(self, candidates: Sequence[Candidate]) -> _Fit:
        """Compare records and syntheses; of a turn or an event it counts here what its words hold."""
        fit = self._unlike(len(candidates))
        for kind in {candidate.kind for candidate in candidates}:
            items = self._kinds[kind]
            rows = [row for row, candidate in enumerate(candidates) if candidate.kind == kind]
            positions = [candidates[row].position for row in rows]
            fit.stems[rows] = items.lexical.contains(positions, self._stems)
            if kind in ("record", "synthesis"):
                fit.cosine[rows] = self._nearness(items, positions)
            if kind == "synthesis":
                fit.own_cosine[rows] = fit.cosine[rows]
            if kind == "record":
                records = [items.items[position] for position in positions]
                said = [(own_words(record.content, record.speaker), record.speaker) for record in records]
                self._attribute(fit, rows, said)
                joined = [(row, position) for row in rows for position in candidates[row].joined]
                owners, others = [row for row, _ in joined], [position for _, position in joined]
                np.logical_or.at(fit.stems, owners, items.lexical.contains(others, self._stems))
        return fit

    def _compared_turns(self, positions: Positions) -> _Fit:
        """Compare turns; what an assistant says about others is no rival of what a person says.

        A long turn counts for nothing: it covers any query, and its record holds what was found.
        """
        fit, turns = self._unlike(len(positions)), self.index.turns
        fit.cosine[:] = self._nearness(turns, positions)
        compared = [turns.items[position] for position in positions.tolist()]
        for row, turn in enumerate(compared):
            stems = content_stems(turn.said) if len(turn.text) < LONG_TEXT else ()
            fit.stems[row] = [stem in stems for stem in self._stems]
        self._attribute(fit, range(len(compared)), [(turn.said, turn.speaker) for turn in compared])
        fit.rival_coverage[~turns.from_user[positions]] = 0.0
        return fit

    def _attribute(self, fit: _Fit, rows: Sequence[int], said: Sequence[tuple[str, str]]) -> None:
        """Count what was said, and by whom, as about the people asked about or others; all of it where none are named.

        It is about them where they said it, or where it names one of them.
        """
        about = np.array(
            [
                not self._people or speaker in self._people or not self._names.isdisjoint(words(text))
                for text, speaker in said
            ],
            dtype=np.bool_,
        )
        covered = fit.stems[rows] @ self._weights
        fit.own_cosine[rows] = np.where(about, fit.cosine[rows], 0.0)
        fit.own_coverage[rows] = np.where(about, covered, 0.0)
        fit.rival_coverage[rows] = np.where(about, 0.0, covered)

    def _unlike(self, number: int) -> _Fit:
        """Return what matches nothing, so many times."""
        cosine, own_cosine, own_coverage, rival_coverage = np.zeros((4, number), dtype=np.float32)
        stems = np.zeros((number, len(self._stems)), dtype=np.bool_)
        return _Fit(cosine, own_cosine, own_coverage, rival_coverage, stems)

    def _nearness(self, items: KindIndex[Any], positions: Sequence[int] | Positions) -> Scores:
        """Return how far cosines with items are above the usual one: 0 for any turn, 1 for an equal vector."""
        cosines = items.cosine_of(np.asarray(positions), self._vector)
        return np.asarray(np.maximum(0.0, (cosines - self._usual) / (1 - self._usual)))


def with_relevance(candidates: Sequence[Candidate], features: Numbers) -> list[Candidate]:
    """Return candidates with their relevance, by what `Relevance.features` returns of them."""
    estimates = LogisticRegression.load(FEATURES, __package__, WEIGHTS_FILE).probability(features).tolist()
    return [candidate._replace(relevance=estimate) for candidate, estimate in zip(candidates, estimates, strict=True)]


def _stem_weights(index: ScopeIndex, intent: Intent) -> dict[str, float]:
    """Return the share of each stem in the rarity of all; names of speakers, in nearly every turn, are left out."""
    lexical = index.turns.lexical
    rarity = {
        stem: inverse_document_frequency(len(lexical) + PRIOR_TURNS, lexical.document_frequency(stem))
        for stem in stems_without_people(intent, [intent.anchor])
    }
    whole = sum(rarity.values())
    return {stem: value / whole for stem, value in rarity.items()}


def odds_of(relevance: Sequence[float]) -> Numbers:
    """Return the odds of probabilities, none below that of `LEAST` or above that of 1 - `LEAST`."""
    probability = np.clip(np.array(relevance, dtype=np.float64), LEAST, 1 - LEAST)
    return np.asarray(probability / (1 - probability))


def by_strength(passages: Sequence[S]) -> list[S]:
    """Return passages in order of their strength; those of equal strength keep their order."""
    order = np.argsort(-_strengths(passages, STRENGTH_WEIGHT), kind="stable")
    return [passages[position] for position in order]


def truncate(passages: Sequence[S], stop: float, weight: float = STRENGTH_WEIGHT) -> list[S]:
    """Return the passages, strongest first, before the first one that is much weaker than the best could be.

    The floor is `stop`, a share of the strength that the best score has at the best relevance; 0 for no end.
    """
    if not stop or not passages:
        return list(passages)
    floor = stop * float(odds_of([max(passage.relevance for passage in passages)])[0]) ** weight
    strengths = zip(passages, _strengths(passages, weight), strict=True)
    return [passage for passage, _ in takewhile(lambda pair: pair[1] >= floor, strengths)]


def _strengths(passages: Sequence[Candidate | Evidence], weight: float) -> Numbers:
    """Return the share of the best score that each passage has times a power of the odds that it is relevant."""
    scores = np.array([passage.score for passage in passages], dtype=np.float64)
    best = float(scores.max(initial=0.0)) or 1.0
    return np.asarray(np.maximum(scores / best, LEAST) * odds_of([passage.relevance for passage in passages]) ** weight)
