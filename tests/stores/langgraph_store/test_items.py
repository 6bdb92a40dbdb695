"""What is put can be read again, as it was and by its address alone."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from langgraph_engram.integrations.store import EngramStore

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def test_an_update_keeps_created_at(ours):
    """LangGraph's own in memory does not."""
    ours.put(("a",), "k", {"n": 1})
    made = ours.get(("a",), "k").created_at

    ours.put(("a",), "k", {"n": 2})

    item = ours.get(("a",), "k")
    assert item.updated_at > item.created_at == made
    assert ours.search(("a",))[0].created_at == made


def test_the_caller_s_value_is_copied(ours):
    """Neither changing what was given nor what was got changes what is stored."""
    given_value = {"list": [1]}
    ours.put(("a",), "k", given_value)

    given_value["list"].append(2)
    ours.get(("a",), "k").value["list"].append(3)
    ours.search(("a",))[0].value["list"].append(4)

    assert ours.get(("a",), "k").value == {"list": [1]}


@pytest.fixture(scope="module")
def one_store():
    with EngramStore("memory:", index=False) as opened:
        yield opened


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=st.dictionaries(st.text(), JSON, max_size=5), key=st.text(max_size=20))
def test_any_json_comes_back_as_it_was(one_store, value, key):
    """Under any key, whatever the script, half characters and zero bytes included."""
    one_store.put(("any",), key, value)

    item = one_store.get(("any",), key)

    assert (item.key, item.value) == (key, value)
    assert json.dumps(item.value) == json.dumps(value)


@pytest.mark.parametrize(
    "label", ["Zürich", "用户", "with space", "a/b", "a:b", "100%", "user_1", "*", "[x]", "'\"", "\n"]
)
def test_labels_are_any_text(store, label):
    """Special characters are what they are; values have no bounds."""
    value = {"text": "long " * 200_000} if label == "*" else {"label": label}
    store.put(("x", label), label, value)

    assert store.get(("x", label), label).value == value
    assert [item.namespace for item in store.search(("x", label))] == [("x", label)]
    assert ("x", label) in store.list_namespaces()
