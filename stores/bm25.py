"""BM25 over posting lists, for documents that are added and replaced while others are searched.

`rank_bm25.BM25Okapi` reads every document for every term of a query, 200 ms in 10,000 documents; here those alone are
read that contain it. The postings are sorted by term, but for those of the documents that were written last, among
which a term is looked for. The idf is ln(1 + (N - df + 0.5) / (df + 0.5)): it is never negative, and defined for a
corpus of any size.
"""

import copy
import math
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray
from rank_bm25 import BM25Okapi

from langgraph_engram.stores.arrays import AppendOnlyArray

K1 = 1.2
"""k1: how soon repeats of a term stop counting."""
B = 0.75
"""b: how much long documents are held back."""
TERM_BYTES = 200
"""What a term takes: its name, and its number."""
MAX_UNSORTED = 4_096
"""Postings that are not sorted by term, or an eighth of the sorted ones, if that is more."""
Postings = NDArray[np.int32]
"""Rows of (position of the document, number of the term, how often it occurs)."""


def inverse_document_frequency(documents: int, containing: int) -> float:
    """Return the weight of a term that `containing` of `documents` documents contain; above 0."""
    return math.log1p((documents - containing + 0.5) / (containing + 0.5))


class BM25Index(BM25Okapi):  # type: ignore[misc]  # rank-bm25 carries no types
    """One immutable version of a `BM25Okapi`. Many threads may read it; one at a time may make new versions."""

    def __init__(self, documents: Iterable[Sequence[str]] = ()) -> None:
        """Index documents, each the list of its terms."""
        self.k1, self.b = K1, B
        self._terms = _Terms()
        """Those of all versions, which share them."""
        self._postings: AppendOnlyArray[np.int32] = AppendOnlyArray(np.empty((0, 3), dtype=np.int32))
        """Those of each document together; a document that was replaced leaves its own, which count no more."""
        self._spans: AppendOnlyArray[np.int64] = AppendOnlyArray(np.empty((0, 2), dtype=np.int64))
        """Where the postings of each document begin and end."""
        self._sorted = _SortedPostings(self._postings.rows)
        self._lengths: AppendOnlyArray[np.int32] = AppendOnlyArray(np.empty(0, dtype=np.int32))
        self._any_replaced = False
        self._add(documents)

    def __len__(self) -> int:
        return len(self._lengths)

    @property
    def corpus_size(self) -> int:
        """Return the number of documents."""
        return len(self)

    @property
    def avgdl(self) -> float:
        """Return the mean number of terms of a document."""
        return int(self.lengths.sum(dtype=np.int64)) / len(self)

    @property
    def lengths(self) -> NDArray[np.int32]:
        """Return the number of terms of each document, repeats counted, of shape (documents,)."""
        return self._lengths.rows

    @property
    def names(self) -> list[str]:
        """Return the terms, by number; some may be in no document."""
        return self._terms.names

    @property
    def nbytes(self) -> int:
        """Return about how many bytes the index takes."""
        arrays = self._postings.nbytes + self._spans.nbytes + self._lengths.nbytes + self._sorted.nbytes
        return arrays + TERM_BYTES * len(self.names)

    def positions(self, term: str) -> NDArray[np.int32]:
        """Return the positions of the documents that contain a term, ascending."""
        return self._of_term(term)[:, 0]

    def document_frequency(self, term: str) -> int:
        """Return how many documents contain a term."""
        return len(self._of_term(term))

    def terms_at(self, position: int) -> frozenset[str]:
        """Return the terms of the document at a position."""
        return frozenset(self.names[number] for number in self._of_document(position)[:, 1].tolist())

    def contains(self, positions: Sequence[int] | NDArray[np.intp], terms: Sequence[str]) -> NDArray[np.bool_]:
        """Return whether the document at each position contains each term, of shape (positions, terms)."""
        wanted = np.asarray(positions, dtype=np.int32)
        found = np.zeros((len(wanted), len(terms)), dtype=np.bool_)
        for column, term in enumerate(terms):
            containing = self.positions(term)
            if len(containing):
                at = np.minimum(np.searchsorted(containing, wanted), len(containing) - 1)
                found[:, column] = containing[at] == wanted
        return found

    def count_matches(self, terms: Iterable[str]) -> NDArray[np.int32]:
        """Count how many of these distinct terms each document contains, as an array of shape (documents,)."""
        counts = np.zeros(len(self), dtype=np.int32)
        for term in terms:
            counts[self.positions(term)] += 1
        return counts

    def terms_in_more_than(self, documents: float) -> list[str]:
        """Return the terms that more than so many documents contain."""
        containing = np.bincount(self.postings()[:, 1], minlength=1)
        return [self.names[number] for number in np.flatnonzero(containing > documents)]

    def postings(self) -> Postings:
        """Return the postings of all documents, in their order."""
        rows = self._postings.rows
        if not self._any_replaced:
            return rows
        rows = rows[self._is_current(rows, np.arange(len(rows)))]
        return rows[np.argsort(rows[:, 0], kind="stable")]

    @classmethod
    def restored(cls, names: Iterable[str], postings: Postings, documents: int) -> "BM25Index":
        """Return the index of so many documents that had these names and postings."""
        index = cls()
        index._terms = _Terms(names)
        index._set(postings, documents)
        return index

    def extended(self, documents: Iterable[Sequence[str]]) -> "BM25Index":
        """Return an index with documents added at the end; this one stays as it is."""
        after = copy.copy(self)
        after._add(documents)
        return after

    def replaced(self, positions: Sequence[int], documents: Iterable[Sequence[str]]) -> "BM25Index":
        """Return an index with other documents at some positions; the same ones again cost nothing."""
        after = copy.copy(self)
        for position, document in zip(positions, documents, strict=True):
            rows = self._numbered(position, document)
            if sorted(rows) != sorted(self._of_document(position).tolist()):
                after._replace(position, rows, len(document))
        return after

    def get_scores(self, query: Iterable[str]) -> NDArray[np.float64]:
        """Score every document for the terms of `query`; a repeated term counts as often as it is repeated.

        Returns:
            A float64 array of shape (documents,), each score 0 or above.
        """
        scores = np.zeros(len(self))
        lengths, average = self.lengths, self.avgdl if len(self) else 0.0
        for term, repeats in Counter(query).items():
            rows = self._of_term(term)
            if not len(rows):
                continue
            positions, counts = rows.T
            weight = repeats * inverse_document_frequency(len(self), len(positions))
            norm = self.k1 * (1 - self.b + self.b * lengths[positions] / average)
            scores[positions] += weight * (counts * (self.k1 + 1) / (counts + norm))
        return scores

    def get_batch_scores(self, query: Iterable[str], doc_ids: Sequence[int]) -> list[float]:
        """Score the documents at `doc_ids`, in that order."""
        scores: list[float] = self.get_scores(query)[list(doc_ids)].tolist()
        return scores

    def _of_term(self, term: str) -> NDArray[np.int32]:
        """Return rows of (position of the document, how often a term occurs in it), positions ascending."""
        number = self._terms.numbers.get(term, -1)
        rows, first = self._sorted.of_term(number), self._sorted.size
        if self._any_replaced:
            rows = rows[self._spans.rows[rows[:, 0], 0] < first]
        unsorted = self._postings.rows[first:]
        at = np.flatnonzero(unsorted[:, 1] == number)
        if not len(at):
            return rows
        if self._any_replaced:
            at = at[self._is_current(unsorted[at], first + at)]
        rows = np.concatenate([rows, unsorted[at][:, [0, 2]]])
        return rows[np.argsort(rows[:, 0], kind="stable")] if self._any_replaced else rows

    def _is_current(self, rows: Postings, places: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return whether postings, with their places, are those that their documents have now."""
        starts, ends = self._spans.rows[rows[:, 0]].T
        return np.asarray((starts <= places) & (places < ends))

    def _of_document(self, position: int) -> Postings:
        start, end = self._spans.rows[position]
        return self._postings.rows[start:end]

    def _numbered(self, position: int, document: Iterable[str]) -> list[list[int]]:
        return [[position, self._terms.number_of(term), count] for term, count in Counter(document).items()]

    def _add(self, documents: Iterable[Sequence[str]]) -> None:
        rows, lengths, ends = [], [], []
        for position, document in enumerate(documents, start=len(self)):
            rows += self._numbered(position, document)
            lengths.append(len(document))
            ends.append(len(self._postings) + len(rows))
        starts = [len(self._postings), *ends][: len(ends)]
        self._postings = self._postings.extended(_as_postings(rows))
        self._spans = self._spans.extended(np.array([starts, ends], dtype=np.int64).T)
        self._lengths = self._lengths.extended(np.array(lengths, dtype=np.int32))
        self._sort_many()

    def _replace(self, position: int, rows: list[list[int]], length: int) -> None:
        first = len(self._postings)
        self._postings = self._postings.extended(_as_postings(rows))
        self._spans = self._spans.replaced([position], np.array([[first, first + len(rows)]], dtype=np.int64))
        self._lengths = self._lengths.replaced([position], np.array([length], dtype=np.int32))
        self._any_replaced = True
        self._sort_many()

    def _sort_many(self) -> None:
        """Sort the postings by term if too many are not, without those that count no more."""
        if len(self._postings) - self._sorted.size > max(MAX_UNSORTED, self._sorted.size // 8):
            self._set(self.postings(), len(self))

    def _set(self, postings: Postings, documents: int) -> None:
        """Take these postings, in the order of the documents, for all there are."""
        ends = np.cumsum(np.bincount(postings[:, 0], minlength=documents))
        lengths = np.bincount(postings[:, 0], weights=postings[:, 2], minlength=documents)
        self._postings = AppendOnlyArray(postings)
        self._spans = AppendOnlyArray(np.stack([np.concatenate([[0], ends])[:documents], ends], axis=1))
        self._lengths = AppendOnlyArray(lengths.astype(np.int32))
        self._sorted = _SortedPostings(postings)
        self._any_replaced = False


class _SortedPostings:
    """The first postings of an index, sorted by term."""

    def __init__(self, postings: Postings) -> None:
        """Sort postings that are in the order of their documents."""
        numbers = postings[:, 1]
        self.size = len(postings)
        self._rows = postings[np.argsort(numbers, kind="stable")][:, [0, 2]]
        self._starts = np.concatenate([[0], np.cumsum(np.bincount(numbers))])

    @property
    def nbytes(self) -> int:
        """Return how many bytes they take."""
        return self._rows.nbytes + self._starts.nbytes

    def of_term(self, number: int) -> NDArray[np.int32]:
        """Return rows of (position of the document, how often the term occurs in it), positions ascending."""
        start, end = self._starts[number : number + 2] if 0 <= number < len(self._starts) - 1 else (0, 0)
        return self._rows[start:end]


class _Terms:
    """The numbers of terms, and their names."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.names = list(names)
        self.numbers = {name: number for number, name in enumerate(self.names)}

    def number_of(self, term: str) -> int:
        """Return the number of a term; a new one for one that has none."""
        number = self.numbers.get(term)
        if number is None:
            number = len(self.names)
            self.names.append(term)
            self.numbers[term] = number
        return number


def _as_postings(rows: list[list[int]]) -> Postings:
    return np.array(rows, dtype=np.int32).reshape(-1, 3)
