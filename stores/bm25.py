"""BM25 over posting lists, for documents that are added and replaced while others are searched.

`rank_bm25.BM25Okapi` reads every document for every term of a query, 200 ms in 10,000 documents; here those alone are
read that contain it. The postings are sorted by term, but for those of the documents that were written last, among
which a term is looked for. The idf is ln(1 + (N - df + 0.5) / (df + 0.5)): it is never negative, and defined for a
corpus of any size.
"""

import copy
import math
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rank_bm25 import BM25Okapi

K1 = 1.2
"""k1: how soon repeats of a term stop counting."""
B = 0.75
"""b: how much long documents are held back."""
TERM_BYTES = 200
"""What a term takes: its name, and its number."""
MAX_UNSORTED = 4_096
"""Postings that are not sorted by term, or an eighth of the sorted ones, if that is more."""
Postings = NDArray[np.int32]
"""Rows of (position of the document, number of the term, how often it occurs), in the order of the documents."""


def inverse_document_frequency(documents: int, containing: int) -> float:
    """Return the weight of a term that `containing` of `documents` documents contain; above 0."""
    return math.log1p((documents - containing + 0.5) / (containing + 0.5))


class BM25Index(BM25Okapi):  # type: ignore[misc]  # rank-bm25 carries no types
    """One immutable version of a `BM25Okapi`. Many threads may read it; one at a time may make new versions."""

    def __init__(self, documents: Iterable[Sequence[str]] = ()) -> None:
        """Index documents, each the list of its terms."""
        self.k1, self.b = K1, B
        self._numbers: dict[str, int] = {}
        """The numbers of the terms of all versions, which share them."""
        self.names: list[str] = []
        """The terms, by number; some may be in no document."""
        self.lengths: NDArray[np.int32] = np.empty(0, dtype=np.int32)
        """The number of terms of each document, repeats counted, of shape (documents,)."""
        self._sorted = _SortedPostings(_as_postings([]), 0)
        self._unsorted = _as_postings([])
        """The postings of documents that were added or replaced since."""
        self._replaced: NDArray[np.intp] = np.empty(0, dtype=np.intp)
        """The positions of the documents whose sorted postings count no more, ascending."""
        self._add(documents)

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def corpus_size(self) -> int:
        """Return the number of documents."""
        return len(self)

    @property
    def avgdl(self) -> float:
        """Return the mean number of terms of a document."""
        return int(self.lengths.sum(dtype=np.int64)) / len(self)

    @property
    def nbytes(self) -> int:
        """Return about how many bytes the index takes."""
        arrays = (self.lengths, self._unsorted, self._replaced)
        return sum(array.nbytes for array in arrays) + self._sorted.nbytes + TERM_BYTES * len(self.names)

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
        """Return the postings of all documents."""
        rows = self._sorted.postings
        if not self._replaced.size:
            return np.concatenate([rows, self._unsorted])
        rows = np.concatenate([rows[~np.isin(rows[:, 0], self._replaced)], self._unsorted])
        return rows[np.argsort(rows[:, 0], kind="stable")]

    @classmethod
    def restored(cls, names: Iterable[str], postings: Postings, documents: int) -> "BM25Index":
        """Return the index of so many documents that had these names and postings."""
        index = cls()
        index.names = list(names)
        index._numbers = {name: number for number, name in enumerate(index.names)}
        lengths = np.bincount(postings[:, 0], weights=postings[:, 2], minlength=documents)
        index.lengths = lengths.astype(np.int32)
        index._sort(postings)
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
        """Score every document for terms, repeats counted; float64 of shape (documents,), each score 0 or above."""
        scores = np.zeros(len(self))
        lengths, average = self.lengths, self.avgdl if len(self) else 0.0
        for term, repeats in Counter(query).items():
            positions, counts = self._of_term(term).T
            weight = repeats * inverse_document_frequency(len(self), len(positions))
            norm = self.k1 * (1 - self.b + self.b * lengths[positions] / (average or 1))
            scores[positions] += weight * (counts * (self.k1 + 1) / (counts + norm))
        return scores

    def get_batch_scores(self, query: Iterable[str], doc_ids: Sequence[int]) -> list[float]:
        """Score the documents at `doc_ids`, in that order."""
        scores: list[float] = self.get_scores(query)[list(doc_ids)].tolist()
        return scores

    def _of_term(self, term: str) -> NDArray[np.int32]:
        """Return rows of (position of the document, how often a term occurs in it), positions ascending."""
        number = self._numbers.get(term, -1)
        rows = self._sorted.of_term(number)
        if self._replaced.size:
            rows = rows[~np.isin(rows[:, 0], self._replaced)]
        unsorted = self._unsorted[self._unsorted[:, 1] == number]
        if not len(unsorted):
            return rows
        rows = np.concatenate([rows, unsorted[:, [0, 2]]])
        return rows[np.argsort(rows[:, 0], kind="stable")] if self._replaced.size else rows

    def _of_document(self, position: int) -> Postings:
        if position < self._sorted.documents and not (self._replaced.size and position in self._replaced):
            return self._sorted.of_document(position)
        start, end = np.searchsorted(self._unsorted[:, 0], [position, position + 1])
        return self._unsorted[start:end]

    def _numbered(self, position: int, document: Iterable[str]) -> list[list[int]]:
        """Return the postings of a document; a term that has no number gets one."""
        rows = []
        for term, count in Counter(document).items():
            number = self._numbers.get(term)
            if number is None:
                number = self._numbers[term] = len(self.names)
                self.names.append(term)
            rows.append([position, number, count])
        return rows

    def _add(self, documents: Iterable[Sequence[str]]) -> None:
        numbers, lengths = array("i"), array("i")
        for position, document in enumerate(documents, start=len(self)):
            numbers.extend(chain.from_iterable(self._numbered(position, document)))
            lengths.append(len(document))
        self.lengths = np.concatenate([self.lengths, np.array(lengths, dtype=np.int32)])
        self._take_unsorted(np.concatenate([self._unsorted, _as_postings(numbers)]))

    def _replace(self, position: int, rows: list[list[int]], length: int) -> None:
        self.lengths = self.lengths.copy()
        self.lengths[position] = length
        if position < self._sorted.documents:
            self._replaced = np.union1d(self._replaced, [position])
        others = self._unsorted[self._unsorted[:, 0] != position]
        at = int(np.searchsorted(others[:, 0], position))
        self._take_unsorted(np.concatenate([others[:at], _as_postings(rows), others[at:]]))

    def _take_unsorted(self, unsorted: Postings) -> None:
        """Take the postings of the documents that were written last, and sort all if these are too many."""
        self._unsorted = unsorted
        if len(unsorted) > max(MAX_UNSORTED, len(self._sorted.postings) // 8):
            self._sort(self.postings())

    def _sort(self, postings: Postings) -> None:
        self._sorted = _SortedPostings(postings, len(self))
        self._unsorted, self._replaced = self._unsorted[:0], self._replaced[:0]


class _SortedPostings:
    """The postings of the first documents of an index, by document and by term."""

    def __init__(self, postings: Postings, documents: int) -> None:
        """Sort postings of so many documents by term."""
        self.postings, self.documents = postings, documents
        numbers = postings[:, 1]
        self._by_term = postings[np.argsort(numbers, kind="stable")][:, [0, 2]]
        self._starts = _starts(numbers, 0)
        self._starts_of_documents = _starts(postings[:, 0], documents)

    @property
    def nbytes(self) -> int:
        """Return how many bytes they take."""
        arrays = (self.postings, self._by_term, self._starts, self._starts_of_documents)
        return sum(array.nbytes for array in arrays)

    def of_document(self, position: int) -> Postings:
        """Return the postings of a document."""
        start, end = self._starts_of_documents[position : position + 2]
        return self.postings[start:end]

    def of_term(self, number: int) -> NDArray[np.int32]:
        """Return rows of (position of the document, how often the term occurs in it), positions ascending."""
        start, end = self._starts[number : number + 2] if 0 <= number < len(self._starts) - 1 else (0, 0)
        return self._by_term[start:end]


def _starts(keys: NDArray[np.int32], size: int) -> NDArray[np.int64]:
    """Return where the rows of each key begin once they are sorted, and where those of the last one end."""
    return np.concatenate([[0], np.cumsum(np.bincount(keys, minlength=size))])


def _as_postings(rows: Sequence[Any]) -> Postings:
    return np.array(rows, dtype=np.int32).reshape(-1, 3)
