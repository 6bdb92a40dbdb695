"""All vectors are compared with a query: exactly, and where they are very many, exactly for the nearest ones."""

import numpy as np
import pytest

from langgraph_engram.stores import vectors
from langgraph_engram.stores.vectors import VectorIndex

DIMENSIONS = 96


def unit(rows):
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture
def many(monkeypatch):
    """Return 900 vectors like those of an encoder, most of whose length is in few directions; 300 are called many."""
    monkeypatch.setattr(vectors, "MAX_COMPARED", 300)
    monkeypatch.setattr(vectors, "NEAREST", 100)
    rng = np.random.default_rng(5)
    return unit(rng.standard_normal((900, DIMENSIONS)) * np.exp(-np.arange(DIMENSIONS) / 20))


def test_few_vectors_are_compared_exactly(many):
    """To the last bit of the product."""
    index = VectorIndex().extended(many[:300])

    assert index.cosines(many[7]).tolist() == index.cosines_at(slice(None), many[7]).tolist()


def test_of_many_vectors_the_nearest_are_compared_exactly(many):
    """The best 20 of all are those of an exact search, with their cosines; the others are about what they are."""
    index = VectorIndex().extended(many)
    for query in many[::90]:
        exact, found = many @ query, index.cosines(query)
        best = np.argsort(-exact)[:20]

        assert np.argsort(-found)[:20].tolist() == best.tolist()
        assert found[best] == pytest.approx(exact[best], abs=1e-6)
        assert np.abs(found - exact).max() < 0.1


def test_what_is_added_or_replaced_later_is_found_among_many(many):
    """A version that was searched before finds what it held."""
    first = VectorIndex().extended(many[:800])
    first.cosines(many[0])

    second = first.extended(many[800:]).replaced([3, 850], many[[850, 3]])

    assert np.argmax(second.cosines(many[899])) == 899
    assert (np.argmax(second.cosines(many[850])), np.argmax(second.cosines(many[3]))) == (3, 850)
    assert (np.argmax(first.cosines(many[3])), len(first.cosines(many[3]))) == (3, 800)


@pytest.mark.parametrize("kept", [False, True])
def test_what_is_told_of_something_else_later_is_found_among_many(many, kept):
    """The nearest are told by components of all vectors, not of the first alone, which differ in other directions."""
    later = unit(many[:, ::-1] + 0.2 * many[::-1])
    index = VectorIndex().extended(many[:310])
    index.cosines(many[0])
    index = VectorIndex().restored(index.state()) if kept else index

    index = index.extended(later[:600])

    for query in later[:600:60]:
        exact, found = index.rows @ query, index.cosines(query)
        assert np.argsort(-found)[:20].tolist() == np.argsort(-exact)[:20].tolist()


def test_many_vectors_are_the_same_after_they_were_kept(many):
    """With what estimates them, so that it is not computed again."""
    index = VectorIndex().extended(many)
    state = index.state()

    restored = VectorIndex().restored(state)

    assert {"vectors", "components", "basis", "found_in"} == set(state)
    assert restored.cosines(many[5]).tolist() == index.cosines(many[5]).tolist()
    assert restored.nbytes == index.nbytes > many.nbytes


def test_short_vectors_are_compared_exactly_however_many(monkeypatch):
    """They have fewer numbers than would be compared first."""
    monkeypatch.setattr(vectors, "MAX_COMPARED", 10)
    rows = unit(np.random.default_rng(1).standard_normal((50, 16)))

    assert VectorIndex().extended(rows).cosines(rows[4]) == pytest.approx(rows @ rows[4], abs=1e-6)
    assert set(VectorIndex().extended(rows).state()) == {"vectors"}
