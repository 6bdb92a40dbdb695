"""A search leaves out items that do not pass its filter."""

import pytest
from langgraph.store.base import PutOp

from langgraph_engram.errors import InvalidInput

ITEMS = {
    "tea": {"kind": "drink", "price": 3, "hot": True, "origin": {"country": "China", "year": 2020}, "tags": ["green"]},
    "cola": {"kind": "drink", "price": 2.5, "hot": False, "origin": {"country": "USA", "year": 1886}, "tags": []},
    "soup": {"kind": "food", "price": 10, "hot": True, "origin": {"country": "China", "year": 1}, "tags": ["a", "b"]},
}


@pytest.fixture
def shop(store):
    """A store with drinks and food."""
    for key, value in ITEMS.items():
        store.put(("shop",), key, value)
    return store


@pytest.mark.parametrize(
    ("wanted", "keys"),
    [
        ({"kind": "drink"}, ["tea", "cola"]),
        ({"kind": "drink", "price": 3}, ["tea"]),
        ({"price": 3.0}, ["tea"]),
        ({"price": {"$gt": 2.5}}, ["tea", "soup"]),
        ({"price": {"$gte": 2.5, "$lt": 10}}, ["tea", "cola"]),
        ({"price": {"$lt": float("inf")}}, ["tea", "cola", "soup"]),
        ({"hot": False}, ["cola"]),
        ({"origin": {"country": "China"}}, ["tea", "soup"]),
        ({"origin": {"year": {"$gt": 1886}}}, ["tea"]),
        ({"tags": ["green"]}, ["tea"]),
        ({"tags": []}, ["cola"]),
        ({"tags": ["a"]}, []),
        ({"missing": None}, ["tea", "cola", "soup"]),
        ({"missing": "x"}, []),
        ({"missing": {"$ne": 1}}, ["tea", "cola", "soup"]),
        ({"kind": "' OR 1=1 --"}, []),
    ],
)
def test_items_pass_that_meet_all_conditions(shop, wanted, keys):
    """Equality, order, nesting; all conditions at once."""
    assert {item.key for item in shop.search(("shop",), filter=wanted)} == set(keys)


@pytest.mark.parametrize(
    ("value", "wanted", "passes"),
    [
        (1, True, False),
        (True, 1, False),
        (0, False, False),
        ([1], [True], False),
        ({"a": 1}, {"$eq": {"a": 1.0}}, True),
        ({"a": 1, "b": 2}, {"$eq": {"a": 1}}, False),
        ([1, [2]], {"$eq": [1, [2]]}, True),
        ("2024-05-07", {"$gt": "2024-04-30"}, True),
        ("10", {"$gt": "9"}, True),
        ("10", {"$gt": 9}, True),
        ("ten", {"$gt": 9}, False),
        (None, {"$gt": 0}, False),
        (None, {"$lt": 0}, False),
        ([3], {"$gt": 1}, False),
        (2**60 + 1, {"$gt": 2**60}, True),
        (5, {"$gt": 10**400}, False),
        ("5", {"$lt": 10**400}, False),
        ([{"a": 1}], [{"a": {"$gt": 0}}], True),
    ],
)
def test_values_compare_as_json_does(ours, value, wanted, passes):
    """Where `InMemoryStore` compares as Python does, or fails."""
    ours.put(("a",), "k", {"field": value})

    assert bool(ours.search(("a",), filter={"field": wanted})) is passes


def test_keys_with_dots_are_keys_before_they_are_paths(ours):
    """As in LangGraph's stores over databases."""
    ours.put(("a",), "path", {"user": {"access-level": "open"}})
    ours.put(("a",), "key", {"user.access-level": "open"})
    ours.put(("a",), "neither", {"user": "open"})

    assert {item.key for item in ours.search(("a",), filter={"user.access-level": "open"})} == {"path", "key"}


@pytest.mark.parametrize(
    ("wanted", "problem"),
    [
        *(({"price": wrong}, "Unsupported operator") for wrong in ({"$near": 3}, {"$gt": 1, "below": 3})),
        ({"origin": {"year": {"$in": [1]}}}, "Unsupported operator"),
        ("price", "give a mapping"),
        *((wrong, "filter key") for wrong in ({1: "a"}, {"": 1}, {"$gt": 3}, {"deep": {2: 1}})),
    ],
)
def test_an_invalid_filter_is_refused(ours, wanted, problem):
    """Even where there is nothing to filter; what no field can be called would find nothing, and say nothing."""
    with pytest.raises(InvalidInput, match=problem):
        ours.search(("a",), filter=wanted)


def test_without_a_query_the_newest_come_first(ours):
    """By their last update, across namespaces; of one batch, what was put last."""
    for number in range(3):
        ours.put(("a", str(number)), str(number), {})
    ours.batch([PutOp(("b",), key, {}) for key in "xy"])
    ours.put(("a", "0"), "0", {"new": True})

    assert [item.key for item in ours.search(())] == ["0", "y", "x", "2", "1"]
    assert [item.key for item in ours.search((), limit=2, offset=1)] == ["y", "x"]
