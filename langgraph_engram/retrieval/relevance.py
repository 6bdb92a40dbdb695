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

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import takewhile
from math import log1p
from typing import Any

import numpy as np

from langgraph_engram.embeddings.base import LONG_TEXT, Vectors
from langgraph_engram.logistic import LogisticModel, Numbers
from langgraph_engram.retrieval.scoring import Scores
from langgraph_engram.schema import Evidence, Intent, Record, Turn
from langgraph_engram.stores.bm25 import inverse_document_frequency
from langgraph_engram.stores.index import KindIndex, ScopeIndex
from langgraph_engram.text.sentences import split_sentences
from langgraph_engram.text.statements import addresses_listener, own_words, speaks_to_listener
from langgraph_engram.text.tokens import content_stems, words

LEAST = 1e-4
"""Share of the best score, and relevance, below which none is told from another; 1 - LEAST is the highest relevance."""
DOUBT = 0.5
"""The power of the odds by which the best passage misses the threshold that raises the floor of all."""
COMPARED = 5
"""Passages, those of the best scores, of which it counts how near they are because of what is said about others."""
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


@dataclass(frozen=True)
class _Sentence:
    """One sentence of a turn or a record."""

    text: str
    stems: frozenset[str]

    @cached_property
    def words(self) -> frozenset[str]:
        """Return its words."""
        return frozenset(words(self.text))

    @cached_property
    def to_listener(self) -> bool:
        """Return whether it is about the listener, and not about the speaker."""
        return speaks_to_listener(self.text)


@dataclass(frozen=True)
class _Match:
    """How well something matches, by what is about the people asked about ("own") and by what is about others."""

    cosine: float = 0.0
    own_cosine: float = 0.0
    own_coverage: float = 0.0
    rival_coverage: float = 0.0
    held: frozenset[str] = frozenset()
    """The stems of the query that it holds."""


@cache
def load_model() -> LogisticModel:
    """Return the shipped model."""
    return LogisticModel.load(FEATURES, "langgraph_engram.retrieval", WEIGHTS_FILE)


@cache
def load_answered_model() -> LogisticModel:
    """Return the shipped model of whether anything that was found answers a query."""
    return LogisticModel.load(ANSWERED_FEATURES, "langgraph_engram.retrieval", ANSWERED_FILE)


