"""Estimate the relevance of passages: the probability that each holds what a query asks for.

A logistic regression over a few features that mean the same in every scope; `training/relevance.py` fits its weights.
Most features compare words and meaning. Where a query names people, what is said about them is kept apart from what is
said about others: "What challenges have you met?", said by Tim, says nothing of Tim, and a passage that better fits
another person is a reason for doubt (docs/decisions/0030).

Relevance orders passages together with their scores, and ends the list (ranked list truncation): the strength of a
passage is its share of the best score times a power of the odds that it is relevant. A list without an end would fill
its budget whatever is asked (docs/decisions/0036 and 0037). Whether anything that was found answers the query at all is
a probability of its own; where it is low, little is shown (docs/decisions/0054).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import takewhile
from math import log1p
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from langgraph_engram.embeddings.base import LONG_TEXT, Vectors
from langgraph_engram.logistic import LogisticModel, Numbers
from langgraph_engram.retrieval.features import Flags
from langgraph_engram.retrieval.grouping import Candidate
from langgraph_engram.retrieval.passages import turns_of_each
from langgraph_engram.retrieval.scoring import Positions, Scores
from langgraph_engram.schema import Intent, Turn
from langgraph_engram.stores.bm25 import inverse_document_frequency
from langgraph_engram.stores.index import KindIndex, ScopeIndex
from langgraph_engram.text.sentences import split_sentences
from langgraph_engram.text.statements import addresses_listener, own_words, speaks_to_listener
from langgraph_engram.text.tokens import content_stems, words

LEAST = 1e-4
"""Share of the best score, and relevance, below which none is told from another; 1 - LEAST is the highest relevance."""
DOUBT = 0.5
"""The power of the odds by which the best passage misses the threshold that raises the floor of all."""
NEAREST = 5
"""Candidates, those of the best scores, of which it counts how near they are because of what is said about others."""
ANSWERED = 0.31
"""The probability that something found answers the query below which little is shown."""
DOUBTFUL_TOKENS = 150
"""Tokens of whole passages that are shown then; the best one in any case."""
WEIGHTS_FILE = "relevance_weights.json"
ANSWERED_FILE = "answered_weights.json"
FEATURES = ("cosine", "own_cosine", "breadth", "own_coverage", "rival_lead", "share")
"""The features of a passage, in the order of the columns; see `Relevance.features`."""
ANSWERED_FEATURES = ("best", "others")
"""The features of a result, in the order of the columns; see `answered_features`."""
MAX_CACHED_TEXTS = 65_536
"""Texts whose sentences are cached in the process."""
PRIOR_TURNS = 20
"""Turns that the prior counts for in statistics of a scope, so that a scope of a few turns gives sound ones."""
PRIOR_COSINE = 0.1
"""The prior of the cosine of a query with a turn about something else."""
MAX_SAMPLED = 1000
"""Turns over which the usual cosine of a query is estimated."""


class Scored(Protocol):
    """What has a score and a relevance: a candidate, or a passage."""

    @property
    def score(self) -> float:
        """Return the score of its ranking."""

    @property
    def relevance(self) -> float:
        """Return the probability that it holds what is asked for."""


S = TypeVar("S", bound=Scored)


@dataclass(frozen=True)
class _Sentence:
    """One sentence of a turn or a record."""

    text: str

    @cached_property
    def stems(self) -> frozenset[str]:
        """Return its content stems."""
        return frozenset(content_stems(self.text))

    @cached_property
    def words(self) -> frozenset[str]:
        """Return its words."""
        return frozenset(words(self.text))

    @cached_property
    def to_listener(self) -> bool:
        """Return whether it is about the listener, and not about the speaker."""
        return speaks_to_listener(self.text)


class _Matches(NamedTuple):
    """How well several things match, by what is about the people asked about ("own") and by what is about others."""

    cosine: Scores
    own_cosine: Scores
    own_coverage: Scores
    rival_coverage: Scores
    held: Flags
    """Which stems of the query each holds, of shape (things, stems)."""


@cache
def load_model() -> LogisticModel:
    """Return the shipped model."""
    return LogisticModel.load(FEATURES, "langgraph_engram.retrieval", WEIGHTS_FILE)


@cache
def load_answered_model() -> LogisticModel:
    """Return the shipped model of whether anything that was found answers a query."""
    return LogisticModel.load(ANSWERED_FEATURES, "langgraph_engram.retrieval", ANSWERED_FILE)


class Relevance:
    """Compare what was found with one query."""

    def __init__(self, index: ScopeIndex, intent: Intent, query: Vectors) -> None:
        """Weight the stems of a query by rarity, without the names of speakers: they are in nearly every turn.

        Args:
            index: What is searched.
            intent: What is asked for.
            query: Its unit vector, of shape (d,).
        """
        self.index = index
        self._kinds: dict[str, KindIndex[Any]] = {
            "record": index.records,
            "turn": index.turns,
            "event": index.events,
            "synthesis": index.syntheses,
        }
        self._vector = query
        self._usual = _usual_cosine(index, query)
        self._people = frozenset(intent.speakers)
        self._names = frozenset(word for name in intent.speakers for word in words(name))
        self.stem_weights = stem_weights(_rarity(index, intent))
        """The weight of each stem of the query; all of them together are 1."""
        self._stems = list(self.stem_weights)
        self._stem_set = frozenset(self.stem_weights)
        self._weights = np.array(list(self.stem_weights.values()), dtype=np.float64)

    def features(self, candidates: Sequence[Candidate]) -> Numbers:
        """Return the features of each candidate, as an array of shape (candidates, len(FEATURES)).

        - `cosine`: of the query with the nearest of the candidate's record and turns.
        - `own_cosine`: the same over what is about the people whom the query names; as `cosine` where it names none.
        - `breadth`: the share of the query's stems, weighted by rarity in the scope, that the candidate and its turns
          hold, times ln(1 + the query's stems): one word of two is less than four of eight.
        - `own_coverage`: that share over the sentences of one turn that are about those people.
        - `rival_lead`: how much more of the query is covered by what a turn of any candidate says about others.
        - `share`: of the best candidate's score.
        """
        if not candidates:
            return np.zeros((0, len(FEATURES)))
        itself = self._compared_items(candidates)
        owners, cited = turns_of_each(self.index, candidates)
        turns, rows = np.unique(cited, return_inverse=True)
        of_turns = self._compared_turns(turns)
        for whole, part in zip(itself, of_turns, strict=True):
            highest = np.logical_or if whole.dtype == np.bool_ else np.maximum
            highest.at(whole, owners, part[rows])
        scores = np.array([candidate.score for candidate in candidates])
        best = scores.max()
        return np.column_stack(
            [
                itself.cosine,
                itself.own_cosine,
                itself.held @ self._weights * log1p(len(self._stems)),
                itself.own_coverage,
                np.maximum(0.0, itself.rival_coverage.max() - itself.own_coverage),
                np.maximum(0.0, scores / best) if best > 0 else np.zeros(len(scores)),
            ]
        )

    def _compared_items(self, candidates: Sequence[Candidate]) -> _Matches:
        """Compare records and syntheses; of a turn or an event it counts here what its words hold."""
        matches = self._unlike(len(candidates))
        rows_of: dict[str, list[int]] = {}
        for row, candidate in enumerate(candidates):
            rows_of.setdefault(candidate.kind, []).append(row)
        for kind, rows in rows_of.items():
            items = self._kinds[kind]
            positions = [candidates[row].position for row in rows]
            matches.held[rows] = holds = items.lexical.contains(positions, self._stems)
            if kind in ("record", "synthesis"):
                matches.cosine[rows] = self._nearness(items, positions)
            if kind == "synthesis":
                matches.own_cosine[rows] = matches.cosine[rows]
            if kind == "record":
                about, covered = self._about_people(positions), holds @ self._weights
                matches.own_cosine[rows] = np.where(about, matches.cosine[rows], 0.0)
                matches.own_coverage[rows] = np.where(about, covered, 0.0)
                matches.rival_coverage[rows] = np.where(about, 0.0, covered)
                joined = [(row, position) for row in rows for position in candidates[row].joined]
                owners, others = [row for row, _ in joined], [position for _, position in joined]
                np.logical_or.at(matches.held, owners, items.lexical.contains(others, self._stems))
        return matches

    def _about_people(self, positions: Sequence[int]) -> Flags:
        """Return which records are about the people asked about; all where none are named."""
        if not self._people:
            return np.ones(len(positions), dtype=np.bool_)
        records = (self.index.records.items[position] for position in positions)
        return np.array(
            [self._is_about(_said_in(record.content, record.speaker), record.speaker) for record in records]
        )

    def _compared_turns(self, positions: Positions) -> _Matches:
        """Compare turns; what an assistant says about others is no rival of what a person says.

        The terms that a turn was indexed by tell what it holds, unless its sentences may be about different people. A
        long turn counts for nothing: it covers any query, and its record holds what was found.
        """
        matches = self._unlike(len(positions))
        if not len(positions):
            return matches
        turns = self.index.turns
        matches.cosine[:] = self._nearness(turns, positions)
        own = turns.lexical.contains(positions, self._stems)
        own[turns.characters[positions] >= LONG_TEXT] = False
        others = np.zeros_like(own)
        for row in np.flatnonzero(self._may_differ(positions) & own.any(axis=1)).tolist():
            own[row], others[row] = self._held_by_sentences(turns.items[positions[row]])
        matches.held[:] = own | others
        matches.own_coverage[:] = own @ self._weights
        matches.rival_coverage[:] = others @ self._weights
        matches.own_cosine[:] = np.where(matches.own_coverage >= matches.rival_coverage, matches.cosine, 0.0)
        matches.rival_coverage[~turns.from_user[positions]] = 0.0
        return matches

    def _may_differ(self, positions: Positions) -> Flags:
        """Return whether sentences of turns may be about different people, or only their speakers' names match."""
        turns = self.index.turns
        speakers = turns.speaker[positions]
        differ = np.isin(speakers, self._matching_speakers)
        if self._people:
            to_listener = turns.column("to_listener", lambda turn: addresses_listener(turn.indexed_text), np.bool_)
            asked = [turns.code("speaker", name) for name in self._people]
            differ |= ~np.isin(speakers, asked) | to_listener[positions]
        return differ

    @cached_property
    def _matching_speakers(self) -> list[int]:
        """Return the codes of the speakers whose names match the query."""
        turns = self.index.turns
        named = [name for name in turns.speakers if not self._stem_set.isdisjoint(content_stems(name))]
        return [turns.code("speaker", name) for name in named]

    def _held_by_sentences(self, turn: Turn) -> tuple[list[bool], list[bool]]:
        """Return which stems sentences of a turn hold about the people asked about, and which about others."""
        own: set[str] = set()
        others: set[str] = set()
        for sentence in (*_split(turn.text), *map(_Sentence, turn.captions)):
            if holds := self._stem_set & sentence.stems:
                (own if self._is_about(sentence, turn.speaker) else others).update(holds)
        return [stem in own for stem in self._stems], [stem in others for stem in self._stems]

    def _unlike(self, number: int) -> _Matches:
        """Return what matches nothing, so many times."""
        cosine, own_cosine, own_coverage, rival_coverage = np.zeros((4, number), dtype=np.float32)
        held = np.zeros((number, len(self._stems)), dtype=np.bool_)
        return _Matches(cosine, own_cosine, own_coverage, rival_coverage, held)

    def _nearness(self, items: KindIndex[Any], positions: Sequence[int] | Positions) -> Scores:
        """Return how far cosines with items are above the usual one: 0 for any turn, 1 for an equal vector."""
        cosines = items.cosine_of(np.asarray(positions), self._vector)
        return np.asarray(np.maximum(0.0, (cosines - self._usual) / (1 - self._usual)))

    def _is_about(self, sentence: _Sentence, speaker: str) -> bool:
        """Return whether a sentence is about the people asked about; always where none are named."""
        if not self._people or not self._names.isdisjoint(sentence.words):
            return True
        return (speaker in self._people) != sentence.to_listener


def with_relevance(candidates: Sequence[Candidate], features: Numbers) -> list[Candidate]:
    """Return candidates with their relevance filled in.

    Args:
        candidates: What was found.
        features: The features of each, as `Relevance.features` returns them.
    """
    estimates = load_model().probability(features).tolist()
    return [candidate._replace(relevance=estimate) for candidate, estimate in zip(candidates, estimates, strict=True)]


def is_answered(features: Numbers, candidates: Sequence[Candidate]) -> bool:
    """Return whether a result may answer the query; an empty one leaves no doubt.

    Args:
        features: The features of all that was found.
        candidates: All that was found, with its relevance.
    """
    if not candidates:
        return True
    row = answered_features(features, [candidate.relevance for candidate in candidates])
    return float(load_answered_model().probability(row[np.newaxis])[0]) >= ANSWERED


def answered_features(features: Numbers, relevance: Sequence[float] | Numbers) -> Numbers:
    """Return what tells whether a result answers its query, as an array of shape (len(ANSWERED_FEATURES),).

    - `best`: the log-odds of the highest relevance.
    - `others`: how much nearer the candidates of the best scores are to the query than what they say about the people
      whom it names, in the mean: near to 0 where they are about these people, or where it names nobody.

    Args:
        features: Of candidates, at least those of the best scores.
        relevance: Of all candidates.
    """
    cosine, own_cosine, share = (features[:, FEATURES.index(name)] for name in ("cosine", "own_cosine", "share"))
    first = np.argsort(-share, kind="stable")[:NEAREST]
    return np.array([np.log(_odds([max(relevance)])[0]), float((cosine - own_cosine)[first].mean())])


def stem_weights(rarity: Mapping[str, float]) -> dict[str, float]:
    """Return the share of each stem in the rarity of all; none for a query without any."""
    whole = sum(rarity.values())
    return {stem: value / whole for stem, value in rarity.items()}


def _rarity(index: ScopeIndex, intent: Intent) -> dict[str, float]:
    people = {stem for name in intent.speakers for stem in content_stems(name)}
    lexical = index.turns.lexical
    return {
        stem: inverse_document_frequency(len(lexical) + PRIOR_TURNS, lexical.document_frequency(stem))
        for stem in content_stems(intent.anchor)
        if stem not in people
    }


def _usual_cosine(index: ScopeIndex, vector: Vectors) -> float:
    sample = index.turns.cosine_of(slice(None, None, 1 + len(index.turns) // MAX_SAMPLED), vector)
    total = float(sample.sum())
    return min(0.99, max(0.0, (total + PRIOR_TURNS * PRIOR_COSINE) / (len(sample) + PRIOR_TURNS)))


@lru_cache(maxsize=MAX_CACHED_TEXTS)
def _split(text: str) -> tuple[_Sentence, ...]:
    return tuple(map(_Sentence, split_sentences(text)))


@lru_cache(maxsize=MAX_CACHED_TEXTS)
def _said_in(content: str, speaker: str) -> _Sentence:
    return _Sentence(own_words(content, speaker))


def by_strength(passages: Sequence[S], weight: float) -> list[S]:
    """Return passages in order of their strength; those of equal strength keep their order.

    Args:
        passages: Passages with their relevance.
        weight: The power of the odds; 0 to keep the order, since the papers' fusions order by more than scores.
    """
    if not weight:
        return list(passages)
    order = np.argsort(-_strengths(passages, weight), kind="stable")
    return [passages[position] for position in order]


def truncate(passages: Sequence[S], weight: float, stop: float, threshold: float) -> list[S]:
    """Return the passages before the first one that is much weaker than the best could be.

    The floor rises where even the best passage is not relevant, so that a query that nothing answers finds little.

    Args:
        passages: Passages with their relevance, strongest first.
        weight: The power of the odds in their strength.
        stop: The floor, as a share of the strength that the best score has at the best relevance; 0 for no end.
        threshold: The relevance from which the best passage counts as found.
    """
    if not stop or not passages:
        return list(passages)
    best = float(_odds([max(passage.relevance for passage in passages)])[0])
    missed = max(1.0, float(_odds([threshold])[0]) / best)
    floor = stop * best**weight * missed**DOUBT
    held = zip(passages, _strengths(passages, weight) >= floor, strict=True)
    return [passage for passage, _ in takewhile(lambda pair: pair[1], held)]


def _strengths(passages: Sequence[Scored], weight: float) -> Numbers:
    scores = np.array([passage.score for passage in passages], dtype=np.float64)
    best = float(scores.max(initial=0.0)) or 1.0
    return np.asarray(np.maximum(scores / best, LEAST) * _odds([passage.relevance for passage in passages]) ** weight)


def _odds(relevance: Sequence[float]) -> Numbers:
    probability = np.clip(np.array(relevance, dtype=np.float64), LEAST, 1 - LEAST)
    return np.asarray(probability / (1 - probability))
