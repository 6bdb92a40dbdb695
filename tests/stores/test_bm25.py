"""BM25 over posting lists returns the library's own scores."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from langgraph_engram.stores import bm25
from langgraph_engram.stores.bm25 import K1, B, BM25Index

TERMS = st.sampled_from("abcdefgh")


@pytest.fixture(autouse=True, params=[0, 8, 4_096])
def _sorted_soon(request, monkeypatch):
    """Postings are sorted by term at once, after some, or not at all."""
    monkeypatch.setattr(bm25, "MAX_RECENT", request.param)


DOCUMENTS = st.lists(st.lists(TERMS, max_size=8), max_size=12)


class Reference(BM25Okapi):
    """The library's own loop over every document, with our idf."""

    def _calc_idf(self, nd):
        for term, containing in nd.items():
            self.idf[term] = math.log(1 + (self.corpus_size - containing + 0.5) / (containing + 0.5))


def expected(documents, query):
    if not any(documents):
        return np.zeros(len(documents))
    return Reference(documents, k1=K1, b=B).get_scores(query)


@settings(max_examples=60)
@given(
    batches=st.lists(DOCUMENTS, max_size=4),
    changes=st.lists(st.tuples(st.integers(0, 50), st.lists(TERMS, max_size=8)), max_size=6),
    query=st.lists(TERMS, max_size=5),
)
def test_documents_may_be_added_and_replaced(batches, changes, query):
    """However the documents came to be what they are, the scores are those of an index built at once."""
    documents = [document for batch in batches for document in batch]
    index = BM25Index()

    for batch in batches:
        index = index.extended(batch)
    for position, document in changes if documents else []:
        index = index.replaced([position % len(documents)], [document])
        documents[position % len(documents)] = document

    assert index.get_scores(query) == pytest.approx(expected(documents, query), abs=1e-12)


@given(first=DOCUMENTS, second=DOCUMENTS, third=DOCUMENTS, query=st.lists(TERMS, max_size=5))
def test_versions_are_independent(first, second, third, query):
    """What is added to an index or to another version of it is not seen by the other."""
    index = BM25Index(first)

    left, right = index.extended(second), index.extended(third)
    if third:
        right = right.replaced([0], [["a", "z"]])

    changed = [["a", "z"], *[*first, *third][1:]] if third else first
    for lexical, documents in ((index, first), (left, [*first, *second]), (right, changed)):
        assert lexical.get_scores(query) == pytest.approx(expected(documents, query), abs=1e-12)


@given(first=DOCUMENTS, second=DOCUMENTS, change=st.lists(TERMS, max_size=8), terms=st.sets(TERMS))
def test_the_terms_of_a_document_are_known(first, second, change, terms):
    """Before and after some were added or replaced, and in an index that was restored; each counts once a document."""
    documents = [*first, *second]
    before = BM25Index(first)
    index = before.extended(second)
    if documents:
        index = index.replaced([0], [change])
        documents[0] = change

    again = BM25Index.restored(index.names, index.postings(), len(index))

    for lexical, held in ((before, first), (index, documents), (again, documents)):
        found = [[term in document for term in "abcdefgh"] for document in held]
        frequencies = dict(zip("abcdefgh", map(sum, zip(*found, strict=True)), strict=False))
        assert lexical.contains(range(len(held)), "abcdefgh").tolist() == found
        assert {term: lexical.document_frequency(term) for term in frequencies} == frequencies
        assert set(lexical.terms_in_more_than(1)) == {term for term, count in frequencies.items() if count > 1}
        assert lexical.count_matches(terms).tolist() == [len(terms.intersection(document)) for document in held]
