"""What is linked by any chain of pairs ends in one cluster, whatever the order."""

from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from langgraph_engram.nodes.clusters import clusters
from langgraph_engram.state import Pair


def pair(older, newer):
    return Pair(older_id=older, newer_id=newer, jaccard=0.5, cosine=0.8)


def test_a_chain_is_one_cluster_in_every_order():
    """A~B~C~D and E~F give two clusters, always the same."""
    pairs = [pair("a", "b"), pair("b", "c"), pair("c", "d"), pair("e", "f")]

    found = {str(clusters(order)) for order in permutations(pairs)}

    assert found == {"[['a', 'b', 'c', 'd'], ['e', 'f']]"}


@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.sampled_from("abcdefgh")), max_size=12))
def test_clusters_partition_what_is_paired(links):
    """Each record stands in one cluster, and pairs never cross."""
    found = clusters([pair(one, other) for one, other in links])

    members = [one for cluster in found for one in cluster]
    assert sorted(members) == sorted({one for link in links for one in link})
    assert all(any(one in cluster and other in cluster for cluster in found) for one, other in links)
