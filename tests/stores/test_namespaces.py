"""Namespaces are found by any of their prefixes, and by nothing else."""

from hypothesis import given
from hypothesis import strategies as st

from langgraph_engram.stores.langgraph_store.items import Namespaces

NAMES = st.lists(st.sampled_from(["a", "b", "ab"]), max_size=4).map(tuple)


@given(st.lists(st.tuples(NAMES, st.booleans())), NAMES)
def test_what_is_under_a_prefix_begins_with_it(steps, prefix):
    """First named first, whatever came and went."""
    names, expected = Namespaces({}), {}

    for place, (name, stays) in enumerate(steps):
        if stays:
            names.put(name, str(place))
            expected[name] = str(place)
        else:
            names.remove(name)
            expected.pop(name, None)

    assert names.under(prefix) == [name for name in expected if name[: len(prefix)] == prefix]
    assert names.under(()) == list(expected)
    assert all(name in names and names.revision(name) == revision for name, revision in expected.items())


def test_what_stands_under_a_prefix_is_said_anew():
    """What stands elsewhere stays."""
    names = Namespaces({("a", "x"): "1", ("a", "y"): "1", ("b",): "1"})

    names.replace(("a",), {("a", "y"): "2", ("a", "z"): "2"})

    assert names.under(("a",)) == [("a", "y"), ("a", "z")]
    assert names.under(()) == [("b",), ("a", "y"), ("a", "z")]
    assert names.revision(("a", "y")) == "2"