class Relevance:
    """Compare passages with one query; what stands in several passages is compared once."""

    def __init__(self, index: ScopeIndex, intent: Intent, query: Vectors) -> None:
        """Weight the stems of a query by rarity, without the names of speakers: they are in nearly every turn.

        Args:
            index: What is searched.
            intent: What is asked for.
            query: Its unit vector, of shape (d,).
        """
        self._index = index
        self._vector = query
        self._usual = _usual_cosine(index, query)
        self._people = frozenset(intent.speakers)
        self._names = frozenset(word for name in intent.speakers for word in words(name))
        self._weights = stem_weights(_rarity(index, intent))
        self._stems = frozenset(self._weights)
        self._turn_matches: dict[str, _Match] = {}

    def estimated(self, passages: Sequence[Evidence]) -> list[Evidence]:
        """Return the passages of a result, best first, with their relevance filled in."""
        estimates = load_model().probability(self.features(passages))
        return [
            passage.model_copy(update={"relevance": float(estimate)})
            for passage, estimate in zip(passages, estimates, strict=True)
        ]

    def is_answered(self, passages: Sequence[Evidence]) -> bool:
        """Return whether a result may answer the query; an empty one leaves no doubt.

        Args:
            passages: All that was found, with their relevance.
        """
        if not passages:
            return True
        first = sorted(passages, key=lambda passage: -passage.score)[:COMPARED]
        row = answered_features(self.features(first), [passage.relevance for passage in passages])
        return float(load_answered_model().probability(row[np.newaxis])[0]) >= ANSWERED

    def features(self, passages: Sequence[Evidence]) -> Numbers:
        """Return the features of each passage, as an array of shape (passages, len(FEATURES)).

        - `cosine`: of the query with the nearest of the passage's record and turns.
        - `own_cosine`: the same over what is about the people whom the query names; as `cosine` where it names none.
        - `breadth`: the share of the query's stems, weighted by rarity in the scope, that the passage and its turns
          hold, times ln(1 + the query's stems): one word of two is less than four of eight.
        - `own_coverage`: that share over the sentences of one turn that are about those people.
        - `rival_lead`: how much more of the query is covered by what a turn of any passage says about others.
        - `share`: of the best passage's score.
        """
        matches = [self._match(passage) for passage in passages]
        rival = max((match.rival_coverage for match in matches), default=0.0)
        best = max((passage.score for passage in passages), default=0.0)
        rows = [
            (
                match.cosine,
                match.own_cosine,
                self._covered(match.held) * log1p(len(self._weights)),
                match.own_coverage,
                max(0.0, rival - match.own_coverage),
                max(0.0, passage.score / best) if best > 0 else 0.0,
            )
            for match, passage in zip(matches, passages, strict=True)
        ]
        return np.array(rows, dtype=np.float64).reshape(-1, len(FEATURES))

    def _match(self, passage: Evidence) -> _Match:
        parts = [self._turn_match(turn) for turn in passage.turns]
        if passage.record:
            parts.append(self._record_match(passage.record))
        held = self._stems.intersection(content_stems(passage.text)).union(*(part.held for part in parts))
        if passage.synthesis_id:
            cosine = self._nearness(self._index.syntheses, passage.synthesis_id)
            return _Match(cosine, cosine, self._covered(held), 0.0, held)
        return _Match(
            cosine=max((part.cosine for part in parts), default=0.0),
            own_cosine=max((part.own_cosine for part in parts), default=0.0),
            own_coverage=max((part.own_coverage for part in parts), default=0.0),
            rival_coverage=max((part.rival_coverage for part in parts), default=0.0),
            held=held,
        )

    def _turn_match(self, turn: Turn) -> _Match:
        match = self._turn_matches.get(turn.turn_id)
        if match is None:
            self._turn_matches[turn.turn_id] = match = self._compared(turn)
        return match

    def _compared(self, turn: Turn) -> _Match:
        """Compare a turn; what an assistant says about others is no rival of what a person says."""
        own, others = self._held_by(turn)
        covered, rival = self._covered(own), self._covered(others)
        cosine = self._nearness(self._index.turns, turn.turn_id)
        return _Match(
            cosine=cosine,
            own_cosine=cosine if covered >= rival else 0.0,
            own_coverage=covered,
            rival_coverage=rival if turn.role == "user" else 0.0,
            held=frozenset(own | others),
        )

    def _held_by(self, turn: Turn) -> tuple[set[str], set[str]]:
        """Return the stems of the query that sentences of a turn hold about the people asked about, and about others.

        The terms that the turn was indexed by tell it, unless its sentences may be about different people. A long turn
        counts for nothing: it covers any query, and its record holds what was found.
        """
        terms = self._index.turns.lexical.terms_at(self._index.turns.position(turn.turn_id))
        held = {stem for stem in self._stems if stem in terms}
        own: set[str] = set()
        others: set[str] = set()
        if not held or len(turn.text) >= LONG_TEXT:
            return own, others
        is_own = not self._people or (turn.speaker in self._people and not addresses_listener(turn.indexed_text))
        if is_own and held.isdisjoint(content_stems(turn.speaker)):
            return held, others
        for sentence in _sentences(turn):
            if holds := self._stems & sentence.stems:
                (own if self._is_about(sentence, turn.speaker) else others).update(holds)
        return own, others

    def _record_match(self, record: Record) -> _Match:
        """Compare a record, whose stems are those of its passage."""
        sentence = _sentence(own_words(record.content, record.speaker))
        covered = self._covered(sentence.stems)
        cosine = self._nearness(self._index.records, record.record_id)
        if self._is_about(sentence, record.speaker):
            return _Match(cosine, cosine, covered, 0.0)
        return _Match(cosine, 0.0, 0.0, covered)

    def _nearness(self, items: KindIndex[Any], item_id: str) -> float:
        """Return how far the cosine with an item is above the usual one: 0 for any turn, 1 for an equal vector."""
        cosine = float(items.vectors[items.position(item_id)] @ self._vector)
        return max(0.0, (cosine - self._usual) / (1 - self._usual))

    def _covered(self, stems: Collection[str]) -> float:
        return covered_share(self._weights, stems)

    def _is_about(self, sentence: _Sentence, speaker: str) -> bool:
        """Return whether a sentence is about the people asked about; always where none are named."""
        if not self._people or not self._names.isdisjoint(sentence.words):
            return True
        return (speaker in self._people) != sentence.to_listener


