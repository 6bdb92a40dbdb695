"""Score documents by BM25 over posting lists, growing as documents are added or replaced.

It is `rank_bm25.BM25Okapi` with the same formula, but it reads the postings of the query's terms and no other document,
and its idf is ln(1 + (N - df + 0.5) / (df + 0.5)): never negative, and defined for a corpus of any size. This module
does not know where terms come from.
"""

import copy
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray
from rank_bm25 import BM25Okapi

from langgraph_engram.stores.arrays import AppendOnlyArray

K1 = 1.2
"""k1, how soon repeats of a term stop counting."""
B = 0.75
"""b, how much long documents are held back."""


def inverse_document_frequency(documents: int, containing: int) -> float:
    """Weigh a term by how rare it is: ln(1 + (N - df + 0.5) / (df + 0.5)), above 0."""
    return math.log1p((documents - containing + 0.5) / (containing + 0.5))


class BM25Index(BM25Okapi):  # type: ignore[misc]  # rank-bm25 carries no types
    """Documents as posting lists. Read it from any thread; let one thread at a time change it, or change a fork."""

    corpus_size: int
    avgdl: float
    doc_freqs: list[Counter[str]]

    def __init__(self, documents: Iterable[Sequence[str]] = ()) -> None:
        """Index documents, each the list of its terms."""
        self._postings: dict[str, AppendOnlyArray[np.int32]] = {}
        self._lengths = AppendOnlyArray(np.empty(0, dtype=np.int32))
        self._total = 0
        super().__init__([], k1=K1, b=B)
        self.extend(documents)

    def _initialize(self, corpus: Sequence[Sequence[str]]) -> dict[str, int]:
        """Start empty: the library divides by the number of documents here."""
        assert not corpus
        return {}

    def _calc_idf(self, nd: dict[str, int]) -> None:
        """Compute nothing ahead: idf changes with each document, so that it is worked out for a query's terms."""

    def __len__(self) -> int:
        return self.corpus_size

    @property
    def lengths(self) -> NDArray[np.int32]:
        """Give the number of terms of each document, repeats counted, as an array of shape (documents,)."""
        return self._lengths.rows

    def holders(self, term: str) -> NDArray[np.int32]:
        """Give the positions of the documents that hold a term, in order."""
        held = self._postings.get(term)
        return held.rows[:, 0] if held else np.empty(0, dtype=np.int32)

    def count_held(self, terms: Iterable[str]) -> NDArray[np.int32]:
        """Count how many of these distinct terms each document holds, as an array of shape (documents,)."""
        counts = np.zeros(self.corpus_size, dtype=np.int32)
        for term in terms:
            counts[self.holders(term)] += 1
        return counts

    def held_by_more_than(self, documents: float) -> list[str]:
        """Give the terms that more than so many documents hold."""
        return [term for term, held in self._postings.items() if len(held) > documents]

    def fork(self) -> "BM25Index":
        """Give a copy that may change while this one is read. It shares what has not changed."""
        fork = copy.copy(self)
        fork.doc_freqs, fork._postings = list(self.doc_freqs), dict(self._postings)
        return fork

    def extend(self, documents: Iterable[Sequence[str]]) -> None:
        """Add documents at the end."""
        added = [Counter(document) for document in documents]
        if not added:
            return
        fresh: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        for position, counts in enumerate(added, start=self.corpus_size):
            for term, count in counts.items():
                fresh[term].append((position, count))
        for term, rows in fresh.items():
            self._extend_posting(term, np.array(rows, dtype=np.int32))
        self._lengths = self._lengths.extended(np.array([counts.total() for counts in added], dtype=np.int32))
        self.doc_freqs += added
        self._resize(sum(counts.total() for counts in added))

    def replace(self, position: int, document: Sequence[str]) -> None:
        """Put another document at `position`. The same terms again cost nothing."""
        old, new = self.doc_freqs[position], Counter(document)
        if old == new:
            return
        for term in old | new:
            if old[term] != new[term]:
                self._set_posting(term, position, new[term])
        self._lengths = self._lengths.replaced([position], np.array([new.total()], dtype=np.int32))
        self.doc_freqs[position] = new
        self._resize(new.total() - old.total())

    def get_scores(self, query: Iterable[str]) -> NDArray[np.float64]:
        """Score every document for the terms of `query`; a repeated term counts as often as it stands there.

        Returns:
            A float64 array of shape (documents,), each score 0 or above.
        """
        scores = np.zeros(self.corpus_size)
        lengths = self._lengths.rows
        for term, repeats in Counter(query).items():
            if term not in self._postings:
                continue
            positions, counts = self._postings[term].rows.T
            weight = repeats * inverse_document_frequency(self.corpus_size, len(positions))
            norm = self.k1 * (1 - self.b + self.b * lengths[positions] / self.avgdl)
            scores[positions] += weight * (counts * (self.k1 + 1) / (counts + norm))
        return scores

    def get_batch_scores(self, query: Iterable[str], doc_ids: Sequence[int]) -> list[float]:
        """Score the documents at `doc_ids`, in that order."""
        scores: list[float] = self.get_scores(query)[list(doc_ids)].tolist()
        return scores

    def _extend_posting(self, term: str, rows: NDArray[np.int32]) -> None:
        held = self._postings.get(term)
        self._postings[term] = held.extended(rows) if held else AppendOnlyArray(rows)

    def _set_posting(self, term: str, position: int, count: int) -> None:
        held = self._postings.pop(term, None)
        rows = held.rows[held.rows[:, 0] != position] if held else np.empty((0, 2), dtype=np.int32)
        if count:
            place = int(np.searchsorted(rows[:, 0], position))
            rows = np.insert(rows, place, (position, count), axis=0)
        if len(rows):
            self._postings[term] = AppendOnlyArray(rows)

    def _resize(self, growth: int) -> None:
        self._total += growth
        self.corpus_size = len(self.doc_freqs)
        self.avgdl = self._total / self.corpus_size
