"""A query ranks items by cosine: the best of an item's vectors counts."""

import numpy as np
import pytest
from langchain_core.embeddings import Embeddings

from langgraph_engram.errors import EncoderUnavailable, InvalidSetting
from langgraph_engram.integrations.store import EngramStore

DIMENSIONS = 64


def keys(items):
    return [item.key for item in items]


def test_items_without_vectors_come_last(searchable):
    """`index=False` takes an item out of the ranking, not out of the result."""
    searchable.put(("a",), "hidden", {"text": "camping at the lake"}, index=False)
    searchable.put(("a",), "shown", {"text": "a dog"})

    found = searchable.search(("a",), query="camping at the lake")

    assert [(item.key, item.score is None) for item in found] == [("shown", False), ("hidden", True)]
    assert keys(searchable.search(("a",), query="camping at the lake", limit=1)) == ["shown"]


@pytest.mark.parametrize(
    ("paths", "query", "found"),
    [
        (["title"], "boat", True),
        (["title"], "harbour", False),
        (["meta.place"], "harbour", True),
        (["authors[0].name"], "maren", True),
        (["authors[-1].name"], "tomas", True),
        (["authors[0].name"], "tomas", False),
        (["authors[*].name"], "tomas", True),
        (["title", "meta.place"], "harbour", True),
        (["nowhere"], "boat", None),
    ],
)
def test_paths_name_what_an_item_is_found_by(make, embeddings, paths, query, found):
    """Of the store and of one put alike; a path that leads nowhere adds no vector."""
    value = {"title": "Boat", "meta": {"place": "harbour"}, "authors": [{"name": "Maren"}, {"name": "Tomas"}]}
    by_store = make({"dims": DIMENSIONS, "embed": embeddings, "fields": paths})
    by_store.put(("store",), "k", value)
    by_store.put(("put",), "k", value, index=paths)

    for namespace in (("store",), ("put",)):
        score = by_store.search(namespace, query=query)[0].score
        assert found is None if score is None else (score > 0.2) is found


def test_the_best_vector_of_an_item_counts(searchable):
    """One item, once, with the score of its nearest field."""
    searchable.put(("a",), "two", {"one": "dog", "other": "camping"}, index=["one", "other"])
    searchable.put(("a",), "one", {"text": "camping"}, index=["text"])

    found = searchable.search(("a",), query="camping")

    assert keys(found) == ["two", "one"]
    assert found[0].score == pytest.approx(found[1].score, abs=1e-6)


def test_an_earlier_value_is_not_found(make_ours, embeddings):
    """The vectors of an earlier value go, though the new one has none; `InMemoryStore` keeps them."""
    store = make_ours({"dims": DIMENSIONS, "embed": embeddings})
    store.put(("a",), "k", {"text": "camping"}, index=["text"])
    store.put(("a",), "gone", {"text": "camping"}, index=["text"])
    store.put(("a",), "changed", {"text": "camping"}, index=["text"])

    store.put(("a",), "k", {"text": "camping"}, index=False)
    store.put(("a",), "changed", {"text": "dog"}, index=["text"])
    store.delete(("a",), "gone")

    found = store.search(("a",), query="camping")
    assert keys(found) == ["changed", "k"]
    assert found[0].score < 0.5
    assert found[1].score is None


def test_filters_come_before_the_window(searchable):
    """The best that pass are shown, however many nearer ones do not."""
    for number in range(30):
        searchable.put(("a",), str(number), {"text": "camping", "n": number}, index=["text"])

    asked = {"query": "camping", "filter": {"n": {"$gte": 25}}}
    assert keys(searchable.search(("a",), **asked, limit=2)) == ["25", "26"]
    assert keys(searchable.search(("a",), **asked, limit=9, offset=3)) == ["28", "29"]


def test_fields_may_be_named_without_an_embedding():
    """The encoder is then the one that users get."""
    with EngramStore("memory:", encoder="hashing", index={"fields": ["title"]}) as store:
        store.put(("a",), "k", {"title": "Camping", "text": "Dogs"})

        assert store.search(("a",), query="camping")[0].score == pytest.approx(1, abs=1e-6)
        assert store.index_config == {"fields": ["title"]}


def test_a_vector_of_zeros_is_near_nothing(make):
    """And breaks nothing."""

    class Nothing(Embeddings):
        def embed_documents(self, texts):
            return [[0.0, 0.0] for _ in texts]

        def embed_query(self, text):
            return [1.0, 0.0]

    store = make({"dims": 2, "embed": Nothing()})
    store.put(("a",), "k", {"text": "any"})

    assert [item.score for item in store.search(("a",), query="any")] == [0.0]


@pytest.mark.parametrize(
    "vectors", [[[1.0, 0.0, 0.0]], [], [[1.0], [2.0]], [[]]], ids=["too wide", "none", "two", "empty"]
)
def test_embeddings_of_the_wrong_shape_are_an_error(vectors):
    """Nothing is stored."""
    with EngramStore("memory:", index={"dims": 2, "embed": lambda texts: vectors}) as store:
        with pytest.raises(EncoderUnavailable, match="dims"):
            store.put(("a",), "k", {"text": "any"})

        assert store.get(("a",), "k") is None


async def asynchronous(texts):
    return [[1.0, 0.0] for _ in texts]


@pytest.mark.parametrize(
    "arguments",
    [
        {"index": {"dims": 2, "embed": 3}},
        {"index": {"dims": 2, "embed": asynchronous}},
        {"encoder": "hashing", "index": False},
        {"encoder": "hashing", "index": {"dims": 2, "embed": lambda texts: np.ones((len(texts), 2))}},
    ],
)
def test_invalid_arguments_are_refused(arguments):
    """By name."""
    with pytest.raises(InvalidSetting):
        EngramStore("memory:", **arguments)
