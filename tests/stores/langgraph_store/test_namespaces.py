"""Namespaces are paths of labels: what is under one is under it label by label."""

import pytest
from langgraph.store.base import GetOp, InvalidNamespaceError, ListNamespacesOp, MatchCondition, PutOp, SearchOp

TREE = [("a", "b", "c"), ("a", "b", "d", "e"), ("a", "bc"), ("b", "a", "f"), ("a", "c", "f"), ("A", "b")]


@pytest.fixture
def tree(store):
    """A store with an item in each namespace of the tree."""
    for namespace in TREE:
        store.put(namespace, "k", {"at": list(namespace)})
    return store


def found(store, prefix):
    return {item.namespace for item in store.search(prefix, limit=100)}


def test_wildcards_of_a_search_are_literal(store):
    """What a pattern of a database would match is not matched."""
    for label in ("user_1", "userX1", "a%b", "axxb", "star*", "starX", "*"):
        store.put((label,), "k", {})

    assert found(store, ("user_1",)) == {("user_1",)}
    assert found(store, ("a%b",)) == {("a%b",)}
    assert found(store, ("star*",)) == {("star*",)}
    assert found(store, ("*",)) == {("*",)}


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ({"prefix": ("a", "b")}, [("a", "b", "c"), ("a", "b", "d", "e")]),
        ({"prefix": ("a",), "suffix": ("f",)}, [("a", "c", "f")]),
        ({"prefix": ("*", "b")}, [("A", "b"), ("a", "b", "c"), ("a", "b", "d", "e")]),
        ({"prefix": ("a", "*", "f")}, [("a", "c", "f")]),
        ({"suffix": ("a", "*")}, [("a", "bc"), ("b", "a", "f")]),
        ({"prefix": ("a",), "max_depth": 2}, [("a", "b"), ("a", "bc"), ("a", "c")]),
        ({"limit": 2}, [("A", "b"), ("a", "b", "c")]),
        ({"limit": 2, "offset": 4}, [("a", "c", "f"), ("b", "a", "f")]),
        ({"offset": 6}, []),
        ({"limit": 0}, []),
    ],
)
def test_namespaces_are_listed_in_order(tree, conditions, expected):
    """By prefix and suffix, where `*` is any one label; cut at a depth, each once; page by page."""
    assert tree.list_namespaces(**conditions) == expected


def test_a_namespace_goes_with_its_last_item(ours):
    """LangGraph's own in memory goes on listing it."""
    ours.put(("a",), "one", {})
    ours.put(("a",), "two", {})

    ours.delete(("a",), "one")
    assert ours.list_namespaces() == [("a",)]

    ours.delete(("a",), "two")
    assert ours.list_namespaces() == []
    assert ours.search(()) == []
    assert ours.get(("never",), "k") is None
    assert ours.list_namespaces() == []


@pytest.mark.parametrize("namespace", [("a.b",), ("a", ""), (1,), ("a", None), ("x\x00",)])
@pytest.mark.parametrize(
    "op",
    [
        lambda namespace: GetOp(namespace, "k"),
        lambda namespace: PutOp(namespace, "k", {}),
        SearchOp,
        lambda namespace: ListNamespacesOp((MatchCondition("suffix", namespace),)),
    ],
)
def test_invalid_labels_are_refused(ours, namespace, op):
    """By every way in."""
    with pytest.raises(InvalidNamespaceError):
        ours.batch([op(namespace)])


@pytest.mark.parametrize("namespace", [(), ("langgraph", "a")])
def test_some_namespaces_are_not_for_items(store, namespace):
    """The empty one, and LangGraph's own root; below other roots the name is free."""
    with pytest.raises(InvalidNamespaceError):
        store.put(namespace, "k", {})

    store.put(("a", "langgraph"), "k", {})
    assert store.search(namespace and ("langgraph",)) == ([] if namespace else store.search(("a",)))
