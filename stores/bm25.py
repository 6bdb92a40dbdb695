"""BM25 over posting lists, for documents that are added and replaced while others are searched.

`rank_bm25.BM25Okapi` counts the terms and defines the formula, but its `get_scores` reads every document for every
term. Here a query reads only the documents that contain its terms. The idf is ln(1 + (N - df + 0.5) / (df + 0.5)): it
is never negative, and defined for a corpus of any size.
"""

import copy
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rank_bm25 import BM25Okapi

from langgraph_engram.stores.arrays import AppendOnlyArray

K1 = 1.2
"""k1: how soon repeats of a term stop counting."""
B = 0.75
"""b: how much long documents are held back."""


def inverse_document_frequency(documents: int, containing: int) -> float:
    """Return the weight of a term that `containing` of `documents` documents contain; above 0."""
    return math.log1p((documents - containing + 0.5) / (containing + 0.5))


class BM25Index(BM25Okapi):  # type: ignore[misc]  # rank-bm25 carries no types
    """A `BM25Okapi` that can grow. Many threads may read it; one at a time may change it, or change a fork of it."""

    corpus_size: int
    avgdl: float
    doc_freqs: list[dict[str, int]]
    doc_len: list[int]

    def __init__(self, documents: Iterable[Sequence[str]] = ()) -> None:
        """Index documents, each the list of its terms."""
        self._postings: dict[str, AppendOnlyArray[np.int32]] = {}
        """Rows of (position, count) by term, positions ascending."""
        self._lengths = AppendOnlyArray(np.empty(0, dtype=np.int32))
        super().__init__(list(documents), k1=K1, b=B)

    def __len__(self) -> int:
        return self.corpus_size

    @property
    def lengths(self) -> NDArray[np.int32]:
        """Return the number of terms of each document, repeats counted, of shape (documents,)."""
        return self._lengths.rows

    def positions(self, term: str) -> NDArray[np.int32]:
        """Return the positions of the documents that contain a term, ascending."""
        postings = self._postings.get(term)
        return postings.rows[:, 0] if postings else np.empty(0, dtype=np.int32)

    def count_matches(self, terms: Iterable[str]) -> NDArray[np.int32]:
        """Count how many of these distinct terms each document contains, as an array of shape (documents,)."""
        counts = np.zeros(self.corpus_size, dtype=np.int32)
        for term in terms:
            counts[self.positions(term)] += 1
        return counts

    def terms_in_more_than(self, documents: float) -> list[str]:
        """Return the terms that more than so many documents contain."""
        return [term for term, postings in self._postings.items() if len(postings) > documents]

    def state(self) -> tuple[list[str], dict[str, NDArray[Any]]]:
        """Return the terms and the arrays that `restored` makes this index from."""
        postings = [self._postings[term].rows for term in self._postings]
        empty = np.empty((0, 2), dtype=np.int32)
        sizes = np.array([len(rows) for rows in postings], dtype=np.int32)
        arrays = {"postings": np.concatenate([empty, *postings]), "sizes": sizes, "lengths": self.lengths}
        return list(self._postings), {f"lexical.{name}": array for name, array in arrays.items()}

    @classmethod
    def restored(cls, terms: Sequence[str], arrays: Mapping[str, NDArray[np.int32]]) -> "BM25Index":
        """Return the index that had this state."""
        index = cls()
        index._lengths = AppendOnlyArray(arrays["lexical.lengths"])
        rows = np.split(arrays["lexical.postings"], np.cumsum(arrays["lexical.sizes"])[:-1]) if len(terms) else []
        index._postings = {term: AppendOnlyArray(own) for term, own in zip(terms, rows, strict=True)}
        index.corpus_size = len(index._lengths)
        index.doc_len = index.lengths.tolist()
        index.doc_freqs = _counts_of(index._postings, index.corpus_size)
        if index.corpus_size:
            index._update_average()
        return index

    def fork(self) -> "BM25Index":
        """Return a copy that may change while this one is read. It shares what has not changed."""
        fork = copy.copy(self)
        fork.doc_freqs, fork.doc_len = list(self.doc_freqs), list(self.doc_len)
        fork._postings = dict(self._postings)
        return fork

    def extended(self, documents: Iterable[Sequence[str]]) -> "BM25Index":
        """Return an index with documents added at the end; this one stays as it is."""
        fork = self.fork()
        fork.extend(documents)
        return fork

    def replaced(self, positions: Iterable[int], documents: Iterable[Sequence[str]]) -> "BM25Index":
        """Return an index with other documents at `positions`; this one stays as it is."""
        fork = self.fork()
        for position, document in zip(positions, documents, strict=True):
            fork.replace(position, document)
        return fork

    def extend(self, documents: Iterable[Sequence[str]]) -> None:
        """Add documents at the end."""
        self._initialize(list(documents))

    def replace(self, position: int, document: Sequence[str]) -> None:
        """Replace the document at `position`. The same terms again cost nothing."""
        old, new = self.doc_freqs[position], Counter(document)
        if old == new:
            return
        for term in old.keys() | new.keys():
            if old.get(term) != new[term]:
                self._set_posting(term, position, new[term])
        self.doc_freqs[position], self.doc_len[position] = new, len(document)
        self._lengths = self._lengths.replaced([position], np.array([len(document)], dtype=np.int32))
        self._update_average()

    def get_scores(self, query: Iterable[str]) -> NDArray[np.float64]:
        """Score every document for the terms of `query`; a repeated term counts as often as it is repeated.

        Returns:
            A float64 array of shape (documents,), each score 0 or above.
        """
        scores = np.zeros(self.corpus_size)
        lengths = self.lengths
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

    def _initialize(self, corpus: Sequence[Sequence[str]]) -> dict[str, int]:
        """Let the library count the documents behind those it has, and add them to the posting lists."""
        if not corpus:  # the library would divide by zero
            return {}
        first = self.corpus_size
        containing: dict[str, int] = super()._initialize(corpus)
        rows: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        for position, counts in enumerate(self.doc_freqs[first:], start=first):
            for term, count in counts.items():
                rows[term].append((position, count))
        for term, new in rows.items():
            block, postings = np.array(new, dtype=np.int32), self._postings.get(term)
            self._postings[term] = postings.extended(block) if postings else AppendOnlyArray(block)
        self._lengths = self._lengths.extended(np.array(self.doc_len[first:], dtype=np.int32))
        self._update_average()
        return containing

    def _calc_idf(self, nd: dict[str, int]) -> None:
        """Compute nothing ahead: every new document changes every idf, so a query computes those of its terms."""

    def _set_posting(self, term: str, position: int, count: int) -> None:
        postings = self._postings.pop(term, None)
        rows = postings.rows[postings.rows[:, 0] != position] if postings else np.empty((0, 2), dtype=np.int32)
        if count:
            rows = np.insert(rows, int(np.searchsorted(rows[:, 0], position)), (position, count), axis=0)
        if len(rows):
            self._postings[term] = AppendOnlyArray(rows)

    def _update_average(self) -> None:
        self.avgdl = int(self.lengths.sum(dtype=np.int64)) / self.corpus_size


def _counts_of(postings: Mapping[str, AppendOnlyArray[np.int32]], documents: int) -> list[dict[str, int]]:
    """Return how often each document has each of its terms."""
    counts: list[dict[str, int]] = [{} for _ in range(documents)]
    for term, rows in postings.items():
        for position, count in rows.rows.tolist():
            counts[position][term] = count
    return counts