def answered_features(features: Numbers, relevance: Sequence[float] | Numbers) -> Numbers:
    """Return what tells whether a result answers its query, as an array of shape (len(ANSWERED_FEATURES),).

    - `best`: the log-odds of the highest relevance.
    - `others`: how much nearer the passages of the best scores are to the query than what they say about the people
      whom it names, in the mean: near to 0 where they are about these people, or where it names nobody.

    Args:
        features: Of passages, at least those of the best scores.
        relevance: Of all passages.
    """
    cosine, own_cosine, share = (features[:, FEATURES.index(name)] for name in ("cosine", "own_cosine", "share"))
    first = np.argsort(-share, kind="stable")[:COMPARED]
    return np.array([np.log(_odds([max(relevance)])[0]), float((cosine - own_cosine)[first].mean())])


def stem_weights(rarity: Mapping[str, float]) -> dict[str, float]:
    """Return the share of each stem in the rarity of all; none for a query without any."""
    whole = sum(rarity.values())
    return {stem: value / whole for stem, value in rarity.items()}


def covered_share(weights: Mapping[str, float], stems: Collection[str]) -> float:
    """Return the share of a query that a text holds: the sum of the weights of the query's stems among its own."""
    return sum(weight for stem, weight in weights.items() if stem in stems)


def _rarity(index: ScopeIndex, intent: Intent) -> dict[str, float]:
    people = {stem for name in intent.speakers for stem in content_stems(name)}
    lexical = index.turns.lexical
    return {
        stem: inverse_document_frequency(len(lexical) + PRIOR_TURNS, len(lexical.positions(stem)))
        for stem in content_stems(intent.anchor)
        if stem not in people
    }


def _usual_cosine(index: ScopeIndex, vector: Vectors) -> float:
    sample = index.turns.vectors[:: 1 + len(index.turns) // MAX_SAMPLED]
    total = float(np.einsum("nd,d->", sample, vector)) if len(sample) else 0.0
    return min(0.99, max(0.0, (total + PRIOR_TURNS * PRIOR_COSINE) / (len(sample) + PRIOR_TURNS)))


def _sentences(turn: Turn) -> tuple[_Sentence, ...]:
    return (*_split(turn.text), *map(_sentence, turn.captions))


@lru_cache(maxsize=MAX_CACHED_TEXTS)
def _split(text: str) -> tuple[_Sentence, ...]:
    return tuple(map(_sentence, split_sentences(text)))


@lru_cache(maxsize=MAX_CACHED_TEXTS)
def _sentence(text: str) -> _Sentence:
    return _Sentence(text, frozenset(content_stems(text)))


def by_strength(passages: Sequence[Evidence], weight: float) -> list[Evidence]:
    """Return passages in order of their strength; those of equal strength keep their order.

    Args:
        passages: Passages with their relevance.
        weight: The power of the odds; 0 to keep the order, since the papers' fusions order by more than scores.
    """
    if not weight:
        return list(passages)
    order = np.argsort(-_strengths(passages, weight), kind="stable")
    return [passages[position] for position in order]


def truncate(passages: Sequence[Evidence], weight: float, stop: float, threshold: float) -> list[Evidence]:
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


def _strengths(passages: Sequence[Evidence], weight: float) -> Scores:
    scores = np.array([passage.score for passage in passages], dtype=np.float64)
    best = float(scores.max(initial=0.0)) or 1.0
    return np.asarray(np.maximum(scores / best, LEAST) * _odds([passage.relevance for passage in passages]) ** weight)


def _odds(relevance: Sequence[float]) -> Scores:
    probability = np.clip(np.array(relevance, dtype=np.float64), LEAST, 1 - LEAST)
    return np.asarray(probability / (1 - probability))
