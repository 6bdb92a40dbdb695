"""BM25 over posting lists, for documents that are added and replaced while others are searched.

`rank_bm25.BM25Okapi` counts the terms and defines the formula, but its `get_scores` reads every document for every
term, and it holds a dict for each document. Here a query reads only the documents that contain its terms, and terms
are numbers in arrays. The idf is ln(1 + (N - df + 0.5) / (df + 0.5)): it is never negative, and defined for a corpus
of any size.
"""

import copy
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rank_bm25 import BM25Okapi

from langgraph_engram.stores.arrays import AppendOnlyArray, AppendOnlyList

K1 = 1.2
"""k1: how soon repeats of a term stop counting."""
B = 0.75
"""b: how much long documents are held back."""
TERM_BYTES = 600
"""What a term takes: its name, its number, and the objects around its postings."""
Postings = AppendOnlyArray[np.int32]


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
        self._terms = _Terms()
        """Forks share it: it holds the terms of all of them."""
        self._postings: AppendOnlyList[Postings | None] = AppendOnlyList()
        """Rows of (position, count) by the number of the term, positions ascending; None for those in `_restored`, and
        for a term of another fork."""
        self._restored: NDArray[np.int32] = np.empty((0, 2), dtype=np.int32)
        """The postings that the index was restored with, term by term."""
        self._starts: NDArray[np.int64] = np.zeros(1, dtype=np.int64)
        """Where those of each term begin, and where the last ones end."""
        self._containing: NDArray[np.int32] = np.empty(0, dtype=np.int32)
        """How many documents contain each term, by its number."""
        self._entries: Postings = AppendOnlyArray(np.empty((0, 2), dtype=np.int32))
        """Rows of (number of the term, count), document by document; a document that was replaced leaves its own."""
        self._spans: AppendOnlyArray[np.int64] = AppendOnlyArray(np.empty((0, 2), dtype=np.int64))
        """Where the entries of each document begin and end."""
        self._lengths = AppendOnlyArray(np.empty(0, dtype=np.int32))
        super().__init__(list(documents), k1=K1, b=B)

    def __len__(self) -> int:
        return self.corpus_size

    @property
    def lengths(self) -> NDArray[np.int32]:
        """Return the number of terms of each document, repeats counted, of shape (documents,)."""
        return self._lengths.rows

    @property
    def nbytes(self) -> int:
        """Return about how many bytes the index takes."""
        arrays = (self._entries, self._entries, self._spans, self._lengths)  # postings are the entries in another order
        return sum(array.nbytes for array in arrays) + TERM_BYTES * len(self._terms.names)

    def positions(self, term: str) -> NDArray[np.int32]:
        """Return the positions of the documents that contain a term, ascending."""
        return self._rows_of(term)[:, 0]

    def document_frequency(self, term: str) -> int:
        """Return how many documents contain a term."""
        number = self._terms.numbers.get(term, len(self._containing))
        return int(self._containing[number]) if number < len(self._containing) else 0

    def terms_at(self, position: int) -> frozenset[str]:
        """Return the terms of the document at a position."""
        return frozenset(self._terms.names[number] for number in self._entries_at(position)[:, 0].tolist())

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
        counts = np.zeros(self.corpus_size, dtype=np.int32)
        for term in terms:
            counts[self.positions(term)] += 1
        return counts

    def terms_in_more_than(self, documents: float) -> list[str]:
        """Return the terms that more than so many documents contain."""
        return [self._terms.names[number] for number in np.flatnonzero(self._containing > documents)]

    def state(self) -> tuple[list[str], dict[str, NDArray[Any]]]:
        """Return the terms and the arrays that `restored` makes this index from."""
        numbers = np.flatnonzero(self._containing).tolist()
        postings = [self._rows(number) for number in numbers]
        arrays = {
            "postings": np.concatenate([np.empty((0, 2), dtype=np.int32), *postings]),
            "sizes": self._containing[numbers],
            "lengths": self.lengths,
        }
        names = [self._terms.names[number] for number in numbers]
        return names, {f"lexical.{name}": array for name, array in arrays.items()}

    @classmethod
    def restored(cls, terms: Sequence[str], arrays: Mapping[str, NDArray[np.int32]]) -> "BM25Index":
        """Return the index that had this state."""
        index = cls()
        index._terms = _Terms(terms)
        rows, sizes = arrays["lexical.postings"], arrays["lexical.sizes"]
        index._postings = AppendOnlyList([None] * len(terms))
        index._restored, index._starts = rows, np.concatenate([index._starts, np.cumsum(sizes)])
        index._containing = np.array(sizes, dtype=np.int32)
        index._lengths = AppendOnlyArray(arrays["lexical.lengths"])
        index.corpus_size = len(index._lengths)
        by_document = np.argsort(rows[:, 0], kind="stable")
        numbers = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
        index._entries = AppendOnlyArray(np.stack([numbers[by_document], rows[by_document, 1]], axis=1))
        ends = np.cumsum(np.bincount(rows[:, 0], minlength=index.corpus_size))
        index._spans = AppendOnlyArray(_spans(ends, 0))
        index._update_average()
        return index

    def fork(self) -> "BM25Index":
        """Return a copy that may change while this one is read. It shares what has not changed."""
        return copy.copy(self)

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
        old, new = dict(self._entries_at(position).tolist()), self._counts_of(Counter(document))
        if old == new:
            return
        for number in old.keys() | new.keys():
            if old.get(number) != new.get(number):
                self._set_posting(number, position, new.get(number, 0))
        self._spans = self._spans.replaced([position], self._add_entries([new]))
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
            rows = self._rows_of(term)
            if not len(rows):
                continue
            positions, counts = rows.T
            weight = repeats * inverse_document_frequency(self.corpus_size, len(positions))
            norm = self.k1 * (1 - self.b + self.b * lengths[positions] / self.avgdl)
            scores[positions] += weight * (counts * (self.k1 + 1) / (counts + norm))
        return scores

    def get_batch_scores(self, query: Iterable[str], doc_ids: Sequence[int]) -> list[float]:
        """Score the documents at `doc_ids`, in that order."""
        scores: list[float] = self.get_scores(query)[list(doc_ids)].tolist()
        return scores

    def _initialize(self, corpus: Sequence[Sequence[str]]) -> dict[str, int]:
        """Let the library count the documents behind those it has, and put its counts into arrays."""
        if not corpus:  # the library would divide by zero
            return {}
        first = self.corpus_size
        self.doc_freqs, self.doc_len = [], []  # the library adds to them, and a fork shares those it began with
        containing: dict[str, int] = super()._initialize(corpus)
        documents = [self._counts_of(counts) for counts in self.doc_freqs]
        self._lengths = self._lengths.extended(np.array(self.doc_len, dtype=np.int32))
        self.doc_freqs, self.doc_len = [], []
        rows: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        for position, counts in enumerate(documents, start=first):
            for number, count in counts.items():
                rows[number].append((position, count))
        self._spans = self._spans.extended(self._add_entries(documents))
        self._set_postings(
            {
                number: found.extended(block) if (found := self._posting(number)) else AppendOnlyArray(block)
                for number, block in ((number, np.array(new, dtype=np.int32)) for number, new in rows.items())
            }
        )
        self._update_average()
        return containing

    def _calc_idf(self, nd: dict[str, int]) -> None:
        """Compute nothing ahead: every new document changes every idf, so a query computes those of its terms."""

    def _counts_of(self, counts: Mapping[str, int]) -> dict[int, int]:
        return {self._terms.number_of(term): count for term, count in counts.items()}

    def _entries_at(self, position: int) -> NDArray[np.int32]:
        start, end = self._spans.rows[position]
        return self._entries.rows[start:end]

    def _add_entries(self, documents: Sequence[Mapping[int, int]]) -> NDArray[np.int64]:
        """Add the entries of documents, and return where those of each begin and end."""
        first = len(self._entries)
        rows = [entry for counts in documents for entry in counts.items()]
        self._entries = self._entries.extended(np.array(rows, dtype=np.int32).reshape(-1, 2))
        return _spans(np.cumsum([len(counts) for counts in documents]), first)

    def _posting(self, number: int) -> Postings | None:
        """Return the postings of a term, to be extended."""
        found = self._postings[number] if number < len(self._postings) else None
        return AppendOnlyArray(self._rows(number)) if found is None and number < len(self._starts) - 1 else found

    def _rows(self, number: int) -> NDArray[np.int32]:
        """Return the postings of a term, of shape (documents that contain it, 2)."""
        found = self._postings[number] if number < len(self._postings) else None
        if found is not None:
            return found.rows
        start, end = self._starts[number : number + 2] if number < len(self._starts) - 1 else (0, 0)
        return self._restored[start:end]

    def _rows_of(self, term: str) -> NDArray[np.int32]:
        return self._rows(self._terms.numbers.get(term, len(self._postings)))

    def _set_posting(self, number: int, position: int, count: int) -> None:
        rows = self._rows(number)
        rows = rows[rows[:, 0] != position]
        if count:
            rows = np.insert(rows, int(np.searchsorted(rows[:, 0], position)), (position, count), axis=0)
        self._set_postings({number: AppendOnlyArray(rows)})

    def _set_postings(self, postings: Mapping[int, Postings]) -> None:
        missing = len(self._terms.names) - len(self._postings)
        self._postings = self._postings.extended([None] * missing).replaced(postings)
        self._containing = np.concatenate([self._containing, np.zeros(missing, dtype=np.int32)])
        self._containing[list(postings)] = [len(rows) for rows in postings.values()]

    def _update_average(self) -> None:
        if self.corpus_size:
            self.avgdl = int(self.lengths.sum(dtype=np.int64)) / self.corpus_size


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


def _spans(ends: NDArray[np.intp], first: int) -> NDArray[np.int64]:
    """Return where entries begin and end that end one behind the other, behind the first ones."""
    ends = np.asarray(ends, dtype=np.int64) + first
    return np.stack([np.concatenate([np.array([first], dtype=np.int64), ends[:-1]])[: len(ends)], ends], axis=1)
