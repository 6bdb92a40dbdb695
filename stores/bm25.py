"""BM25 over posting lists, for documents that are added and replaced while others are searched.

`rank_bm25.BM25Okapi` reads every document for every term of a query, 200 ms in 10,000 documents; here those alone are
read that contain it, for the same scores. Postings are sorted by term, but for those that were written last. The idf is
ln(1 + (N - df + 0.5) / (df + 0.5)): it is never negative, and defined for a corpus of any size.
"""

import copy
import math
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray
from rank_bm25 import BM25Okapi

K1 = 1.2
"""k1: how soon repeats of a term stop counting."""
B = 0.75
"""b: how much long documents are held back."""
MAX_RECENT = 4_096
"""Postings at most that are not sorted by term, or a 64th of the sorted ones, if that is more."""
TERM_BYTES = 200
"""What a term takes: its name, and its number."""
Postings = NDArray[np.int32]
"""Rows of (number of the term, position of the document, how often it occurs)."""


def inverse_document_frequency(documents: int, containing: int) -> float:
    """Return the weight of a term that `containing` of `documents` documents contain; above 0."""
    return math.log1p((documents - containing + 0.5) / (containing + 0.5))


class BM25Index(BM25Okapi):  # type: ignore[misc]  # rank-bm25 carries no types
    """One immutable version of a `BM25Okapi`. Many threads may read it; one at a time may make new versions."""

    def __init__(self, documents: Iterable[Sequence[str]] = ()) -> None:
        self.k1, self.b = K1, B
        self._terms = _Terms(())
        """Those of all versions, which share them."""
        self.lengths: NDArray[np.int32] = np.empty(0, dtype=np.int32)
        """The number of terms of each document, repeats counted, of shape (documents,)."""
        self._sorted: NDArray[np.int32] = np.empty((0, 2), dtype=np.int32)
        """Rows of (position of the document, how often the term occurs), sorted by term and by position."""
        self._starts: NDArray[np.int64] = np.zeros(1, dtype=np.int64)
        """Where the rows of each term begin, and the last ones end."""
        self._recent: Postings = np.empty((0, 3), dtype=np.int32)
        """The postings of the documents that were written since the others were sorted."""
        self._replaced: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        """The positions of the documents whose sorted rows count no more."""
        self._add(documents)

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def names(self) -> list[str]:
        """Return the terms, by number; some may be in no document."""
        return list(self._terms)

    @property
    def nbytes(self) -> int:
        """Return about how many bytes the index takes."""
        arrays = (self._sorted, self._starts, self._recent, self.lengths)
        return sum(array.nbytes for array in arrays) + TERM_BYTES * len(self._terms)

    def positions(self, term: str) -> NDArray[np.int32]:
        """Return the positions of the documents that contain a term, ascending."""
        return self._of_term(term)[:, 0]

    def document_frequency(self, term: str) -> int:
        """Return how many documents contain a term."""
        return len(self._of_term(term))

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
        containing, names = np.bincount(self.postings()[:, 0], minlength=1), self.names
        return [names[number] for number in np.flatnonzero(containing > documents)]

    def postings(self) -> Postings:
        """Return the postings of all documents, those that were written last at the end."""
        numbers = np.repeat(np.arange(len(self._starts) - 1, dtype=np.int32), np.diff(self._starts))
        rows = np.column_stack([numbers, self._sorted])
        return np.concatenate([rows[~np.isin(rows[:, 1], self._replaced)], self._recent])

    @classmethod
    def restored(cls, names: Iterable[str], postings: Postings, documents: int) -> "BM25Index":
        """Return the index of so many documents that had these names and postings."""
        index = cls()
        index._terms = _Terms(names)
        lengths = np.bincount(postings[:, 1], weights=postings[:, 2], minlength=documents)
        index.lengths = lengths.astype(np.int32)
        index._sort(postings)
        return index

    def selected(self, positions: NDArray[np.intp]) -> "BM25Index":
        """Return an index of the documents at some positions alone, in this order."""
        places = np.full(len(self), -1, dtype=np.int32)
        places[positions] = np.arange(len(positions))
        postings = self.postings()
        postings[:, 1] = places[postings[:, 1]]
        return self.restored(self.names, postings[postings[:, 1] >= 0], len(positions))

    def extended(self, documents: Iterable[Sequence[str]]) -> "BM25Index":
        """Return an index with documents added at the end; this one stays as it is."""
        after = copy.copy(self)
        after._add(documents)
        return after

    def replaced(self, positions: Sequence[int], documents: Iterable[Sequence[str]]) -> "BM25Index":
        """Return an index with other documents at some positions; the same ones again cost nothing."""
        pairs = zip(positions, documents, strict=True)
        changed = {position: document for position, document in pairs if not self._is_same(position, document)}
        if not changed:
            return self
        after = copy.copy(self)
        postings, lengths = self._numbered(changed.items())
        after.lengths = self.lengths.copy()
        after.lengths[[*changed]] = lengths
        after._replaced = np.union1d(self._replaced, np.array([*changed]))
        after._take_recent(np.concatenate([self._recent[~np.isin(self._recent[:, 1], [*changed])], postings]))
        return after

    def get_scores(self, query: Iterable[str]) -> NDArray[np.float64]:
        """Score every document for the terms of `query`; a repeated term counts as often as it is repeated.

        Returns:
            A float64 array of shape (documents,), each score 0 or above.
        """
        scores = np.zeros(len(self))
        lengths = self.lengths
        average = int(lengths.sum(dtype=np.int64)) / len(self) if len(self) else 0.0
        for term, repeats in Counter(query).items():
            rows = self._of_term(term)
            if not len(rows):
                continue
            positions, counts = rows.T
            weight = repeats * inverse_document_frequency(len(self), len(positions))
            norm = self.k1 * (1 - self.b + self.b * lengths[positions] / average)
            scores[positions] += weight * (counts * (self.k1 + 1) / (counts + norm))
        return scores

    def _of_term(self, term: str) -> NDArray[np.int32]:
        """Return rows of (position of the document, how often a term occurs in it), positions ascending."""
        number = self._terms.get(term, -1)
        start, end = self._starts[number : number + 2] if 0 <= number < len(self._starts) - 1 else (0, 0)
        rows = self._sorted[start:end]
        if len(self._replaced):
            rows = rows[~np.isin(rows[:, 0], self._replaced)]
        recent = np.flatnonzero(self._recent[:, 0] == number)
        if not len(recent):
            return rows
        rows = np.concatenate([rows, self._recent[recent, 1:]])
        return rows[np.argsort(rows[:, 0], kind="stable")] if len(self._replaced) else rows

    def _is_same(self, position: int, document: Sequence[str]) -> bool:
        """Return whether the document at a position has these terms, each as often."""
        if len(document) != self.lengths[position]:
            return False
        for term, count in Counter(document).items():
            rows = self._of_term(term)
            at = int(np.searchsorted(rows[:, 0], position))
            if rows[at : at + 1].tolist() != [[position, count]]:
                return False
        return True

    def _numbered(self, documents: Iterable[tuple[int, Sequence[str]]]) -> tuple[Postings, NDArray[np.int32]]:
        """Return the postings of documents at positions, and how many terms each has, holding one at a time."""
        postings, lengths = array("i"), array("i")
        for position, document in documents:
            lengths.append(len(document))
            for term, count in Counter(document).items():
                postings.extend((self._terms[term], position, count))
        return np.array(postings, dtype=np.int32).reshape(-1, 3), np.array(lengths, dtype=np.int32)

    def _add(self, documents: Iterable[Sequence[str]]) -> None:
        postings, lengths = self._numbered(enumerate(documents, start=len(self)))
        self.lengths = np.concatenate([self.lengths, lengths])
        self._take_recent(np.concatenate([self._recent, postings]))

    def _take_recent(self, postings: Postings) -> None:
        """Take these for the postings that are not sorted, and sort all if they are too many."""
        self._recent = postings
        if len(postings) > max(MAX_RECENT, len(self._sorted) // 64):
            self._sort(self.postings())

    def _sort(self, postings: Postings) -> None:
        """Take these for the postings of all documents."""
        places = np.argsort(postings[:, 0].astype(np.int64) << 32 | postings[:, 1], kind="stable")
        self._sorted = postings[places, 1:]
        self._starts = np.concatenate([[0], np.cumsum(np.bincount(postings[:, 0]))])
        self._recent, self._replaced = np.empty((0, 3), dtype=np.int32), np.empty(0, dtype=np.int64)


class _Terms(dict[str, int]):
    """The numbers of terms, in their order; a term that has none gets the next when it is asked for."""

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__({name: number for number, name in enumerate(names)})

    def __missing__(self, term: str) -> int:
        return self.setdefault(term, len(self))
