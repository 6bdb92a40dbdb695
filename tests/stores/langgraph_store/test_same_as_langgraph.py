"""Any use of our store returns what LangGraph's `InMemoryStore` returns, where both follow its documentation."""

from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.store.base import GetOp, ListNamespacesOp, MatchCondition, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from langgraph_engram.integrations.store import EngramStore
from tests.stores.langgraph_store.conftest import DIMENSIONS, hashed_words

LABELS = st.sampled_from(["a", "b", "ab", "*", "é"])
NAMESPACES = st.lists(LABELS, min_size=1, max_size=3).map(tuple)
KEYS = st.sampled_from(["one", "two", "three"])
WORDS = st.sampled_from(["lake", "dog", "camp", "garden", "boat"])
VALUES = st.fixed_dictionaries(
    {"text": st.lists(WORDS, min_size=1, max_size=3).map(" ".join), "n": st.integers(0, 3)},
    optional={"flag": st.booleans(), "deep": st.fixed_dictionaries({"n": st.integers(0, 2)})},
)
FILTERS = st.sampled_from(
    [None, {"n": 1}, {"n": {"$gt": 1}}, {"n": {"$lte": 1, "$ne": 0}}, {"flag": True}, {"deep": {"n": {"$eq": 1}}}]
)
MATCHES = st.builds(MatchCondition, st.sampled_from(["prefix", "suffix"]), NAMESPACES)
PUTS = st.builds(PutOp, NAMESPACES, KEYS, st.none() | VALUES, st.none(), st.none())
READS = st.one_of(
    st.builds(GetOp, NAMESPACES, KEYS),
    st.builds(SearchOp, st.lists(LABELS, max_size=2).map(tuple), FILTERS, st.just(1000), st.just(0), st.none() | WORDS),
    st.builds(
        ListNamespacesOp,
        st.lists(MATCHES, max_size=2).map(tuple),
        st.none() | st.integers(1, 3),
        st.just(1000),
        st.just(0),
    ),
)


@settings(max_examples=25)
@given(batches=st.lists(st.tuples(st.lists(PUTS, max_size=4), READS), max_size=8))
def test_any_sequence_of_batches_returns_the_same(batches):
    """Puts, deletions, searches by filter and query, and listings, in batches where they meet."""
    index = {"dims": DIMENSIONS, "embed": hashed_words, "fields": ["text"]}
    reference = InMemoryStore(index=index)

    with EngramStore("memory:", index=index) as store:
        for puts, read in batches:
            expected = comparable(read, of_what_it_holds(reference).batch([read])[0])
            for put in puts:
                reference.batch([put])  # one by one: it cannot embed one text twice in a batch

            results = store.batch([*puts, read, read])

            assert [comparable(read, result) for result in results[-2:]] == [expected, expected]


def of_what_it_holds(reference):
    """A store of the same items: the reference lists namespaces that once held an item or were asked for one, too."""
    held = InMemoryStore(index=reference.index_config)
    for item in reference.search((), limit=1_000_000):
        held.put(item.namespace, item.key, item.value)
    return held


def comparable(op, result):
    """A result as plain values, in an order that does not hang on ties or on the first use of a namespace."""
    if isinstance(op, ListNamespacesOp):
        return result
    if isinstance(op, GetOp):
        return result and (result.namespace, result.key, result.value)
    return sorted((-round(item.score or 0, 4), item.namespace, item.key, str(item.value)) for item in result)
